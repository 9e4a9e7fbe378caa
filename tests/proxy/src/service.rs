//! The service: one operation of the client for each RPC.

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use keyderive::Error;
use keyderive::query::QueryRow;
use keyderive_proto::data;
use keyderive_proto::values;
use tonic::{Request, Response, Status};

use crate::clients::{Clients, ConnectedClient};
use crate::convert;
use crate::proto::cloud_bigtable_v2_test_proxy_server::{
    CloudBigtableV2TestProxy, CloudBigtableV2TestProxyServer,
};
use crate::proto::*;

/// The client's own limits for sending and receiving.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// The test proxy.
#[derive(Debug, Default)]
pub struct Proxy(Clients);

impl Proxy {
    /// A proxy without clients.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The proxy as a service for a tonic server.
    #[must_use]
    pub fn into_service(self) -> CloudBigtableV2TestProxyServer<Self> {
        CloudBigtableV2TestProxyServer::new(self)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    fn client(&self, id: &str) -> Result<ConnectedClient, Status> {
        self.0.get(id)
    }
}

type Reply<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl CloudBigtableV2TestProxy for Proxy {
    async fn create_client(&self, request: Request<CreateClientRequest>) -> Reply<CreateClientResponse> {
        let request = request.into_inner();
        let id = request.client_id.clone();
        let made = ConnectedClient::make(request).await?;
        self.0.insert(id, made)?;
        Ok(Response::new(CreateClientResponse {}))
    }

    async fn close_client(&self, request: Request<CloseClientRequest>) -> Reply<CloseClientResponse> {
        let made = self.client(&request.into_inner().client_id)?;
        made.client.close().await;
        Ok(Response::new(CloseClientResponse {}))
    }

    async fn remove_client(&self, request: Request<RemoveClientRequest>) -> Reply<RemoveClientResponse> {
        self.0.remove(&request.into_inner().client_id)?;
        Ok(Response::new(RemoveClientResponse {}))
    }

    async fn read_row(&self, request: Request<ReadRowRequest>) -> Reply<RowResult> {
        let request = request.into_inner();
        let table = self.client(&request.client_id)?.table(&request.table_name, "")?;
        let filter = convert::optional_filter(request.filter)?;
        let read = table.read_row(Bytes::from(request.row_key), filter).await;
        Ok(row_result(read.map(|row| row.as_ref().map(convert::row))))
    }

    async fn read_rows(&self, request: Request<ReadRowsRequest>) -> Reply<RowsResult> {
        let ReadRowsRequest { client_id, request, cancel_after_rows } = request.into_inner();
        let request = present(request)?;
        let table = self.client(&client_id)?.table(&request.table_name, &request.app_profile_id)?;
        let stream = table.read_rows(convert::read_rows(request)?);
        let most = match usize::try_from(cancel_after_rows) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(rows) => rows,
        };
        let mut stream = stream.take(most);
        let mut rows = Vec::new();
        let status = loop {
            match stream.try_next().await {
                Ok(Some(row)) => rows.push(convert::row(&row)),
                Ok(None) => break convert::ok(),
                Err(error) => break convert::of_error(&error),
            }
        };
        Ok(Response::new(RowsResult { status: Some(status), rows }))
    }

    async fn mutate_row(&self, request: Request<MutateRowRequest>) -> Reply<MutateRowResult> {
        let MutateRowRequest { client_id, request } = request.into_inner();
        let request = present(request)?;
        let table = self.client(&client_id)?.table(&request.table_name, &request.app_profile_id)?;
        no_token(request.idempotency.as_ref())?;
        let written = table.mutate_row(request.row_key, convert::mutations(request.mutations)?).await;
        Ok(Response::new(MutateRowResult { status: Some(status(&written)) }))
    }

