//! Recorded requests, and the RPCs of both services.

use bytes::Bytes;
use http::HeaderMap;
use keyderive_proto::data;
use prost::Message;
use tokio::time::Instant;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub rpc: Rpc,
    /// The encoded message.
    pub message: Bytes,
    pub headers: HeaderMap,
    /// When the request was complete.
    pub at: Instant,
    /// The index of its connection, from zero.
    pub connection: usize,
    /// Whether the client cancelled it before the answer was complete.
    pub is_cancelled: bool,
}

impl Request {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Decodes the message; panics where it is not an `M`.
    #[must_use]
    pub fn decode<M: Message + Default>(&self) -> M {
        M::decode(self.message.clone()).unwrap_or_else(|error| panic!("{:?}: {error}", self.rpc))
    }

    /// Decodes a `ReadRows` request.
    #[must_use]
    pub fn read_rows(&self) -> data::ReadRowsRequest {
        self.decode()
    }

    /// The row keys of a `MutateRows` request, in order.
    #[must_use]
    pub fn entries(&self) -> Vec<Bytes> {
        let request: data::MutateRowsRequest = self.decode();
        request.entries.into_iter().map(|entry| entry.row_key).collect()
    }
}

/// An RPC that a [`Mock`](super::Mock) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rpc {
    ReadRows,
    SampleRowKeys,
    MutateRow,
    MutateRows,
    CheckAndMutateRow,
    ReadModifyWriteRow,
    PingAndWarm,
    PrepareQuery,
    ExecuteQuery,
    CreateTable,
    ListTables,
    GetTable,
    UpdateTable,
    DeleteTable,
    ModifyColumnFamilies,
    DropRowRange,
    GenerateConsistencyToken,
    CheckConsistency,
    ListClusters,
    ListHotTablets,
}

impl Rpc {
    /// The RPC of a request's path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        let rpc = match method {
            "ReadRows" => Self::ReadRows,
            "SampleRowKeys" => Self::SampleRowKeys,
            "MutateRow" => Self::MutateRow,
            "MutateRows" => Self::MutateRows,
            "CheckAndMutateRow" => Self::CheckAndMutateRow,
            "ReadModifyWriteRow" => Self::ReadModifyWriteRow,
            "PingAndWarm" => Self::PingAndWarm,
            "PrepareQuery" => Self::PrepareQuery,
            "ExecuteQuery" => Self::ExecuteQuery,
            "CreateTable" => Self::CreateTable,
            "ListTables" => Self::ListTables,
            "GetTable" => Self::GetTable,
            "UpdateTable" => Self::UpdateTable,
            "DeleteTable" => Self::DeleteTable,
            "ModifyColumnFamilies" => Self::ModifyColumnFamilies,
            "DropRowRange" => Self::DropRowRange,
            "GenerateConsistencyToken" => Self::GenerateConsistencyToken,
            "CheckConsistency" => Self::CheckConsistency,
            "ListClusters" => Self::ListClusters,
            "ListHotTablets" => Self::ListHotTablets,
            _ => return None,
        };
        let expected = match rpc {
            Self::ListClusters | Self::ListHotTablets => "google.bigtable.admin.v2.BigtableInstanceAdmin",
            rpc if rpc.is_admin() => "google.bigtable.admin.v2.BigtableTableAdmin",
            _ => "google.bigtable.v2.Bigtable",
        };
        (service == expected).then_some(rpc)
    }

    pub(crate) fn is_admin(self) -> bool {
        !matches!(
            self,
            Self::ReadRows
                | Self::SampleRowKeys
                | Self::MutateRow
                | Self::MutateRows
                | Self::CheckAndMutateRow
                | Self::ReadModifyWriteRow
                | Self::PingAndWarm
                | Self::PrepareQuery
                | Self::ExecuteQuery
        )
    }
}
