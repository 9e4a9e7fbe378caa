//! Filters: what a read leaves of the cells of a row.

mod cellwise;
mod message;
mod pattern;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher as _, RandomState};
use std::ops::{Bound, RangeBounds};

use bytes::Bytes;
use tonic::Status;

pub(super) use self::cellwise::Counts;
use self::pattern::Pattern;
use super::mutate::in_table_order;
use crate::cell::Cell;

/// How many cells a filter may make of one row. A limit of this Bigtable alone: a small request for a large row could
/// otherwise ask for more memory than there is.
const MAX_CELLS: usize = 1 << 20;

/// A regular expression of so many bytes takes a cell twice as long as one of none.
const WORK_BYTES: usize = 16 << 10;

/// A filter that is known to make sense.
#[derive(Debug)]
pub(super) enum Filter {
    PassAll,
    BlockAll,
    Chain(Vec<Filter>),
    Interleave(Vec<Filter>),
    Condition(Box<Condition>),
    Sink,
    RowKey(Pattern),
    RowSample(Sample),
    Family(Pattern),
    Qualifier(Pattern),
    Columns(Columns),
    Timestamps(Timestamps),
    Value(Pattern),
    Values(Range),
    SkipCells(usize),
    CellsPerRow(usize),
    CellsPerColumn(usize),
    StripValue,
    Label(String),
}

/// One of two filters, by whether a third leaves any cell.
#[derive(Debug)]
pub(super) struct Condition {
    predicate: Filter,
    then: Filter,
    otherwise: Filter,
}

/// The columns of one family whose qualifier is in a range.
#[derive(Debug)]
pub(super) struct Columns {
    family: String,
    qualifiers: Range,
}

/// From `start`, inclusive, to `end`, exclusive, in microseconds.
#[derive(Debug)]
pub(super) struct Timestamps {
    start: i64,
    end: Option<i64>,
}

/// Byte strings between two bounds.
#[derive(Debug)]
pub(super) struct Range {
    start: Bound<Bytes>,
    end: Bound<Bytes>,
}

/// Takes a row by its key, at random from filter to filter and always alike in one.
#[derive(Debug)]
pub(super) struct Sample {
    /// How many of the 2^64 hashes are taken.
    taken: f64,
    hasher: RandomState,
}

impl Filter {
    /// What the filter leaves of a row's cells, in the table's order.
    pub(super) fn apply(&self, key: &Bytes, cells: Vec<Cell>) -> Result<Vec<Cell>, Status> {
        // Copies are counted for large rows alone, since most are small.
        if cells.len() > MAX_CELLS / message::MAX_COPIES {
            self.check_copies(key, cells.len())?;
        }
        let mut sunk = Vec::new();
        let mut left = self.run(key, cells, &mut sunk);
        if !sunk.is_empty() {
            left.append(&mut sunk);
            left.sort_by(in_table_order);
        }
        Ok(left)
    }

    fn check_copies(&self, key: &Bytes, cells: usize) -> Result<(), Status> {
        match self.copies() {
            copies if copies > 1 && cells.saturating_mul(copies) > MAX_CELLS => {
                Err(Status::invalid_argument(format!(
                    "the `interleave` filters can leave each of the {cells} cells of row {key:?} {copies} times, and \
                     {MAX_CELLS} cells is the most that they may make of a row"
                )))
            }
            _ => Ok(()),
        }
    }

    /// How often a cell can be among those that are left.
    fn copies(&self) -> usize {
        match self {
            Self::Chain(filters) => filters.iter().map(Self::copies).fold(1, usize::saturating_mul),
            Self::Interleave(filters) => filters.iter().map(Self::copies).fold(0, usize::saturating_add),
            Self::Condition(condition) => condition.then.copies().max(condition.otherwise.copies()),
            _ => 1,
        }
    }

    /// How long a cell takes it at most, where the filter that passes all takes 1.
    pub(super) fn work(&self) -> usize {
        let of_pattern = |pattern: &Pattern| 1 + pattern.compiled_bytes() / WORK_BYTES;
        match self {
            Self::Chain(filters) => {
                let (mut work, mut copies) = (0_usize, 1);
                for filter in filters {
                    work = work.saturating_add(filter.work().saturating_mul(copies));
                    copies = copies.saturating_mul(filter.copies());
                }
                work.max(1)
            }
            // Each copies what it is given, and all that is left is sorted.
            Self::Interleave(filters) => {
                filters.iter().map(|filter| filter.work().saturating_add(1)).fold(1, usize::saturating_add)
            }
            Self::Condition(condition) => {
                let Condition { predicate, then, otherwise } = &**condition;
                predicate.work().saturating_add(then.work().max(otherwise.work())).saturating_add(1)
            }
            Self::RowKey(pattern)
            | Self::Family(pattern)
            | Self::Qualifier(pattern)
            | Self::Value(pattern) => of_pattern(pattern),
            _ => 1,
        }
    }

