//! A client of Bigtable's services that is not keyderive's: it sends one message and returns the answer.

use http::uri::PathAndQuery;
use keyderive_proto::{RowsMessage, Rpc, admin, data, values};
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::codegen::{Body as HttpBody, Bytes, StdError};
use tonic::{IntoRequest, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// It adds no header, retries nothing, and accepts messages of any size.
#[derive(Clone, Debug)]
pub struct RawClient<T>(Grpc<T>);

/// A call for each RPC, which is `unary` or `server_streaming`.
macro_rules! calls {
    ($($call:ident, $rpc:ident: $kind:ident $request:ty => $answer:ty;)*) => {$(
        pub async fn $call(
            &mut self,
            request: impl IntoRequest<$request>,
        ) -> Result<Response<$answer>, Status> {
            self.0.ready().await.map_err(|error| Status::unknown(error.into().to_string()))?;
            let path = PathAndQuery::from_static(Rpc::$rpc.path());
            self.0.$kind(request.into_request(), path, ProstCodec::default()).await
        }
    )*};
}

#[allow(missing_docs, clippy::missing_errors_doc, reason = "the calls are those of the protocol")]
impl<T> RawClient<T>
where
    T: GrpcService<Body, Error: Into<StdError>>,
    T::ResponseBody: HttpBody<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
{
    pub fn new(server: T) -> Self {
        Self(Grpc::new(server).max_decoding_message_size(usize::MAX))
    }

    calls! {
        read_rows, ReadRows: server_streaming data::ReadRowsRequest => Streaming<RowsMessage>;
        sample_row_keys, SampleRowKeys: server_streaming data::SampleRowKeysRequest => Streaming<data::SampleRowKeysResponse>;
        mutate_row, MutateRow: unary data::MutateRowRequest => data::MutateRowResponse;
        mutate_rows, MutateRows: server_streaming data::MutateRowsRequest => Streaming<data::MutateRowsResponse>;
        check_and_mutate_row, CheckAndMutateRow: unary data::CheckAndMutateRowRequest => data::CheckAndMutateRowResponse;
        read_modify_write_row, ReadModifyWriteRow: unary data::ReadModifyWriteRowRequest => data::ReadModifyWriteRowResponse;
        prepare_query, PrepareQuery: unary data::PrepareQueryRequest => data::PrepareQueryResponse;
        execute_query, ExecuteQuery: server_streaming data::ExecuteQueryRequest => Streaming<data::ExecuteQueryResponse>;
        create_table, CreateTable: unary admin::CreateTableRequest => admin::Table;
        list_tables, ListTables: unary admin::ListTablesRequest => admin::ListTablesResponse;
        get_table, GetTable: unary admin::GetTableRequest => admin::Table;
        delete_table, DeleteTable: unary admin::DeleteTableRequest => values::Empty;
        modify_column_families, ModifyColumnFamilies: unary admin::ModifyColumnFamiliesRequest => admin::Table;
        drop_row_range, DropRowRange: unary admin::DropRowRangeRequest => values::Empty;
        list_clusters, ListClusters: unary admin::ListClustersRequest => admin::ListClustersResponse;
        list_hot_tablets, ListHotTablets: unary admin::ListHotTabletsRequest => admin::ListHotTabletsResponse;
    }
}
