//! A table of rows with the same cells under given keys.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::data::row_range::{EndKey, StartKey};
use keyderive_proto::data::{ReadRowsRequest, ReadRowsResponse, RowRange};
use keyderive_proto::values::{BytesValue, StringValue};
use prost::Message as _;

use crate::server::{Answers, Script};

/// The family of all cells: the one that tables have unless told otherwise.
pub(crate) const FAMILY: &str = "cf";

/// A column and its value in every row.
pub type Cell = (Bytes, Bytes);

/// Answers any request by the rows of a table. Filters are taken for ones that let every cell pass.
#[derive(Debug)]
pub struct Table {
    keys: Arc<[Bytes]>,
    cells: Arc<[Cell]>,
    rows_a_message: usize,
}

impl Table {
    /// A table with these keys, each with these cells, sent so many rows in a message.
    #[must_use]
    pub fn new(mut keys: Vec<Bytes>, cells: Vec<Cell>, rows_a_message: usize) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { keys: keys.into(), cells: cells.into(), rows_a_message }
    }

    /// Where the rows of a range are.
    fn range(&self, range: &RowRange) -> Range<usize> {
        let before = |bound: &Bytes| self.keys.partition_point(|key| key < bound);
        let through = |bound: &Bytes| self.keys.partition_point(|key| key <= bound);
        let start = match &range.start_key {
            None => 0,
            Some(StartKey::StartKeyClosed(bound)) => before(bound),
            Some(StartKey::StartKeyOpen(bound)) => through(bound),
        };
        let end = match &range.end_key {
            None => self.keys.len(),
            Some(EndKey::EndKeyOpen(bound)) => before(bound),
            Some(EndKey::EndKeyClosed(bound)) => through(bound),
        };
        start..end
    }
}

impl Script for Table {
    fn answer(&self, request: ReadRowsRequest) -> Answers {
        let rows = request.rows.unwrap_or_default();
        let one = |key| self.keys.binary_search(key).ok().map(|at| at..at + 1);
        let mut found: Vec<_> = rows.row_keys.iter().filter_map(one).collect();
        found.extend(rows.row_ranges.iter().map(|range| self.range(range)));
        found.sort_unstable_by_key(|found| found.start);
        let found = found.into_iter().flatten();
        let found: Box<dyn Iterator<Item = usize> + Send> = match request.reversed {
            true => Box::new(found.rev()),
            false => Box::new(found),
        };
        let limit = usize::try_from(request.rows_limit).ok().filter(|limit| *limit > 0);
        let mut found = found.take(limit.unwrap_or(usize::MAX));
        let (keys, cells, rows) = (Arc::clone(&self.keys), Arc::clone(&self.cells), self.rows_a_message);
        Box::new(std::iter::from_fn(move || {
            let message = encode_rows(found.by_ref().take(rows).map(|at| (keys[at].clone(), &cells)));
            (!message.is_empty()).then_some(message)
        }))
    }
}

/// One message with these rows.
pub fn encode_rows<C: AsRef<[Cell]>>(rows: impl Iterator<Item = (Bytes, C)>) -> Bytes {
    let chunks = rows.flat_map(|(key, cells)| chunks(&key, cells.as_ref()));
    let message = ReadRowsResponse { chunks: chunks.collect(), last_scanned_row_key: Bytes::new() };
    message.encode_to_vec().into()
}

fn chunks(key: &Bytes, cells: &[Cell]) -> Vec<CellChunk> {
    let last = cells.len().saturating_sub(1);
    let chunk = |(at, (qualifier, value)): (usize, &Cell)| CellChunk {
        row_key: if at == 0 { key.clone() } else { Bytes::new() },
        family_name: (at == 0).then(|| StringValue { value: FAMILY.to_owned() }),
        qualifier: Some(BytesValue { value: qualifier.clone() }),
        timestamp_micros: 1_500_000_000_000_000,
        value: value.clone(),
        row_status: (at == last).then_some(RowStatus::CommitRow(true)),
        ..CellChunk::default()
    };
    cells.iter().enumerate().map(chunk).collect()
}