    /// As `apply`, but for the cells that go into a sink.
    fn run(&self, key: &Bytes, mut cells: Vec<Cell>, sunk: &mut Vec<Cell>) -> Vec<Cell> {
        match self {
            Self::PassAll => return cells,
            Self::BlockAll => cells.clear(),
            Self::Chain(filters) => {
                return filters.iter().fold(cells, |cells, filter| filter.run(key, cells, sunk));
            }
            Self::Interleave(filters) => {
                let left = filters.iter().flat_map(|filter| filter.run(key, cells.clone(), sunk));
                let mut left: Vec<_> = left.collect();
                left.sort_by(in_table_order);
                return left;
            }
            Self::Condition(condition) => return condition.run(key, cells, sunk),
            Self::Sink => sunk.append(&mut cells),
            Self::RowKey(pattern) if pattern.matches(key) => {}
            Self::RowSample(sample) if sample.takes(key) => {}
            Self::RowKey(_) | Self::RowSample(_) => cells.clear(),
            Self::Family(pattern) => cells.retain(|cell| pattern.matches(cell.family.as_bytes())),
            Self::Qualifier(pattern) => cells.retain(|cell| pattern.matches(&cell.qualifier)),
            Self::Columns(columns) => cells.retain(|cell| columns.contains(&cell.family, &cell.qualifier)),
            Self::Timestamps(range) => cells.retain(|cell| range.contains(cell.timestamp_micros)),
            Self::Value(pattern) => cells.retain(|cell| pattern.matches(&cell.value)),
            Self::Values(range) => cells.retain(|cell| range.contains(&cell.value)),
            Self::SkipCells(skipped) => {
                cells.drain(..cells.len().min(*skipped));
            }
            Self::CellsPerRow(limit) => cells.truncate(*limit),
            Self::CellsPerColumn(limit) => return newest_of_each_column(cells, *limit),
            Self::StripValue => cells.iter_mut().for_each(|cell| cell.value = Bytes::new()),
            Self::Label(label) => cells.iter_mut().for_each(|cell| cell.labels = vec![label.clone()]),
        }
        cells
    }
}

impl Columns {
    fn contains(&self, family: &str, qualifier: &[u8]) -> bool {
        *self.family == *family && self.qualifiers.contains(qualifier)
    }
}

impl Timestamps {
    fn contains(&self, micros: i64) -> bool {
        micros >= self.start && self.end.is_none_or(|end| micros < end)
    }
}

impl Condition {
    fn run(&self, key: &Bytes, cells: Vec<Cell>, sunk: &mut Vec<Cell>) -> Vec<Cell> {
        let found = !self.predicate.run(key, cells.clone(), sunk).is_empty();
        if found { &self.then } else { &self.otherwise }.run(key, cells, sunk)
    }
}

impl Range {
    fn contains(&self, bytes: &[u8]) -> bool {
        let bounds = (self.start.as_ref().map(|start| &start[..]), self.end.as_ref().map(|end| &end[..]));
        RangeBounds::<[u8]>::contains(&bounds, bytes)
    }
}

impl Sample {
    #[expect(clippy::cast_precision_loss, reason = "a sample is not exact")]
    fn new(probability: f64) -> Self {
        Self { taken: probability * u64::MAX as f64, hasher: RandomState::new() }
    }

    #[expect(clippy::cast_precision_loss, reason = "a sample is not exact")]
    fn takes(&self, key: &[u8]) -> bool {
        (self.hasher.hash_one(key) as f64) < self.taken
    }
}

/// Relies on the order of cells: those of one column are together, newest first.
fn newest_of_each_column(cells: Vec<Cell>, limit: usize) -> Vec<Cell> {
    let mut kept: Vec<Cell> = Vec::with_capacity(cells.len());
    let mut versions = 0;
    for cell in cells {
        let same =
            kept.last().is_some_and(|last| last.family == cell.family && last.qualifier == cell.qualifier);
        versions = if same { versions + 1 } else { 1 };
        if versions <= limit {
            kept.push(cell);
        }
    }
    kept
}
