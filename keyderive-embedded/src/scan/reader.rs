//! Reads the rows of a scan, a response at a time.

use std::mem;
use std::sync::Arc;
use std::vec;

use bytes::Bytes;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::values::{BytesValue, StringValue};
use prost::encoding;
use tonic::Status;

use super::writer::ResponseWriter;
use crate::cell::Cell;
use crate::filter::{Counts, Filter};
use crate::gc::{self, Sieve};
use crate::interval::Interval;
use crate::storage::{CellReader, Cells, Definition, LARGE_BYTES, unreadable};
use crate::store::Store;

/// How many rows are looked at for the first response, and for the largest.
///
/// Few at first, since many scans end early; not too many, because a merge of many buckets holds a response of each.
const FIRST_ROWS: usize = 32;
const MOST_ROWS: usize = 256;

/// A response is sent when it has come to this size.
const RESPONSE_BYTES: usize = 64 << 10;

/// How many bytes of rows are looked at for a response, for a filter that takes each cell as long as one that passes
/// all; and what looking for rows in an interval counts for.
const LOOKED_AT_BYTES: usize = 1 << 20;
const INTERVAL_BYTES: usize = 256;

/// What a row takes in a response, about, before any is known.
const ROW_BYTES: usize = 128;

/// The number of the chunks in a `ReadRowsResponse`.
const CHUNKS: u32 = 1;

/// What is still to be read of a table, and how.
pub(super) struct Reader {
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
    takes_long: bool,
    counts: Counts,
    reversed: bool,
    /// How many rows may still be sent.
    limit: u64,
    /// How many rows the next response may be of.
    rows: usize,
    /// How far the scan has come.
    scanned: Vec<u8>,
    /// What is still to be sent of a row that is too large for one response.
    rest: vec::IntoIter<CellChunk>,
}

/// What came of looking at some rows.
pub(super) enum Progress {
    /// An encoded response.
    Rows(Bytes),
    /// The filter left nothing of the rows up to this key.
    Scanned(Bytes),
    /// No row was looked at: there were none where it was looked for, or the next takes [long](Reader::takes_long).
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

impl Reader {
    /// Of `intervals` of a table, which are disjoint and in order.
    pub(super) fn new(
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
            garbage: (!gc::never(&definition.families)).then(|| store.now_micros()),
            definition,
            intervals,
            is_cellwise: filter.is_cellwise(),
            work: filter.work(),
            takes_long: false,
            filter,
            counts: Counts::default(),
            reversed: false,
            limit: limit.unwrap_or(u64::MAX),
            rows: FIRST_ROWS,
            scanned: Vec::new(),
            rest: Vec::new().into_iter(),
        })
    }

    pub(super) fn reverse(&mut self) {
        self.intervals.reverse();
        self.reversed = !self.reversed;
    }

    /// Whether what is read next takes so long that other tasks are not to wait for it.
    pub(super) fn takes_long(&self) -> bool {
        self.takes_long
    }

    /// The rows of the next response; none at the end of the scan. A row that takes long is not read where others wait.
    pub(super) fn next_response(&mut self, others_wait: bool) -> Result<Option<Progress>, Status> {
        self.takes_long = false;
        if !self.rest.as_slice().is_empty() {
            return Ok(Some(Progress::Rows(self.next_of_rest())));
        }
        let mut rows = self.rows;
        self.rows = (2 * rows).min(MOST_ROWS);
        let most_rows = usize::try_from(self.limit).map_or(rows, |limit| rows.min(limit));
        let mut response = ResponseWriter::with_capacity(ROW_BYTES * most_rows);
        let mut has_scanned = false;
        let mut bytes = (LOOKED_AT_BYTES / self.work).max(1);
        while rows > 0 && bytes > 0 && self.limit > 0 && response.len() < RESPONSE_BYTES {
            let Some(interval) = self.intervals.last().cloned() else { break };
            let before = rows;
            let stop = if self.is_cellwise {
                self.read_in_place(&interval, &mut rows, &mut bytes, &mut response)?
            } else if others_wait {
                self.look_at_next(&interval, &mut bytes)?
            } else {
                Stop::Next
            };
            has_scanned |= rows < before;
            match stop {
                Stop::End => drop(self.intervals.pop()),
                Stop::Full => self.go_on(),
                Stop::Next | Stop::Large => {
                    if rows < before {
                        self.go_on();
                    }
                    if others_wait && matches!(stop, Stop::Large) {
                        self.takes_long = true;
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
        LARGE_BYTES.min(LOOKED_AT_BYTES / self.work)
    }

    /// Whether there is a next row in an interval, and how large it is.
    fn look_at_next(&self, interval: &Interval, bytes: &mut usize) -> Result<Stop, Status> {
        let mut stop = Stop::End;
        self.store.visit(&self.table, interval, self.reversed, &mut |_, cells| {
            stop = if cells.len() > self.most_bytes() { Stop::Large } else { Stop::Next };
            *bytes = bytes.saturating_sub(cells.len());
            false
        })?;
        Ok(stop)
    }

    /// Leaves out of the present interval what has been scanned.
    fn go_on(&mut self) {
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
        let mut sieve = garbage.map(|now| Sieve::new(&definition.families, now));
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
                if sieve.as_mut().is_none_or(|sieve| sieve.keeps(&cell))
                    && filter.takes(key, &mut cell, counts)
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
            self.go_on();
        }
        let cells = self.filter.apply(&key, self.without_garbage(cells))?;
        self.limit -= u64::from(!cells.is_empty());
        self.rest = chunks(key, cells).into_iter();
        response.extend(&self.next_of_rest());
        Ok(true)
    }

    /// The next chunks of a large row, encoded.
    fn next_of_rest(&mut self) -> Bytes {
        let mut bytes = Vec::new();
        while bytes.len() < RESPONSE_BYTES
            && let Some(chunk) = self.rest.next()
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
