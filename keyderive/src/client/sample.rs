//! Samples of a table's keys: `SampleRowKeys`.

use bytes::Bytes;
use keyderive_proto::data;
use tonic::Response;

use super::error::Error;
use super::operation::Kind;
use super::{Client, call};

impl Client {
    /// Keys that cut the table into parts of about equal size, in order, each with about how many bytes the rows
    /// before it take.
    ///
    /// The keys need not be those of rows. The last one is empty and stands for the table's end.
    pub(crate) async fn sample_row_keys(&self, table: &str) -> Result<Vec<(Bytes, i64)>, Error> {
        let operation = self.data_operation(Kind::SampleRowKeys, table);
        let message = data::SampleRowKeysRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
        };
        self.call(operation, message, |transport, request| async move {
            let response = call::data(transport).sample_row_keys(request).await?;
            let (head, mut responses, _) = response.into_parts();
            let mut samples = Vec::new();
            loop {
                match responses.message().await {
                    Ok(Some(sample)) => samples.push((sample.row_key, sample.offset_bytes)),
                    Ok(None) => return Ok(Response::new(samples)),
                    Err(status) => return Err(call::with_head(status, head)),
                }
            }
        })
        .await
    }
}
