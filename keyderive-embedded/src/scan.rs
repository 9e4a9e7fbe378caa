//! Scans: a stream of responses, each with the next rows in encoded form.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use keyderive_proto::RowsMessage;
use keyderive_proto::data::ReadRowsResponse;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::values::{BytesValue, StringValue};
use prost::encoding::{self, WireType, encode_key, encode_varint, encoded_len_varint};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, coop};
use tonic::Status;

use crate::filter::{CellCounts, Filter};
use crate::gc::{self, GarbageFilter};
use crate::interval::Interval;
use crate::storage::{Cell, CellReader, CellRef, Cells, Definition, LARGE_BYTES, unreadable};
use crate::store::Store;

/// One scan, as the responses that answer it. It owns no more than a page of rows and a response, and works
/// only when it is polled.
pub(super) struct Scan {
    state: State,
    /// Whether the store may wait for a disk, which is done on a thread for that.
    waits: bool,
    /// Whether the client takes word of rows that were scanned and not sent.
    reports_progress: bool,
}

enum State {
    Idle(Box<ScanReader>),
    Reading(JoinHandle<ReadOutcome>),
    /// Nothing more comes, after the last row or an error.
    Ended,
}

/// A reader, and what it has read.
type ReadOutcome = (Box<ScanReader>, Result<Option<Progress>, Status>);

impl Scan {
    /// A scan of `intervals` of a table, which are disjoint and in order.
    pub(super) fn new(
        store: &Arc<Store>,
        table: String,
        intervals: Vec<Interval>,
        filter: Filter,
        limit: Option<u64>,
    ) -> Result<Self, Status> {
        let reader = ScanReader::new(store, table, intervals, filter, limit)?;
        Ok(Self { state: State::Idle(Box::new(reader)), waits: store.waits(), reports_progress: false })
    }

    pub(super) fn reversed(mut self) -> Self {
        if let State::Idle(reader) = &mut self.state {
            reader.reverse();
        }
        self
    }

    pub(super) fn reports_progress(self, reports_progress: bool) -> Self {
        Self { reports_progress, ..self }
    }

