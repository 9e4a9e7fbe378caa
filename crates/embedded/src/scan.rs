//! Scans: a stream of responses, each with the next rows in encoded form.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use keyderive_proto::RowsMessage;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::data::request_stats::StatsView;
use keyderive_proto::data::{
    FullReadStatsView, ReadIterationStats, ReadRowsResponse, RequestLatencyStats, RequestStats,
};
use keyderive_proto::values::{BytesValue, Duration, StringValue};
use prost::encoding::{self, WireType, encode_key, encode_varint, encoded_len_varint};
use tokio::task::{JoinHandle, coop};
use tonic::Status;

use crate::filter::{CellCounts, Filter, Passed};
use crate::gc::{self, GarbageFilter};
use crate::interval::Interval;
use crate::storage::{Cell, CellReader, CellRef, Cells, Definition, LARGE_BYTES, unreadable};
use crate::store::Store;
use crate::worker::blocking_threads;

/// The responses to a scan. Works only when polled, and owns at most a page of rows and a response.
pub(super) struct Scan {
    state: State,
    /// Whether the store may block on a disk, so that reads run on blocking threads.
    blocks: bool,
    /// Whether the client accepts the key of the last scanned row when no row passes the filter.
    reports_progress: bool,
    /// Since when the scan runs, if the client wants to know what it cost, until that is sent.
    measured_since: Option<Instant>,
    /// What the scan has cost, once it has ended.
    stats: ReadIterationStats,
}

enum State {
    Idle(Box<ScanReader>),
    Reading(JoinHandle<ReadOutcome>),
    /// After the last row or an error.
    Ended,
}

type ReadOutcome = (Box<ScanReader>, Result<Option<Progress>, Status>);