    async fn bulk_mutate_rows(&self, request: Request<MutateRowsRequest>) -> Reply<MutateRowsResult> {
        let MutateRowsRequest { client_id, request } = request.into_inner();
        let request = present(request)?;
        let table = self.client(&client_id)?.table(&request.table_name, &request.app_profile_id)?;
        let mut entries = Vec::new();
        for entry in request.entries {
            no_token(entry.idempotency.as_ref())?;
            entries.push((entry.row_key, convert::mutations(entry.mutations)?));
        }
        let (status, entries) = convert::of_entries(table.mutate_rows(entries).await);
        Ok(Response::new(MutateRowsResult { status: Some(status), entries }))
    }

    async fn check_and_mutate_row(
        &self,
        request: Request<CheckAndMutateRowRequest>,
    ) -> Reply<CheckAndMutateRowResult> {
        let CheckAndMutateRowRequest { client_id, request } = request.into_inner();
        let request = present(request)?;
        let table = self.client(&client_id)?.table(&request.table_name, &request.app_profile_id)?;
        let condition = convert::optional_filter(request.predicate_filter)?;
        let then = convert::mutations(request.true_mutations)?;
        let otherwise = convert::mutations(request.false_mutations)?;
        let checked = table.check_and_mutate_row(request.row_key, condition, then, otherwise).await;
        let status = Some(status(&checked));
        let result =
            checked.ok().map(|predicate_matched| data::CheckAndMutateRowResponse { predicate_matched });
        Ok(Response::new(CheckAndMutateRowResult { status, result }))
    }

    async fn sample_row_keys(&self, request: Request<SampleRowKeysRequest>) -> Reply<SampleRowKeysResult> {
        let SampleRowKeysRequest { client_id, request } = request.into_inner();
        let request = present(request)?;
        let table = self.client(&client_id)?.table(&request.table_name, &request.app_profile_id)?;
        let sampled = table.sample_row_keys().await;
        let status = Some(status(&sampled));
        let sample = |(row_key, offset_bytes)| data::SampleRowKeysResponse { row_key, offset_bytes };
        let samples = sampled.unwrap_or_default().into_iter().map(sample).collect();
        Ok(Response::new(SampleRowKeysResult { status, samples }))
    }

    async fn read_modify_write_row(&self, request: Request<ReadModifyWriteRowRequest>) -> Reply<RowResult> {
        let ReadModifyWriteRowRequest { client_id, request } = request.into_inner();
        let request = present(request)?;
        let table = self.client(&client_id)?.table(&request.table_name, &request.app_profile_id)?;
        let changed = table.read_modify_write_row(request.row_key, convert::rules(request.rules)?).await;
        Ok(row_result(changed.map(|row| Some(convert::row(&row)))))
    }

    async fn execute_query(&self, request: Request<ExecuteQueryRequest>) -> Reply<ExecuteQueryResult> {
        let ExecuteQueryRequest { client_id, request } = request.into_inner();
        let ExecuteQuery { query, params, .. } = present(request)?;
        let query = convert::bind(self.client(&client_id)?.client.query(query), params)?;
        let (mut results, mut rows) = (query.rows::<QueryRow>(), Vec::new());
        let status = loop {
            match results.next().await {
                Some(Ok(row)) => rows.push(convert::sql_row(&row)),
                None => break convert::ok(),
                Some(Err(error)) => break convert::of_query_error(&error),
            }
        };
        let metadata = results.columns().map(convert::metadata);
        Ok(Response::new(ExecuteQueryResult { status: Some(status), metadata, rows }))
    }
}

fn present<T>(request: Option<T>) -> Result<T, Status> {
    request.ok_or_else(|| Status::invalid_argument("an operation needs a request"))
}

fn no_token(token: Option<&data::Idempotency>) -> Result<(), Status> {
    match token {
        None => Ok(()),
        Some(_) => Err(Status::invalid_argument("the client sends no idempotency tokens")),
    }
}

fn status<T>(outcome: &Result<T, Error>) -> values::Status {
    outcome.as_ref().map_or_else(convert::of_error, |_| convert::ok())
}

fn row_result(outcome: Result<Option<data::Row>, Error>) -> Response<RowResult> {
    let status = Some(status(&outcome));
    Response::new(RowResult { status, row: outcome.unwrap_or_default() })
}
