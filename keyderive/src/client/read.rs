//! Which rows a read asks for: the request, its parts that each fit into a message, and the check of its answer.

mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::data::read_rows_request::RequestStatsView;
use keyderive_proto::{Rpc, data};
use tonic::Status;

use super::error::Error;
use super::failure::Failure;
use super::grpc::{Answer, Request};
use super::retry::Received;
use super::row_merger::{KeyOrRange, MergeError, RequestedRows, RowMerger, in_key_order};
use super::stats::ReadStats;
use super::{Client, Clock, Route, ScanCounters, filter, retry};
use crate::plan::{KeyRange, RequestSize};
use crate::row::{FilterError, RawRow, RowFilter};

pub use stream::RowStream;
pub(crate) use stream::{NextRow, ROWS_PER_TURN, RowCursor, RowTurns};

/// Which rows to read, and which of their cells.
///
/// ```
/// use keyderive::client::ReadRows;
/// use keyderive::row::RowFilter;
///
/// let newest_of_ten = ReadRows::new().prefix(b"alice#").limit(10).filter(RowFilter::latest(1));
/// # drop(newest_of_ten);
/// ```
///
/// Rows come in key order, each once, even if several keys and ranges name it. A request whose keys and ranges exceed
/// the 512 KiB that the service takes is sent in parts, one after the other.
#[derive(Clone, Debug, Default)]
pub struct ReadRows {
    pub(crate) keys: Vec<Bytes>,
    pub(crate) ranges: Vec<KeyRange>,
    pub(crate) limit: Option<u64>,
    pub(crate) filter: Option<RowFilter>,
    pub(crate) reversed: bool,
    /// The bucket that it reads, for errors and traces.
    pub(crate) bucket: Option<i32>,
    /// Whether it is one of many streams of a scan.
    pub(crate) high_fan_out: bool,
    /// What to add its cost to.
    pub(crate) stats: Option<ReadStats>,
    /// The counters of its scan.
    pub(crate) scan: Option<Arc<ScanCounters>>,
}

impl ReadRows {
    /// An empty request: [`key`](Self::key), [`range`](Self::range) and [`prefix`](Self::prefix) add rows. A request
    /// for no rows is never sent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows of the table.
    #[must_use]
    pub fn all() -> Self {
        Self::new().range(KeyRange::new(Vec::new(), None))
    }

    /// Adds the row with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// Adds the rows whose keys are in this range.
    #[must_use]
    pub fn range(mut self, range: KeyRange) -> Self {
        self.ranges.push(range);
        self
    }

    /// Adds the rows whose keys begin with these bytes.
    #[must_use]
    pub fn prefix(self, prefix: impl AsRef<[u8]>) -> Self {
        self.range(KeyRange::prefix(prefix.as_ref()))
    }

    /// Reads at most this many rows, the first ones. A limit of 0 reads none.
    #[must_use]
    pub fn limit(self, rows: u64) -> Self {
        Self { limit: Some(rows), ..self }
    }

    /// Sets the filter that the server applies to each row, replacing an earlier one.
    #[must_use]
    pub fn filter(self, filter: RowFilter) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// Reads from the last row to the first.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { reversed: true, ..self }
    }

    /// Asks the server what the read costs, and adds that to `stats`, replacing an earlier one.
    #[must_use]
    pub fn with_stats(self, stats: &ReadStats) -> Self {
        Self { stats: Some(stats.clone()), ..self }
    }

    /// Whether no row can match. The service would read an empty row set as the whole table, and a limit of zero as no
    /// limit, so such a request must not be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.limit == Some(0)
            || (self.keys.iter().all(Bytes::is_empty) && self.ranges.iter().all(KeyRange::is_empty))
    }

    /// Removes the keys and ranges that a read has passed when `last` was its last row.
    fn resume_after(&mut self, last: &[u8]) {
        let ahead = match self.reversed {
            true => KeyRange::new(Vec::new(), Some(last.to_vec())),
            // `last` and a zero byte is the first key after `last`.
            false => KeyRange::new([last, &[0][..]].concat(), None),
        };
        self.keep_within(&ahead);
    }

    /// Removes the keys and ranges outside of a range.
    fn keep_within(&mut self, ahead: &KeyRange) {
        self.keys.retain(|key| ahead.contains(key));
        let ranges = self.ranges.iter().map(|range| range.intersection(ahead));
        self.ranges = ranges.filter(|range| !range.is_empty()).collect();
    }

    /// The message. It leaves out empty ranges, which the service refuses, and the empty key, which no row has.
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
            request_stats_view: match self.stats {
                Some(_) => RequestStatsView::RequestStatsFull.into(),
                None => RequestStatsView::Unspecified.into(),
            },
            reversed: self.reversed,
        })
    }

    /// Splits the request into parts that each fit into a message. Returns the first one, and the later ones in reverse
    /// order. Read one after the other, the parts yield each row of the request once.
    fn split(self) -> (Self, Vec<Self>) {
        let mut size = RequestSize::default();
        self.keys.iter().for_each(|key| size.add_key(key));
        self.ranges.iter().for_each(|range| size.add_range(range));
        if !size.is_full() {
            return (self, Vec::new());
        }
        let Self { keys, ranges, limit, filter, reversed, bucket, high_fan_out, stats, scan } = self;
        let part = || Self {
            keys: Vec::new(),
            ranges: Vec::new(),
            limit,
            filter: filter.clone(),
            reversed,
            bucket,
            high_fan_out,
            stats: stats.clone(),
            scan: scan.clone(),
        };
        let mut rows = in_key_order(keys, ranges);
        if reversed {
            rows.reverse();
        }
        let (mut parts, mut size) = (vec![part()], RequestSize::default());
        for next in rows {
            if size.is_full() {
                parts.push(part());
                size = RequestSize::default();
            }
            let Some(part) = parts.last_mut() else { break };
            match next {
                KeyOrRange::Key(key) => {
                    size.add_key(&key);
                    part.keys.push(key);
                }
                KeyOrRange::Range(range) => {
                    size.add_range(&range);
                    part.ranges.push(range);
                }
            }
        }
        parts.reverse();
        let first = parts.pop().unwrap_or_else(part);
        (first, parts)
    }

    /// Each key, and each range at its first key.
    fn starts(&self) -> impl Iterator<Item = &[u8]> {
        let keys = self.keys.iter().filter(|key| !key.is_empty()).map(|key| &key[..]);
        let ranges = self.ranges.iter().filter(|range| !range.is_empty()).map(KeyRange::start);
        keys.chain(ranges)
    }
}

