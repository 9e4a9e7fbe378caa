//! Scans: rows read in pages, sent several in a response.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, coop};
use tonic::Status;

use super::filter::Filter;
use super::gc;
use super::interval::Interval;
use super::storage::{Cells, Definition, RowPage};
use super::store::Store;
use crate::row::Cell;
use crate::wire::data::ReadRowsResponse;
use crate::wire::data::read_rows_response::CellChunk;
use crate::wire::data::read_rows_response::cell_chunk::RowStatus;
use crate::wire::values::{BytesValue, StringValue};

/// How many rows are looked at for one response, and taken from the store at once.
///
/// Few, because a merge of many buckets holds a response of each: those of 64 buckets shall fit into a cache.
const PAGE_ROWS: usize = 64;

/// A response is sent when its values and keys have come to this size.
const RESPONSE_BYTES: usize = 64 << 10;

/// What a cell takes in a response besides its value, about.
const CELL_BYTES: usize = 16;

/// One scan, as the responses that answer it. It owns no more than a page of rows and a response, and works
/// only when it is polled.
pub(super) struct Scan {
    state: State,
    /// Whether the store may wait for a disk, which is done on a thread for that.
    waits: bool,
    /// Whether the client takes word of rows that were scanned and not sent.
    tells_progress: bool,
}

enum State {
    Idle(Box<Reader>),
    Reading(JoinHandle<Read>),
    /// Nothing more comes, after the last row or an error.
    Ended,
}

/// A reader, and what it has read.
type Read = (Box<Reader>, Result<Option<Progress>, Status>);

/// Reads the rows of a scan, a response at a time.
struct Reader {
    store: Arc<Store>,
    table: String,
    /// As it was when the scan began.
    definition: Arc<Definition>,
    /// Whether there can be garbage to leave out, and the time by which it is.
    garbage: Option<i64>,
    /// What is still to be read; disjoint, in order.
    intervals: Vec<Interval>,
    filter: Filter,
    reversed: bool,
    /// How many rows may still be sent.
    limit: u64,
    page: vec::IntoIter<(Bytes, Arc<Cells>)>,
    /// What is still to be sent of a row that is too large for one response.
    rest: vec::IntoIter<CellChunk>,
}

impl Scan {
    /// A scan of `intervals` of a table, which are disjoint and in order.
    pub(super) fn new(
        store: &Arc<Store>,
        table: String,
        mut intervals: Vec<Interval>,
        filter: Filter,
        limit: Option<u64>,
    ) -> Result<Self, Status> {
        let definition = store.table(&table)?;
        // The next interval is at the end of the list, where it is cheap to take.
        intervals.reverse();
        let reader = Reader {
            store: Arc::clone(store),
            table,
            garbage: (!gc::never(&definition.families)).then(|| store.now_micros()),
            definition,
            intervals,
            filter,
            reversed: false,
            limit: limit.unwrap_or(u64::MAX),
            page: RowPage::new().into_iter(),
            rest: Vec::new().into_iter(),
        };
        Ok(Self { state: State::Idle(Box::new(reader)), waits: store.waits(), tells_progress: false })
    }

    pub(super) fn reversed(mut self) -> Self {
        if let State::Idle(reader) = &mut self.state {
            reader.intervals.reverse();
            reader.reversed = !reader.reversed;
        }
        self
    }

    pub(super) fn tells_progress(self, tells_progress: bool) -> Self {
        Self { tells_progress, ..self }
    }

    /// What the next response is of; nothing at the end of the scan.
    fn poll_progress(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Progress>, Status>> {
        loop {
            match mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Poll::Ready(Ok(None)),
                State::Idle(reader) if self.waits => match Handle::try_current() {
                    Ok(runtime) => self.state = State::Reading(runtime.spawn_blocking(|| reader.read())),
                    Err(error) => return Poll::Ready(Err(Status::internal(error.to_string()))),
                },
                State::Idle(reader) => return Poll::Ready(self.take(reader.read())),
                State::Reading(mut reading) => match Pin::new(&mut reading).poll(context) {
                    Poll::Ready(Ok(read)) => return Poll::Ready(self.take(read)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(Status::internal(error.to_string()))),
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                },
            }
        }
    }

    fn take(&mut self, (reader, read): Read) -> Result<Option<Progress>, Status> {
        if matches!(read, Ok(Some(_))) {
            self.state = State::Idle(reader);
        }
        read
    }
}

impl Reader {
    fn read(mut self: Box<Self>) -> Read {
        let read = self.next_response();
        (self, read)
    }

