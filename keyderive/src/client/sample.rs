//! Samples of a table's keys: `SampleRowKeys`.

use bytes::Bytes;
use futures_util::TryStreamExt as _;

use super::Client;
use super::call;
use super::error::Error;
use crate::wire::data;

impl Client {
    /// Keys that cut the table into parts of about equal size, in order, each with about how many bytes the rows
    /// before it take.
    ///
    /// The keys need not be those of rows. The last one is empty and stands for the table's end.
    pub(crate) async fn sample_row_keys(&self, table: &str) -> Result<Vec<(Bytes, i64)>, Error> {
        let operation = self.data_operation("SampleRowKeys", table);
        let message = data::SampleRowKeysRequest {
            table_name: self.table_name(table),
            app_profile_id: self.app_profile().to_owned(),
        };
        let responses = self
            .call(&operation, message, |transport, request| async move {
                call::data(transport).sample_row_keys(request).await
            })
            .await?;
        responses
            .map_ok(|sample| (sample.row_key, sample.offset_bytes))
            .try_collect()
            .await
            .map_err(|status| Error::rpc(&operation, &status))
    }
}