fn range(range: &KeyRange) -> data::RowRange {
    use data::row_range::{EndKey, StartKey};
    let start_key = match range.start() {
        [] => None,
        // The first key after another is that key and a zero byte.
        [key @ .., 0] if !key.is_empty() => Some(StartKey::StartKeyOpen(Bytes::copy_from_slice(key))),
        key => Some(StartKey::StartKeyClosed(Bytes::copy_from_slice(key))),
    };
    data::RowRange {
        start_key,
        end_key: range.end().map(|end| EndKey::EndKeyOpen(Bytes::copy_from_slice(end))),
    }
}

impl Client {
    /// Reads the rows that `request` names, in ascending or descending key order.
    ///
    /// The first poll sends the request; dropping the stream cancels it. The stream ends with the first error.
    pub(crate) fn read_rows(&self, table: &Route, request: ReadRows) -> RowStream {
        let (client, guard) = self.streaming();
        RowStream::new(client, guard, table, request)
    }

    /// Reads the row with this key, if it exists.
    pub(crate) async fn read_row(
        &self,
        table: &Route,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> Result<Option<RawRow>, Error> {
        if key.is_empty() {
            return Ok(None);
        }
        let message = data::ReadRowsRequest {
            table_name: table.full_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
            rows: Some(data::RowSet { row_keys: vec![key.clone()], row_ranges: Vec::new() }),
            filter: filter
                .as_ref()
                .map(filter::message)
                .transpose()
                .map_err(|error| Error::filter(table, error))?,
            rows_limit: 1,
            request_stats_view: RequestStatsView::Unspecified.into(),
            reversed: false,
        };
        let read = async {
            let asked = self.inner.heat.asked(&key, 0);
            let operation = self.data_operation(Rpc::ReadRows, table).of_one_row().asking(asked);
            let attempts = self.attempts(operation).await?;
            let row = retry::call(attempts, Request::new(&message), |answer| {
                only_row(answer, &key, self.clock().clone(), self.settings.max_row_bytes)
            });
            row.await.inspect(|row| {
                row.iter().for_each(|row| self.inner.heat.received(table, row, self.clock()));
            })
        };
        read.await.map_err(|error| error.with_row_key(&key))
    }
}

/// The only row of an answer, which has at most one.
async fn only_row(
    mut answer: Answer,
    key: &Bytes,
    clock: Clock,
    limit: usize,
) -> Result<Received<Option<RawRow>>, Status> {
    let mut merger = RowMerger::new(RequestedRows::key(key.clone()), None, clock, limit);
    let mut received = Received::new(None);
    loop {
        match answer.message().await {
            Ok(Some(message)) => {
                received.bytes += message.len();
                merger.take(message)?;
            }
            Ok(None) => {
                merger.finish().map_err(MergeError::from)?;
                return Ok(received);
            }
            // Only the end of the answer was lost.
            Err(status) if received.answer.is_some() && Failure::from(status.clone()).transient => {
                return Ok(received);
            }
            Err(status) => return Err(status),
        }
        while merger.advance()? {
            received.answer = Some(merger.row().clone());
            received.rows += 1;
        }
        received.future_cells += merger.take_future_cells();
    }
}
