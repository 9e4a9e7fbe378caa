//! Reads: which rows are asked for, and in which order.

mod portions;
mod requested;
mod stream;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use keyderive_proto::data;

use super::error::Error;
use super::operation::Kind;
use super::{Client, StreamGuard, filter};
use crate::plan::KeyRange;
use crate::row::{FilterError, Row, RowFilter};

pub(super) use requested::RequestedRows;
pub use stream::RowStream;

/// Which rows are read, and what of them.
///
/// ```
/// use keyderive::client::ReadRows;
/// use keyderive::row::RowFilter;
///
/// let newest_of_ten = ReadRows::new().prefix(b"alice#").limit(10).filter(RowFilter::latest(1));
/// # drop(newest_of_ten);
/// ```
///
/// Rows come in the order of their keys, each once, however often it is named. Keys and ranges that are more than the
/// service takes at a time, which is 512 KiB, are asked for one portion after the other.
#[derive(Clone, Debug, Default)]
pub struct ReadRows {
    pub(crate) keys: Vec<Bytes>,
    pub(crate) ranges: Vec<KeyRange>,
    pub(crate) limit: Option<u64>,
    pub(crate) filter: Option<RowFilter>,
    pub(crate) reversed: bool,
    /// The bucket whose rows they are, to be told of.
    pub(crate) bucket: Option<i32>,
    /// Whether it is one of many streams of a scan.
    pub(crate) high_fan_out: bool,
}

impl ReadRows {
    /// No rows yet: [`key`](Self::key), [`range`](Self::range) and [`prefix`](Self::prefix) add some. A request that
    /// names none reads none, and is not sent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows of the table.
    #[must_use]
    pub fn all() -> Self {
        Self::new().range(KeyRange::new(Vec::new(), None))
    }

    /// And the row with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// And the rows whose keys are in this range.
    #[must_use]
    pub fn range(mut self, range: KeyRange) -> Self {
        self.ranges.push(range);
        self
    }

    /// And the rows whose keys begin so.
    #[must_use]
    pub fn prefix(self, prefix: impl AsRef<[u8]>) -> Self {
        self.range(KeyRange::prefix(prefix.as_ref()))
    }

    /// At most so many rows, the first ones. None at all for 0.
    #[must_use]
    pub fn limit(self, rows: u64) -> Self {
        Self { limit: Some(rows), ..self }
    }

    /// What of each row is sent. Replaces the filter that was given before.
    #[must_use]
    pub fn filter(self, filter: RowFilter) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// From the last row to the first.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { reversed: true, ..self }
    }

    /// Whether no row can answer. Such a request is not sent, because the service takes an empty set
    /// of rows for the whole table, and a limit of zero for none.
    pub(crate) fn is_empty(&self) -> bool {
        self.limit == Some(0)
            || (self.keys.iter().all(Bytes::is_empty) && self.ranges.iter().all(KeyRange::is_empty))
    }

    /// Leaves out what has been read: all rows up to this one, of which so many came.
    pub(crate) fn go_on_behind(&mut self, last: &[u8], rows: u64) {
        let ahead = match self.reversed {
            true => KeyRange::new(Vec::new(), Some(last.to_vec())),
            // The first key after one.
            false => KeyRange::new([last, &[0][..]].concat(), None),
        };
        self.keys.retain(|key| ahead.contains(key));
        let ranges = self.ranges.iter().map(|range| range.intersection(&ahead));
        self.ranges = ranges.filter(|range| !range.is_empty()).collect();
        self.limit = self.limit.map(|limit| limit.saturating_sub(rows));
    }

    /// The message. Ranges that hold nothing are left out: the service refuses them, and no row has an empty key.
    fn into_message(
        self,
        table_name: String,
        app_profile_id: String,
    ) -> Result<data::ReadRowsRequest, FilterError> {
        let row_keys = self.keys.into_iter().filter(|key| !key.is_empty()).collect();
        let row_ranges = self.ranges.iter().filter(|range| !range.is_empty()).map(range).collect();
        Ok(data::ReadRowsRequest {
            table_name,
            app_profile_id,
            rows: Some(data::RowSet { row_keys, row_ranges }),
            filter: self.filter.as_ref().map(filter::message).transpose()?,
            rows_limit: self.limit.map_or(0, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            reversed: self.reversed,
        })
    }
}

fn range(range: &KeyRange) -> data::RowRange {
    use data::row_range::{EndKey, StartKey};
    let start_key = match range.start() {
        [] => None,
        // What is after a key begins with the key and a zero byte.
        [key @ .., 0] if !key.is_empty() => Some(StartKey::StartKeyOpen(Bytes::copy_from_slice(key))),
        key => Some(StartKey::StartKeyClosed(Bytes::copy_from_slice(key))),
    };
    data::RowRange {
        start_key,
        end_key: range.end().map(|end| EndKey::EndKeyOpen(Bytes::copy_from_slice(end))),
    }
}

impl Client {
    /// The rows that `request` names, in key order or against it.
    ///
    /// The request is sent at the first poll, and canceled when the stream is dropped. The stream ends
    /// with the first error.
    pub(crate) fn read_rows(&self, table: &str, request: ReadRows) -> RowStream {
        let (client, pass) = self.streaming();
        RowStream::new(client, pass, Kind::ReadRows, table, request)
    }

    /// The row with this key, if there is one.
    pub(crate) async fn read_row(
        &self,
        table: &str,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> Result<Option<Row>, Error> {
        let request = ReadRows { keys: vec![key.clone()], limit: Some(1), filter, ..ReadRows::default() };
        // The answer is whole only at its end: an error may follow the row.
        let pass = StreamGuard::default();
        let rows = RowStream::new(self.clone(), pass, Kind::ReadRow, table, request);
        let rows = rows.try_collect::<Vec<Row>>().await;
        let rows = rows.map_err(|error| error.of_row(&key))?;
        Ok(rows.into_iter().next())
    }
}
