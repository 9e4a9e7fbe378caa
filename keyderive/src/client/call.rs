//! How an RPC is sent: attempt by attempt, until one is answered or no further one is to be made.

use std::future::Future;
use std::sync::Arc;

use keyderive_proto::MAX_MESSAGE_BYTES;
use keyderive_proto::admin::bigtable_table_admin_client::BigtableTableAdminClient;
use keyderive_proto::data::bigtable_client::BigtableClient;
use prost::Message;
use tokio::time::sleep_until;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};

use super::Client;
use super::attempts::Attempts;
use super::channels::Channels;
use super::error::Error;
use super::headers;
use super::operation::Operation;
use super::transport::Transport;

impl Client {
    /// Sends `message` by `send` until an attempt is answered.
    ///
    /// An attempt is all that `send` does, in one allowance of time. Its answer is whole, so a stream is read in it.
    pub(super) async fn call<M, R, F>(
        &self,
        operation: Operation,
        message: M,
        send: impl Fn(Transport, Request<M>) -> F,
    ) -> Result<R, Error>
    where
        M: Payload,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        call(Attempts::new(self, operation)?, message, send).await
    }

    /// As [`call`](Self::call), by these connections.
    pub(super) async fn call_over<M, R, F>(
        &self,
        channels: Arc<Channels>,
        operation: Operation,
        message: M,
        send: impl Fn(Transport, Request<M>) -> F,
    ) -> Result<R, Error>
    where
        M: Payload,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        call(Attempts::over(channels, self, operation)?, message, send).await
    }
}

/// What is sent, with each attempt once more.
pub(super) trait Payload: Clone {
    /// How many there are of it.
    fn bytes(&self) -> usize;
}

impl<M: Message + Clone> Payload for M {
    fn bytes(&self) -> usize {
        self.encoded_len()
    }
}

async fn call<M, R, F>(
    mut attempts: Attempts,
    message: M,
    send: impl Fn(Transport, Request<M>) -> F,
) -> Result<R, Error>
where
    M: Payload,
    F: Future<Output = Result<Response<R>, Status>>,
{
    if attempts.watch.is_wanted() {
        attempts.watch.count(attempts.operation().rows_sent(), message.bytes());
    }
    loop {
        let attempt = attempts.begin()?;
        let answer = match attempts.request(&attempt, message.clone()).await {
            Ok(request) => attempt.within(send(attempt.transport(), request)).await,
            Err(failure) => Err(failure),
        };
        match answer {
            Ok(response) => {
                attempts.answered(&attempt);
                attempts.succeeded();
                return Ok(response.into_inner());
            }
            Err(failure) => {
                let again = attempts.failed(&attempt, failure)?;
                drop(attempt);
                sleep_until(again).await;
            }
        }
    }
}

/// The status that ended a stream, with the metadata of the answer's head: a routing cookie may be in either.
pub(super) fn with_head(mut status: Status, head: MetadataMap) -> Status {
    let own = std::mem::replace(status.metadata_mut(), head);
    headers::insert_all(status.metadata_mut(), &own);
    status
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