    /// The rows of the next response; none at the end of the scan.
    fn next_response(&mut self) -> Result<Option<Progress>, Status> {
        if !self.rest.as_slice().is_empty() {
            return Ok(Some(Progress::Rows(self.next_of_rest())));
        }
        let mut chunks = Vec::new();
        let mut bytes = 0;
        let mut scanned = None;
        for _ in 0..PAGE_ROWS {
            if self.limit == 0 || bytes >= RESPONSE_BYTES {
                break;
            }
            let Some((key, cells)) = self.next_row()? else { break };
            let cells = self.filter.apply(&key, self.without_garbage(cells))?;
            if !cells.is_empty() {
                self.limit -= 1;
                bytes += key.len() + cells.iter().map(|cell| cell.value.len() + CELL_BYTES).sum::<usize>();
                push_row(&mut chunks, key.clone(), cells);
            }
            scanned = Some(key);
        }
        // A filter can make a row of far more than is stored, which must not come into one message.
        if bytes > 2 * RESPONSE_BYTES {
            self.rest = chunks.into_iter();
            chunks = self.next_of_rest();
        }
        Ok(scanned.map(|key| if chunks.is_empty() { Progress::Scanned(key) } else { Progress::Rows(chunks) }))
    }

    fn next_of_rest(&mut self) -> Vec<CellChunk> {
        let mut bytes = 0;
        let mut chunks = Vec::new();
        while bytes < RESPONSE_BYTES
            && let Some(chunk) = self.rest.next()
        {
            bytes += chunk.value.len() + CELL_BYTES;
            chunks.push(chunk);
        }
        chunks
    }

    fn without_garbage(&self, cells: Arc<Cells>) -> Cells {
        let mut cells = Arc::unwrap_or_clone(cells);
        if let Some(now) = self.garbage {
            gc::collect(&mut cells, &self.definition.families, now);
        }
        cells
    }

    fn next_row(&mut self) -> Result<Option<(Bytes, Arc<Cells>)>, Status> {
        loop {
            if let Some(row) = self.page.next() {
                return Ok(Some(row));
            }
            let Some(interval) = self.intervals.last_mut() else { return Ok(None) };
            let page = self.store.page(&self.table, interval, self.reversed, PAGE_ROWS)?;
            match page.rows.last() {
                Some((key, _)) if !page.is_last => interval.advance_past(key, self.reversed),
                _ => {
                    self.intervals.pop();
                }
            }
            self.page = page.rows.into_iter();
        }
    }
}

/// What came of looking at some rows.
enum Progress {
    Rows(Vec<CellChunk>),
    /// The filter left nothing of the rows up to this key.
    Scanned(Bytes),
}

impl Stream for Scan {
    type Item = Result<ReadRowsResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A scan in memory is always ready; without this it would keep a task's thread to its end.
        let turn = ready!(coop::poll_proceed(context));
        turn.made_progress();
        let scan = self.get_mut();
        match ready!(scan.poll_progress(context)) {
            Err(status) => Poll::Ready(Some(Err(status))),
            Ok(None) => Poll::Ready(None),
            Ok(Some(Progress::Rows(chunks))) => {
                Poll::Ready(Some(Ok(ReadRowsResponse { chunks, last_scanned_row_key: Bytes::new() })))
            }
            Ok(Some(Progress::Scanned(key))) if scan.tells_progress => {
                Poll::Ready(Some(Ok(ReadRowsResponse { chunks: Vec::new(), last_scanned_row_key: key })))
            }
            Ok(Some(Progress::Scanned(_))) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// Adds the chunks of a row: one for each cell, of which the first has the key and the last commits, and
/// which name their column where it changes.
fn push_row(chunks: &mut Vec<CellChunk>, mut key: Bytes, cells: Vec<Cell>) {
    let mut family: Option<Arc<str>> = None;
    let mut qualifier: Option<Bytes> = None;
    for cell in cells {
        let new_family = family.as_ref() != Some(&cell.family);
        let new_qualifier = new_family || qualifier.as_ref() != Some(&cell.qualifier);
        chunks.push(CellChunk {
            row_key: std::mem::take(&mut key),
            family_name: new_family.then(|| StringValue { value: cell.family.as_ref().to_owned() }),
            qualifier: new_qualifier.then(|| BytesValue { value: cell.qualifier.clone() }),
            timestamp_micros: cell.timestamp_micros,
            labels: cell.labels,
            value: cell.value,
            value_size: 0,
            row_status: None,
        });
        (family, qualifier) = (Some(cell.family), Some(cell.qualifier));
    }
    if let Some(last) = chunks.last_mut() {
        last.row_status = Some(RowStatus::CommitRow(true));
    }
}
