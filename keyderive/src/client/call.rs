//! How an RPC is sent: the place through which every attempt goes.

use std::future::Future;

use tonic::metadata::AsciiMetadataValue;
use tonic::{Request, Response, Status};

use super::error::Error;
use super::headers;
use super::transport::{MAX_MESSAGE_BYTES, Transport};
use super::{Client, Target};
use crate::wire::admin::bigtable_table_admin_client::BigtableTableAdminClient;
use crate::wire::data::bigtable_client::BigtableClient;

/// One RPC on one table, as errors name it and the service routes it.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(super) rpc: &'static str,
    /// The short id.
    pub(super) table: String,
    /// Where the client sends it.
    pub(super) target: Target,
    service: Service,
    routing: AsciiMetadataValue,
}

#[derive(Clone, Copy)]
enum Service {
    Data,
    Admin,
}

impl Operation {
    #[cfg(test)]
    pub(super) fn for_test(rpc: &'static str, table: &str) -> Self {
        Self {
            rpc,
            table: table.to_owned(),
            target: Target::for_test(),
            service: Service::Data,
            routing: headers::routing(&[]),
        }
    }
}

impl Client {
    /// An RPC of the data service on a table.
    pub(super) fn data_operation(&self, rpc: &'static str, table: &str) -> Operation {
        let name = self.table_name(table);
        let routing =
            headers::routing(&[("table_name", name.as_str()), ("app_profile_id", self.app_profile())]);
        self.operation(rpc, table, Service::Data, routing)
    }

    /// An RPC of the admin service about a table, routed by `parameter`.
    pub(super) fn admin_operation(
        &self,
        rpc: &'static str,
        table: &str,
        parameter: (&'static str, &str),
    ) -> Operation {
        let routing = headers::routing(&[parameter]);
        self.operation(rpc, table, Service::Admin, routing)
    }

    fn operation(
        &self,
        rpc: &'static str,
        table: &str,
        service: Service,
        routing: AsciiMetadataValue,
    ) -> Operation {
        Operation { rpc, table: table.to_owned(), target: self.target().clone(), service, routing }
    }

    /// Sends `message` by `send`, once, with the headers of a first attempt.
    ///
    /// The answer of a streaming RPC is its stream, whose messages fail by themselves.
    pub(super) async fn call<M, R, F>(
        &self,
        operation: &Operation,
        message: M,
        send: impl FnOnce(Transport, Request<M>) -> F,
    ) -> Result<R, Error>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut request = Request::new(message);
        let routing = operation.routing.clone();
        match operation.service {
            Service::Data => {
                headers::insert_data(request.metadata_mut(), routing, self.features().clone(), 0);
            }
            Service::Admin => headers::insert_admin(request.metadata_mut(), routing),
        }
        match send(self.transport().clone(), request).await {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(Error::rpc(operation, &status)),
        }
    }
}

/// The data service over `transport`.
pub(super) fn data(transport: Transport) -> BigtableClient<Transport> {
    BigtableClient::new(transport)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// The admin service over `transport`.
pub(super) fn admin(transport: Transport) -> BigtableTableAdminClient<Transport> {
    BigtableTableAdminClient::new(transport)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}