impl Scan {
    /// `intervals` must be disjoint and in order.
    pub(super) fn new(
        store: &Arc<Store>,
        table: String,
        intervals: Vec<Interval>,
        filter: Filter,
        limit: Option<u64>,
    ) -> Result<Self, Status> {
        let reader = ScanReader::new(store, table, intervals, filter, limit)?;
        Ok(Self {
            state: State::Idle(Box::new(reader)),
            blocks: store.blocks(),
            reports_progress: false,
            measured_since: None,
            stats: ReadIterationStats::default(),
        })
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

    /// Ends with a response that says what the scan has cost since `begun`.
    pub(super) fn measured(self, begun: Instant) -> Self {
        Self { measured_since: Some(begun), ..self }
    }

    /// The last response of a scan that is measured.
    fn take_stats(&mut self) -> Option<ReadRowsResponse> {
        let latency = self.measured_since.take()?.elapsed();
        let frontend_server_latency = Duration {
            seconds: i64::try_from(latency.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(latency.subsec_nanos()).unwrap_or(0),
        };
        let stats = FullReadStatsView {
            read_iteration_stats: Some(self.stats),
            request_latency_stats: Some(RequestLatencyStats {
                frontend_server_latency: Some(frontend_server_latency),
            }),
        };
        let request_stats = RequestStats { stats_view: Some(StatsView::FullReadStatsView(stats)) };
        Some(ReadRowsResponse { request_stats: Some(request_stats), ..Default::default() })
    }

    /// Reads the next response; `None` at the end of the scan.
    fn poll_progress(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Progress>, Status>> {
        loop {
            match mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Poll::Ready(Ok(None)),
                State::Idle(reader) if self.blocks || reader.next_is_slow => match blocking_threads() {
                    Some(runtime) => {
                        self.state = State::Reading(runtime.spawn_blocking(|| read(reader, false)));
                    }
                    None => return Poll::Ready(self.take(read(reader, false))),
                },
                State::Idle(reader) => {
                    let (reader, progress) = read(reader, true);
                    let is_slow = matches!(progress, Ok(Some(Progress::Nothing))) && reader.next_is_slow;
                    let progress = self.take((reader, progress));
                    if !is_slow {
                        return Poll::Ready(progress);
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
        self.stats = reader.stats;
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
        // A scan in memory is always ready; without tokio's budget it would not yield until its end.
        let budget = ready!(coop::poll_proceed(context));
        budget.made_progress();
        let scan = self.get_mut();
        match ready!(scan.poll_progress(context)) {
            Err(status) => {
                scan.measured_since = None;
                Poll::Ready(Some(Err(status)))
            }
            Ok(None) => Poll::Ready(scan.take_stats().map(|response| Ok(RowsMessage::from(&response)))),
            Ok(Some(Progress::Rows(response))) => Poll::Ready(Some(Ok(RowsMessage(response)))),
            Ok(Some(Progress::Scanned(key))) if scan.reports_progress => {
                let response = ReadRowsResponse { last_scanned_row_key: key, ..Default::default() };
                Poll::Ready(Some(Ok(RowsMessage::from(&response))))
            }
            Ok(Some(Progress::Scanned(_) | Progress::Nothing)) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// How many rows are scanned for the first response, and at most for a later one.
///
/// Few at first, since many scans end early; not too many, because a merge of buckets holds a response for each.
const FIRST_ROWS: usize = 32;
const MAX_ROWS: usize = 256;

/// A response is sent when it reaches this size.
const RESPONSE_BYTES: usize = 64 << 10;

/// A response scans at most this many bytes of rows, divided by the filter's work for a cell.
const SCANNED_BYTES: usize = 1 << 20;

/// The search of one interval counts as this many scanned bytes.
const INTERVAL_BYTES: usize = 256;

/// An estimate of a row's size in a response.
const ROW_BYTES: usize = 128;

/// The field number of `chunks` in `ReadRowsResponse`.
const CHUNKS_FIELD: u32 = 1;

/// Reads the rows of a scan, one response at a time.
struct ScanReader {
    store: Arc<Store>,
    table: String,
    /// The definition when the scan began.
    definition: Arc<Definition>,
    /// The time for garbage collection; `None` without GC rules, and while it is paused.
    gc_time: Option<i64>,
    /// The intervals left to read: disjoint, in reverse order.
    intervals: Vec<Interval>,
    filter: Filter,
    /// Whether the filter can read rows in place, cell by cell.
    is_cellwise: bool,
    /// Whether it only selects cells.
    is_selective: bool,
    /// The filter's work for a cell.
    work: usize,
    /// Whether the next row is too large to read on an async thread.
    next_is_slow: bool,
    counts: CellCounts,
    reversed: bool,
    /// How many rows may still be sent.
    limit: u64,
    /// How many rows to scan for the next response.
    rows: usize,
    /// The key of the last scanned row.
    scanned: Vec<u8>,
    /// The rest of a row that is too large for one response.
    pending: vec::IntoIter<CellChunk>,
    stats: ReadIterationStats,
}

/// The result of scanning some rows.
enum Progress {
    /// An encoded response.
    Rows(Bytes),
    /// The filter kept nothing of the rows up to this key.
    Scanned(Bytes),
    /// No row was scanned: the intervals searched were empty, or the next row [is slow](ScanReader::next_is_slow).
    Nothing,
}

/// Why a visit of an interval stopped.
enum Stop {
    /// The interval has no more rows.
    End,
    /// The response is full.
    Full,
    /// The next row must be read by itself.
    Next,
    /// The next row must be read by itself and is large: reading it is slow and may take several responses.
    Large,
    Damaged,
}

impl ScanReader {
    /// `intervals` must be disjoint and in order.
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
            gc_time: store.collects(&definition.families).then(|| store.now_micros()),
            definition,
            intervals,
            is_cellwise: filter.is_cellwise(),
            is_selective: filter.is_selective(),
            work: filter.work(),
            next_is_slow: false,
            filter,
            counts: CellCounts::default(),
            reversed: false,
            limit: limit.unwrap_or(u64::MAX),
            rows: FIRST_ROWS,
            scanned: Vec::new(),
            pending: Vec::new().into_iter(),
            stats: ReadIterationStats::default(),
        })
    }

    fn reverse(&mut self) {
        self.intervals.reverse();
        self.reversed = !self.reversed;
    }

    /// Reads the next response; `None` at the end of the scan. If `inline`, it stops before a slow row.
    fn next_response(&mut self, inline: bool) -> Result<Option<Progress>, Status> {
        self.next_is_slow = false;
        if !self.pending.as_slice().is_empty() {
            return Ok(Some(Progress::Rows(self.encode_pending())));
        }
        let mut rows = self.rows;
        self.rows = (2 * rows).min(MAX_ROWS);
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

    /// The size in bytes of the largest row that may be read inline.
    fn max_inline_bytes(&self) -> usize {
        LARGE_BYTES.min(SCANNED_BYTES / self.work)
    }

    /// Whether the interval has a next row, and whether it is large.
    fn peek_row(&self, interval: &Interval, bytes: &mut usize) -> Result<Stop, Status> {
        let mut stop = Stop::End;
        self.store.visit(&self.table, interval, self.reversed, &mut |_, cells| {
            stop = if cells.len() > self.max_inline_bytes() { Stop::Large } else { Stop::Next };
            *bytes = bytes.saturating_sub(cells.len());
            false
        })?;
        Ok(stop)
    }

    /// Removes the scanned rows from the current interval.
    fn skip_scanned(&mut self) {
        if let Some(interval) = self.intervals.last_mut() {
            interval.advance_past(&Bytes::copy_from_slice(&self.scanned), self.reversed);
        }
    }

    /// Writes at most `rows` rows of an interval to a response.
    fn read_in_place(
        &mut self,
        interval: &Interval,
        rows: &mut usize,
        bytes: &mut usize,
        response: &mut ResponseWriter,
    ) -> Result<Stop, Status> {
        let max_bytes = self.max_inline_bytes();
        let Self {
            store,
            table,
            definition,
            gc_time,
            filter,
            is_selective,
            counts,
            reversed,
            limit,
            scanned,
            stats,
            ..
        } = self;
        let mut gc_filter = gc_time.map(|now| GarbageFilter::new(&definition.families, Some(now)));
        let mut stop = Stop::Full;
        let mut visit = |key: &[u8], mut cells: CellReader<'_>| {
            if *rows == 0 || *limit == 0 || *bytes == 0 || response.len() >= RESPONSE_BYTES {
                return false;
            }
            if cells.len() > max_bytes {
                stop = Stop::Large;
                return false;
            }
            *rows -= 1;
            *bytes = bytes.saturating_sub(cells.len());
            scanned.clear();
            scanned.extend_from_slice(key);
            counts.next_row();
            stats.rows_seen_count += 1;
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
                counts.next_cell(&cell);
                stats.cells_seen_count += 1;
                row.next_cell(&cell);
                if gc_filter.as_mut().is_some_and(|gc_filter| !gc_filter.keeps(&cell)) {
                    continue;
                }
                if !*is_selective {
                    filter.pass(key, Passed { cell, label: None }, counts, &mut |passed, _| {
                        row.add_passed(passed);
                        stats.cells_returned_count += 1;
                    });
                } else if filter.keeps(key, &mut cell, counts) {
                    row.add(cell);
                    stats.cells_returned_count += 1;
                }
            }
            let is_returned = row.finish();
            *limit -= u64::from(is_returned);
            stats.rows_returned_count += i64::from(is_returned);
            true
        };
        let all = store.visit(table, interval, *reversed, &mut visit)?;
        Ok(if all { Stop::End } else { stop })
    }

    /// Adds the next row of the current interval to a response, or as much as fits. Returns whether there was a row.
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
        self.stats.rows_seen_count += 1;
        self.stats.cells_seen_count += count(cells.len());
        let cells = self.filter.apply(&key, self.without_garbage(cells))?;
        let is_returned = !cells.is_empty();
        self.limit -= u64::from(is_returned);
        self.stats.rows_returned_count += i64::from(is_returned);
        self.stats.cells_returned_count += count(cells.len());
        self.pending = chunks(key, cells).into_iter();
        response.extend(&self.encode_pending());
        Ok(true)
    }

    /// Encodes the next pending chunks.
    fn encode_pending(&mut self) -> Bytes {
        let mut bytes = Vec::new();
        while bytes.len() < RESPONSE_BYTES
            && let Some(chunk) = self.pending.next()
        {
            encoding::message::encode(CHUNKS_FIELD, &chunk, &mut bytes);
        }
        bytes.into()
    }

    fn without_garbage(&self, cells: Arc<Cells>) -> Cells {
        let mut cells = Arc::unwrap_or_clone(cells);
        if self.gc_time.is_some() {
            gc::collect(&mut cells, &self.definition.families, self.gc_time);
        }
        cells
    }
}

fn count(cells: usize) -> i64 {
    i64::try_from(cells).unwrap_or(i64::MAX)
}

/// The chunks of a row, one for each cell. The first has the key, the last commits the row, and a chunk names its column
/// if it differs from the chunk before.
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

/// Writes an encoded `ReadRowsResponse`.
struct ResponseWriter {
    bytes: Vec<u8>,
}

/// Writes a row cell by cell.
struct RowWriter<'w, 'c> {
    bytes: &'w mut Vec<u8>,
    /// The row's key, until it is written.
    key: &'w [u8],
    /// The cell added last. The next `add` or `finish` writes it: only these know whether it ends the row.
    last: Option<CellRef<'c>>,
    /// Its label.
    label: Option<&'c str>,
    /// Whether the family or column has changed since that cell.
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
        RowWriter {
            bytes: &mut self.bytes,
            key,
            last: None,
            label: None,
            new_family: false,
            new_column: false,
        }
    }
}

impl<'c> RowWriter<'_, 'c> {
    /// Must be called for each cell of the row, even if it is not added.
    #[inline]
    fn next_cell(&mut self, cell: &CellRef<'_>) {
        self.new_family |= cell.new_family;
        self.new_column |= cell.new_column;
    }

    /// Adds the cell of the last [`next_cell`](Self::next_cell), or another copy of it.
    #[inline]
    fn add(&mut self, cell: CellRef<'c>) {
        let Self { new_family, new_column, .. } = *self;
        (self.new_family, self.new_column) = (false, false);
        if let Some(last) = self.last.replace(CellRef { new_family, new_column, ..cell }) {
            self.write(&last, false);
        }
    }

    /// The same with the label, if a filter gave one.
    fn add_passed(&mut self, Passed { cell, label }: Passed<'c>) {
        self.add(cell);
        self.label = label;
    }

    /// Ends the row. Returns whether it has cells.
    fn finish(mut self) -> bool {
        let last = self.last.take();
        last.inspect(|last| self.write(last, true)).is_some()
    }

    /// Field numbers are those of `CellChunk` in `data.proto`. Family and qualifier are messages with one field; protobuf
    /// omits empty fields.
    fn write(&mut self, cell: &CellRef<'_>, commits: bool) {
        let CellRef { qualifier, timestamp_micros, value, .. } = *cell;
        let label = self.label.unwrap_or_default().as_bytes();
        let family = cell.family.as_bytes();
        let micros = timestamp_micros.cast_unsigned();
        let mut length = field_len(self.key) + field_len(label) + field_len(value);
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
        put_field(bytes, 5, label);
        put_field(bytes, 6, value);
        if commits {
            encode_key(9, WireType::Varint, bytes);
            bytes.push(1);
        }
    }
}

/// The size of bytes with their length prefix.
fn prefixed_len(bytes: usize) -> usize {
    encoded_len_varint(bytes as u64) + bytes
}

/// The size of a field whose number is below 16.
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
