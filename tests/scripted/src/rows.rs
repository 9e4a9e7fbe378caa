//! Rows to answer with: chunk by chunk, or a whole table.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::data::row_range::{EndKey, StartKey};
use keyderive_proto::data::{ReadRowsResponse, RowRange};
use keyderive_proto::values::{BytesValue, StringValue};
use prost::Message as _;

use super::{Answer, Mock, Request, Rpc};

/// A chunk of a row. Fields that are not set are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk(CellChunk);

/// A committed row of one cell.
#[must_use]
pub fn row(key: impl Into<Bytes>) -> Chunk {
    cell(key).commit()
}

/// The first cell of a row, in the column `f:q`.
#[must_use]
pub fn cell(key: impl Into<Bytes>) -> Chunk {
    Chunk::new().key(key).family("f").qualifier("q").value("v")
}

impl Chunk {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.0.row_key = key.into();
        self
    }

    #[must_use]
    pub fn family(mut self, name: &str) -> Self {
        self.0.family_name = Some(StringValue { value: name.to_owned() });
        self
    }

    #[must_use]
    pub fn qualifier(mut self, qualifier: impl Into<Bytes>) -> Self {
        self.0.qualifier = Some(BytesValue { value: qualifier.into() });
        self
    }

    #[must_use]
    pub fn timestamp(mut self, micros: i64) -> Self {
        self.0.timestamp_micros = micros;
        self
    }

    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.0.labels.push(label.to_owned());
        self
    }

    #[must_use]
    pub fn value(mut self, value: impl Into<Bytes>) -> Self {
        self.0.value = value.into();
        self
    }

    /// Announces a value of `bytes` in total, whose rest follows in further chunks.
    #[must_use]
    pub fn of_size(mut self, bytes: i32) -> Self {
        self.0.value_size = bytes;
        self
    }

    #[must_use]
    pub fn commit(mut self) -> Self {
        self.0.row_status = Some(RowStatus::CommitRow(true));
        self
    }

    #[must_use]
    pub fn reset(mut self) -> Self {
        self.0.row_status = Some(RowStatus::ResetRow(true));
        self
    }
}

impl From<Chunk> for CellChunk {
    fn from(Chunk(chunk): Chunk) -> Self {
        chunk
    }
}

/// The family of all cells of a [`Table`].
pub const FAMILY: &str = "cf";

/// A column and its value in every row.
pub type Cell = (Bytes, Bytes);

/// A table whose rows all have the same cells. Filters are ignored.
#[derive(Debug)]
pub struct Table {
    keys: Arc<[Bytes]>,
    cells: Arc<[Cell]>,
    rows_per_message: usize,
}

impl Table {
    #[must_use]
    pub fn new(mut keys: Vec<Bytes>, cells: Vec<Cell>, rows_per_message: usize) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { keys: keys.into(), cells: cells.into(), rows_per_message }
    }

    /// A server of this table. It samples no row keys.
    #[must_use]
    pub fn serve(self) -> Mock {
        let rule = move |request: &Request| match request.rpc {
            Rpc::ReadRows => self.answer(request),
            _ => Answer::new(),
        };
        Mock::new().by(rule).admin_by(|_| Answer::table([FAMILY]))
    }

    /// The rows that a `ReadRows` request asks for.
    #[must_use]
    pub fn answer(&self, request: &Request) -> Answer {
        let request = request.read_rows();
        let rows = request.rows.unwrap_or_default();
        let one = |key| self.keys.binary_search(key).ok().map(|at| at..at + 1);
        let mut found: Vec<_> = rows.row_keys.iter().filter_map(one).collect();
        found.extend(rows.row_ranges.iter().map(|range| self.range(range)));
        found.sort_unstable_by_key(|found| found.start);
        let mut found: Vec<usize> = found.into_iter().flatten().collect();
        if request.reversed {
            found.reverse();
        }
        if let Some(limit) = usize::try_from(request.rows_limit).ok().filter(|limit| *limit > 0) {
            found.truncate(limit);
        }
        let (keys, cells, step) = (Arc::clone(&self.keys), Arc::clone(&self.cells), self.rows_per_message);
        Answer::stream((0..found.len()).step_by(step).map(move |first| {
            let rows = found[first..].iter().take(step);
            encode_rows(rows.map(|at| (keys[*at].clone(), &cells)))
        }))
    }

    /// The indices of a range's rows.
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

/// Encodes rows as one `ReadRowsResponse`.
pub fn encode_rows<C: AsRef<[Cell]>>(rows: impl Iterator<Item = (Bytes, C)>) -> Bytes {
    let chunks = rows.flat_map(|(key, cells)| chunks(&key, cells.as_ref()));
    let message = ReadRowsResponse { chunks: chunks.collect(), ..Default::default() };
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
