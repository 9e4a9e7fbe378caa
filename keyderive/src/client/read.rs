//! Reads: `ReadRows` as a stream of rows.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use tonic::Streaming;

use super::Client;
use super::call::{self, Operation};
use super::error::Error;
use super::merge::RowMerger;
use crate::plan::KeyRange;
use crate::row::{Row, RowFilter};
use crate::wire::data;
use crate::wire::data::read_rows_response::CellChunk;

const RPC: &str = "ReadRows";

/// Which rows are read, and in which order.
///
/// Without keys and ranges it names no row; the whole table is the range without bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadRows {
    pub(crate) keys: Vec<Bytes>,
    pub(crate) ranges: Vec<KeyRange>,
    pub(crate) limit: Option<u64>,
    pub(crate) filter: Option<RowFilter>,
    pub(crate) reversed: bool,
}

impl ReadRows {
    /// Whether no row can answer. Such a request is not sent, because the service takes an empty set
    /// of rows for the whole table, and a limit of zero for none.
    fn is_empty(&self) -> bool {
        self.limit == Some(0) || (self.keys.is_empty() && self.ranges.iter().all(KeyRange::is_empty))
    }

    /// The message. Ranges that hold nothing are left out: the service refuses them.
    fn into_message(self, table_name: String, app_profile_id: String) -> data::ReadRowsRequest {
        let row_ranges = self.ranges.iter().filter(|range| !range.is_empty()).map(range).collect();
        data::ReadRowsRequest {
            table_name,
            app_profile_id,
            rows: Some(data::RowSet { row_keys: self.keys, row_ranges }),
            filter: self.filter.as_ref().map(filter),
            rows_limit: self.limit.map_or(0, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            reversed: self.reversed,
        }
    }
}

fn range(range: &KeyRange) -> data::RowRange {
    use data::row_range::{EndKey, StartKey};
    let start = Some(range.start()).filter(|start| !start.is_empty());
    data::RowRange {
        start_key: start.map(|start| StartKey::StartKeyClosed(Bytes::copy_from_slice(start))),
        end_key: range.end().map(|end| EndKey::EndKeyOpen(Bytes::copy_from_slice(end))),
    }
}

fn filter(filter: &RowFilter) -> data::RowFilter {
    use data::row_filter::Filter;
    let filter = match *filter {
        RowFilter::LatestPerColumn(versions) => {
            Filter::CellsPerColumnLimitFilter(i32::try_from(versions).unwrap_or(i32::MAX))
        }
    };
    data::RowFilter { filter: Some(filter) }
}

impl Client {
    /// The rows that `request` names, in key order or against it.
    ///
    /// The request is sent at the first poll, and canceled when the stream is dropped. The stream ends
    /// with the first error.
    pub(crate) fn read_rows(&self, table: &str, request: ReadRows) -> RowStream {
        if request.is_empty() {
            return RowStream(State::Ended);
        }
        let (client, operation) = (self.clone(), self.data_operation(RPC, table));
        RowStream(State::Opening(Box::pin(async move { Reader::open(&client, operation, request).await })))
    }

    /// The row with this key, if there is one.
    pub(crate) async fn read_row(
        &self,
        table: &str,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> Result<Option<Row>, Error> {
        let request = ReadRows { keys: vec![key], limit: Some(1), filter, ..ReadRows::default() };
        let mut reader = Reader::open(self, self.data_operation(RPC, table), request).await?;
        let row = reader.next().await?;
        // The answer is whole only at its end: an error may follow the row.
        if row.is_some() && reader.next().await?.is_some() {
            return Err(Error::protocol(&reader.operation, "a point read has more than one row"));
        }
        Ok(row)
    }
}

/// The rows of one scan.
pub(crate) struct RowStream(State);

enum State {
    /// Not polled yet, or not answered.
    Opening(BoxFuture<'static, Result<Reader, Error>>),
    Reading(Box<Reader>),
    Ended,
}

impl Stream for RowStream {
    type Item = Result<Row, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let State::Opening(opening) = &mut self.0 {
            match ready!(opening.as_mut().poll(cx)) {
                Ok(reader) => self.0 = State::Reading(Box::new(reader)),
                Err(error) => {
                    self.0 = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let State::Reading(reader) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let row = ready!(reader.poll_next(cx)).transpose();
        if !matches!(row, Some(Ok(_))) {
            self.0 = State::Ended;
        }
        Poll::Ready(row)
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}

/// One `ReadRows` stream.
struct Reader {
    operation: Operation,
    responses: Streaming<data::ReadRowsResponse>,
    buffer: Buffer,
}

impl Reader {
    async fn open(client: &Client, operation: Operation, request: ReadRows) -> Result<Self, Error> {
        let buffer = Buffer::new(request.reversed);
        let message =
            request.into_message(client.table_name(&operation.table), client.app_profile().to_owned());
        let responses = client
            .call(&operation, message, |transport, request| async move {
                call::data(transport).read_rows(request).await
            })
            .await?;
        Ok(Self { operation, responses, buffer })
    }

    async fn next(&mut self) -> Result<Option<Row>, Error> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Row>, Error>> {
        let Self { operation, responses, buffer } = self;
        let broken = |broken| Error::protocol(operation, broken);
        loop {
            if let Some(row) = buffer.next().map_err(broken)? {
                return Poll::Ready(Ok(Some(row)));
            }
            match ready!(Pin::new(&mut *responses).poll_next(cx)) {
                Some(Ok(response)) => buffer.take(response).map_err(broken)?,
                Some(Err(status)) => return Poll::Ready(Err(Error::rpc(operation, &status))),
                None => return Poll::Ready(buffer.finish().map(|()| None).map_err(broken)),
            }
        }
    }
}

/// What is left of the last response, and of the row that it may have ended in.
struct Buffer {
    chunks: vec::IntoIter<CellChunk>,
    /// A scan marker that belongs after `chunks`, or nothing.
    marker: Bytes,
    merger: RowMerger,
}

impl Buffer {
    fn new(reversed: bool) -> Self {
        Self { chunks: Vec::new().into_iter(), marker: Bytes::new(), merger: RowMerger::new(reversed) }
    }

    /// Takes a response, when there is no further row in the one before.
    fn take(&mut self, response: data::ReadRowsResponse) -> Result<(), String> {
        let marker = response.last_scanned_row_key;
        if !marker.is_empty() && self.merger.is_scanned_before(&marker, response.chunks.first()) {
            self.merger.scanned(marker)?;
        } else {
            self.marker = marker;
        }
        self.chunks = response.chunks.into_iter();
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Row>, String> {
        for chunk in self.chunks.by_ref() {
            if let Some(row) = self.merger.push(chunk)? {
                return Ok(Some(row));
            }
        }
        match std::mem::take(&mut self.marker) {
            marker if marker.is_empty() => Ok(None),
            marker => self.merger.scanned(marker).map(|()| None),
        }
    }

    fn finish(&self) -> Result<(), String> {
        self.merger.finish()
    }
}

#[cfg(test)]
mod tests;