    /// What the next response is of; nothing at the end of the scan.
    fn poll_progress(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Progress>, Status>> {
        loop {
            match mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Poll::Ready(Ok(None)),
                State::Idle(reader) if self.waits || reader.next_is_slow() => match Handle::try_current() {
                    Ok(runtime) => {
                        self.state = State::Reading(runtime.spawn_blocking(|| read(reader, false)));
                    }
                    Err(_) if !self.waits => return Poll::Ready(self.take(read(reader, false))),
                    Err(error) => return Poll::Ready(Err(Status::internal(error.to_string()))),
                },
                State::Idle(reader) => {
                    let (reader, read) = read(reader, true);
                    let is_slow = matches!(read, Ok(Some(Progress::Nothing))) && reader.next_is_slow();
                    let read = self.take((reader, read));
                    if !is_slow {
                        return Poll::Ready(read);
                    }
                }
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

    fn take(&mut self, (reader, read): ReadOutcome) -> Result<Option<Progress>, Status> {
        if matches!(read, Ok(Some(_))) {
            self.state = State::Idle(reader);
        }
        read
    }
}

fn read(mut reader: Box<ScanReader>, inline: bool) -> ReadOutcome {
    let read = reader.next_response(inline);
    (reader, read)
}

impl Stream for Scan {
    type Item = Result<RowsMessage, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A scan in memory is always ready; without this it would keep a task's thread to its end.
        let turn = ready!(coop::poll_proceed(context));
        turn.made_progress();
        let scan = self.get_mut();
        match ready!(scan.poll_progress(context)) {
            Err(status) => Poll::Ready(Some(Err(status))),
            Ok(None) => Poll::Ready(None),
            Ok(Some(Progress::Rows(response))) => Poll::Ready(Some(Ok(RowsMessage(response)))),
            Ok(Some(Progress::Scanned(key))) if scan.reports_progress => {
                let response = ReadRowsResponse { chunks: Vec::new(), last_scanned_row_key: key };
                Poll::Ready(Some(Ok(RowsMessage::from(&response))))
            }
            Ok(Some(Progress::Scanned(_) | Progress::Nothing)) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// How many rows are looked at for the first response, and for the largest.
///
/// Few at first, since many scans end early; not too many, because a merge of many buckets holds a response of each.
const FIRST_ROWS: usize = 32;
const MOST_ROWS: usize = 256;

/// A response is sent when it has come to this size.
const RESPONSE_BYTES: usize = 64 << 10;

/// How many bytes of rows are looked at for a response, for a filter that takes each cell as long as one that passes
/// all; and what looking for rows in an interval counts for.
const SCANNED_BYTES: usize = 1 << 20;
const INTERVAL_BYTES: usize = 256;

/// What a row takes in a response, about, before any is known.
const ROW_BYTES: usize = 128;

/// The number of the chunks in a `ReadRowsResponse`.
const CHUNKS: u32 = 1;

/// What is still to be read of a table, and how.
struct ScanReader {
    store: Arc<Store>,
    table: String,
    /// As it was when the scan began.
    definition: Arc<Definition>,
    /// Whether there can be garbage to leave out, and the time by which it is.
    garbage: Option<i64>,
    /// What is still to be read; disjoint, the next one at the end.
    intervals: Vec<Interval>,
    filter: Filter,
    /// Whether rows are read where they lie, cell by cell.
    is_cellwise: bool,
    /// How long the filter takes for a cell.
    work: usize,
    /// Whether the next row is so large that other tasks are not to wait for it.
    next_is_slow: bool,
    counts: CellCounts,
    reversed: bool,
    /// How many rows may still be sent.
    limit: u64,
    /// How many rows the next response may be of.
    rows: usize,
    /// How far the scan has come.
    scanned: Vec<u8>,
    /// What is still to be sent of a row that is too large for one response.
    pending: vec::IntoIter<CellChunk>,
}

/// What came of looking at some rows.
enum Progress {
    /// An encoded response.
    Rows(Bytes),
    /// The filter left nothing of the rows up to this key.
    Scanned(Bytes),
    /// No row was looked at: there were none where it was looked for, or the next takes [long](ScanReader::next_is_slow).
    Nothing,
}

/// Why no further row of an interval is looked at.
enum Stop {
    /// All have been.
    End,
    /// Enough have been.
    Full,
    /// The next row is read by itself.
    Next,
    /// The next row is read by itself, and so large that it takes long, and may take several responses.
    Large,
    Damaged,
}

impl ScanReader {
    /// Of `intervals` of a table, which are disjoint and in order.
    fn new(
        store: &Arc<Store>,
        table: String,
        mut intervals: Vec<Interval>,
        filter: Filter,
        limit: Option<u64>,
    ) -> Result<Self, Status> {
        let definition = store.table(&table)?;
        intervals.reverse();
        Ok(Self {
            store: Arc::clone(store),
            table,
            garbage: (!gc::has_no_rules(&definition.families)).then(|| store.now_micros()),
            definition,
            intervals,
            is_cellwise: filter.is_cellwise(),
            work: filter.work(),
            next_is_slow: false,
            filter,
            counts: CellCounts::default(),
            reversed: false,
            limit: limit.unwrap_or(u64::MAX),
            rows: FIRST_ROWS,
            scanned: Vec::new(),
            pending: Vec::new().into_iter(),
        })
    }

    fn reverse(&mut self) {
        self.intervals.reverse();
        self.reversed = !self.reversed;
    }

    /// Whether what is read next takes so long that other tasks are not to wait for it.
    fn next_is_slow(&self) -> bool {
        self.next_is_slow
    }

    /// The rows of the next response; none at the end of the scan. A row that takes long is not read where others wait.
    fn next_response(&mut self, inline: bool) -> Result<Option<Progress>, Status> {
        self.next_is_slow = false;
        if !self.pending.as_slice().is_empty() {
            return Ok(Some(Progress::Rows(self.encode_pending())));
        }
        let mut rows = self.rows;
        self.rows = (2 * rows).min(MOST_ROWS);
        let most_rows = usize::try_from(self.limit).map_or(rows, |limit| rows.min(limit));
        let mut response = ResponseWriter::with_capacity(ROW_BYTES * most_rows);
        let mut has_scanned = false;
        let mut bytes = (SCANNED_BYTES / self.work).max(1);
        while rows > 0 && bytes > 0 && self.limit > 0 && response.len() < RESPONSE_BYTES {
            let Some(interval) = self.intervals.last().cloned() else { break };
            let before = rows;
            let stop = if self.is_cellwise {
                self.read_in_place(&interval, &mut rows, &mut bytes, &mut response)?
            } else if inline {
                self.peek_row(&interval, &mut bytes)?
            } else {
                Stop::Next
            };
            has_scanned |= rows < before;
            match stop {
                Stop::End => drop(self.intervals.pop()),
                Stop::Full => self.skip_scanned(),
                Stop::Next | Stop::Large => {
                    if rows < before {
                        self.skip_scanned();
                    }
                    if inline && matches!(stop, Stop::Large) {
                        self.next_is_slow = true;
                        break;
                    }
                    rows -= 1;
                    has_scanned |= self.read_row(&mut response)?;
                }
                Stop::Damaged => return Err(unreadable(&self.scanned)),
            }
            bytes = bytes.saturating_sub(INTERVAL_BYTES);
        }
        let is_at_end = self.intervals.is_empty() || self.limit == 0;
        Ok(match response.into_bytes() {
            bytes if !bytes.is_empty() => Some(Progress::Rows(bytes)),
            _ if has_scanned => Some(Progress::Scanned(Bytes::copy_from_slice(&self.scanned))),
            _ => (!is_at_end).then_some(Progress::Nothing),
        })
    }

    /// The size of the largest row, in bytes, that is read while others wait.
    fn most_bytes(&self) -> usize {
        LARGE_BYTES.min(SCANNED_BYTES / self.work)
    }

    /// Whether there is a next row in an interval, and how large it is.
    fn peek_row(&self, interval: &Interval, bytes: &mut usize) -> Result<Stop, Status> {
        let mut stop = Stop::End;
        self.store.visit(&self.table, interval, self.reversed, &mut |_, cells| {
            stop = if cells.len() > self.most_bytes() { Stop::Large } else { Stop::Next };
            *bytes = bytes.saturating_sub(cells.len());
            false
        })?;
        Ok(stop)
    }

    /// Leaves out of the present interval what has been scanned.
    fn skip_scanned(&mut self) {
        if let Some(interval) = self.intervals.last_mut() {
            interval.advance_past(&Bytes::copy_from_slice(&self.scanned), self.reversed);
        }
    }

    /// Writes rows of an interval into a response, of `rows` at most.
    fn read_in_place(
        &mut self,
        interval: &Interval,
        rows: &mut usize,
        bytes: &mut usize,
        response: &mut ResponseWriter,
    ) -> Result<Stop, Status> {
        let most_bytes = self.most_bytes();
        let Self { store, table, definition, garbage, filter, counts, reversed, limit, scanned, .. } = self;
        let mut gc_filter = garbage.map(|now| GarbageFilter::new(&definition.families, now));
        let mut stop = Stop::Full;
        let mut visit = |key: &[u8], mut cells: CellReader<'_>| {
            if *rows == 0 || *limit == 0 || *bytes == 0 || response.len() >= RESPONSE_BYTES {
                return false;
            }
            if cells.len() > most_bytes {
                stop = Stop::Large;
                return false;
            }
            *rows -= 1;
            *bytes = bytes.saturating_sub(cells.len());
            scanned.clear();
            scanned.extend_from_slice(key);
            counts.next_row();
            let mut row = response.row(key);
            loop {
                let mut cell = match cells.next() {
                    Some(Some(cell)) => cell,
                    Some(None) => break,
                    None => {
                        stop = Stop::Damaged;
                        return false;
                    }
                };
                counts.see(&cell);
                row.see(&cell);
                if gc_filter.as_mut().is_none_or(|gc_filter| gc_filter.keeps(&cell))
                    && filter.keeps(key, &mut cell, counts)
                {
                    row.add(cell);
                }
            }
            *limit -= u64::from(row.finish());
            true
        };
        let all = store.visit(table, interval, *reversed, &mut visit)?;
        Ok(if all { Stop::End } else { stop })
    }

    /// Adds the next row of the present interval to a response, or as much of it as fits; whether there is one.
    fn read_row(&mut self, response: &mut ResponseWriter) -> Result<bool, Status> {
        let Some(interval) = self.intervals.last() else { return Ok(false) };
        let page = self.store.page(&self.table, interval, self.reversed, 1)?;
        let is_last = page.is_last;
        let Some((key, cells)) = page.rows.into_iter().next() else {
            self.intervals.pop();
            return Ok(false);
        };
        self.scanned = key.to_vec();
        if is_last {
            self.intervals.pop();
        } else {
            self.skip_scanned();
        }
        let cells = self.filter.apply(&key, self.without_garbage(cells))?;
        self.limit -= u64::from(!cells.is_empty());
        self.pending = chunks(key, cells).into_iter();
        response.extend(&self.encode_pending());
        Ok(true)
    }

    /// The next chunks of a large row, encoded.
    fn encode_pending(&mut self) -> Bytes {
        let mut bytes = Vec::new();
        while bytes.len() < RESPONSE_BYTES
            && let Some(chunk) = self.pending.next()
        {
            encoding::message::encode(CHUNKS, &chunk, &mut bytes);
        }
        bytes.into()
    }

    fn without_garbage(&self, cells: Arc<Cells>) -> Cells {
        let mut cells = Arc::unwrap_or_clone(cells);
        if let Some(now) = self.garbage {
            gc::collect(&mut cells, &self.definition.families, now);
        }
        cells
    }
}

/// The chunks of a row: one for each cell, of which the first has the key and the last commits, and which name their
/// column where it changes.
fn chunks(mut key: Bytes, cells: Vec<Cell>) -> Vec<CellChunk> {
    let mut chunks = Vec::with_capacity(cells.len());
    let mut family: Option<Arc<str>> = None;
    let mut qualifier: Option<Bytes> = None;
    for cell in cells {
        let new_family = family.as_ref() != Some(&cell.family);
        let new_qualifier = new_family || qualifier.as_ref() != Some(&cell.qualifier);
        chunks.push(CellChunk {
            row_key: mem::take(&mut key),
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
    chunks
}

/// An encoded response that grows.
struct ResponseWriter {
    bytes: Vec<u8>,
}

/// A row that is written cell by cell.
struct RowWriter<'w, 'c> {
    bytes: &'w mut Vec<u8>,
    /// The row's key, until it is written.
    key: &'w [u8],
    /// The last cell, which is written when it is known whether it ends the row.
    last: Option<CellRef<'c>>,
    /// What has changed since that cell.
    new_family: bool,
    new_column: bool,
}

impl ResponseWriter {
    fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }

    /// Adds encoded chunks.
    fn extend(&mut self, chunks: &[u8]) {
        self.bytes.extend_from_slice(chunks);
    }

    fn row<'w>(&'w mut self, key: &'w [u8]) -> RowWriter<'w, 'w> {
        RowWriter { bytes: &mut self.bytes, key, last: None, new_family: false, new_column: false }
    }
}

impl<'c> RowWriter<'_, 'c> {
    /// Notes a cell, whether it is added or not.
    #[inline]
    fn see(&mut self, cell: &CellRef<'_>) {
        self.new_family |= cell.new_family;
        self.new_column |= cell.new_column;
    }

    /// Adds the cell that was noted last.
    #[inline]
    fn add(&mut self, cell: CellRef<'c>) {
        let Self { new_family, new_column, .. } = *self;
        (self.new_family, self.new_column) = (false, false);
        if let Some(last) = self.last.replace(CellRef { new_family, new_column, ..cell }) {
            self.write(&last, false);
        }
    }

    /// Ends the row; whether there is one.
    fn finish(mut self) -> bool {
        let last = self.last.take();
        last.inspect(|last| self.write(last, true)).is_some()
    }

    /// Field numbers are those of `CellChunk` in `wire/proto/data.proto`. A family and a qualifier are messages of
    /// their own, with one field; what is empty is left out, as protobuf has it.
    fn write(&mut self, cell: &CellRef<'_>, commits: bool) {
        let CellRef { qualifier, timestamp_micros, value, .. } = *cell;
        let family = cell.family.as_bytes();
        let micros = timestamp_micros.cast_unsigned();
        let mut length = field_len(self.key) + field_len(value);
        if cell.new_family {
            length += 1 + prefixed_len(field_len(family));
        }
        if cell.new_column {
            length += 1 + prefixed_len(field_len(qualifier));
        }
        if micros != 0 {
            length += 1 + encoded_len_varint(micros);
        }
        length += 2 * usize::from(commits);
        let bytes = &mut *self.bytes;
        put_length(bytes, 1, length);
        put_field(bytes, 1, self.key);
        self.key = &[];
        if cell.new_family {
            put_length(bytes, 2, field_len(family));
            put_field(bytes, 1, family);
        }
        if cell.new_column {
            put_length(bytes, 3, field_len(qualifier));
            put_field(bytes, 1, qualifier);
        }
        if micros != 0 {
            encode_key(4, WireType::Varint, bytes);
            encode_varint(micros, bytes);
        }
        put_field(bytes, 6, value);
        if commits {
            encode_key(9, WireType::Varint, bytes);
            bytes.push(1);
        }
    }
}

/// What so many bytes and their number take.
fn prefixed_len(bytes: usize) -> usize {
    encoded_len_varint(bytes as u64) + bytes
}

/// What a field takes, whose number is below 16.
fn field_len(bytes: &[u8]) -> usize {
    if bytes.is_empty() { 0 } else { 1 + prefixed_len(bytes.len()) }
}

fn put_length(out: &mut Vec<u8>, number: u32, length: usize) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

fn put_field(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        put_length(out, number, bytes.len());
        out.extend_from_slice(bytes);
    }
}
