//! Load by time and range of keys, in bounded memory.
//!
//! The rows of the grid are the ranges between boundary keys. A row with a large share of all operations is split, and cold neighbours are
//! merged. Counts from before a split cannot be divided, so each boundary records for which time the ranges beside it are known only
//! together: for that time they are read as one range, which is never calmer than either.

mod builder;
mod data;
mod merge;

use std::time::Duration;

pub use self::builder::GridBuilder;
pub use self::merge::MergeError;
use crate::plan::KeyRange;

/// The least number of operations for a share.
const LEAST_OPERATIONS: u64 = 100;

/// A kind of operation on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

impl Access {
    /// The measure that counts it.
    pub(super) const fn measure(self) -> Measure {
        match self {
            Self::Read => Measure::Reads,
            Self::Write => Measure::Writes,
        }
    }
}

/// What a [`Grid`] can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Writes.
    Writes,
    /// Reads.
    Reads,
    /// Bytes that are read and written.
    Bytes,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Writes, Self::Reads, Self::Bytes];

    pub(super) const fn at(self) -> usize {
        match self {
            Self::Writes => 0,
            Self::Reads => 1,
            Self::Bytes => 2,
        }
    }

    /// As a plural: `writes`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Bytes => "bytes",
        }
    }
}

/// The load of a cell of a [`Grid`]: of a range of keys, or of the whole table, in a column of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CellLoad {
    /// All operations or bytes, exactly.
    pub sum: u64,
    /// An upper bound for the busiest slot of the column.
    pub peak: u64,
    /// By how much `peak` may be too high: the busiest slot has at least `peak - error`.
    pub error: u64,
}

/// A cell: the sum, and the bounds of the busiest slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::heat) struct Cell {
    sums: [u64; 3],
    /// A lower bound of the busiest slot.
    peaks: [u64; 3],
    /// How much more the busiest slot may have.
    slacks: [u64; 3],
}

impl Cell {
    fn is_empty(&self) -> bool {
        self.sums == [0; 3]
    }

    fn most(&self, at: usize) -> u64 {
        self.peaks[at].saturating_add(self.slacks[at]).min(self.sums[at])
    }

    /// Limits the peak to the sum.
    fn tidy(&self) -> Self {
        let slacks = [0, 1, 2].map(|at| self.most(at) - self.peaks[at]);
        Self { slacks, ..*self }
    }

    /// Adds the cell of another range in the same time, of this many slots.
    fn beside(&self, other: &Self, slots: u64) -> Self {
        let mut cell = Self::default();
        for at in 0..3 {
            let sum = self.sums[at].saturating_add(other.sums[at]);
            // Two ranges may be busiest in different slots; but in some slot both have the mean at least.
            let least = self.peaks[at].max(other.peaks[at]).max(sum.div_ceil(slots)).min(sum);
            let most = self.most(at).saturating_add(other.most(at)).clamp(least, sum);
            cell.sums[at] = sum;
            cell.peaks[at] = least;
            cell.slacks[at] = most - least;
        }
        cell
    }

    /// Tightens the bounds by the table's total in the same time: its peak is at least this one's, and what is not in other ranges is in
    /// this one.
    fn within(&self, whole: &Self) -> Self {
        let mut cell = *self;
        for at in 0..3 {
            let elsewhere = whole.sums[at].saturating_sub(self.sums[at]);
            let most = self.most(at).min(whole.most(at));
            cell.peaks[at] = self.peaks[at].max(whole.peaks[at].saturating_sub(elsewhere)).min(most);
            cell.slacks[at] = most - cell.peaks[at];
        }
        cell
    }

    /// Adds the cell of the same range in other slots.
    fn after(&self, other: &Self) -> Self {
        let mut cell = Self::default();
        for at in 0..3 {
            cell.sums[at] = self.sums[at].saturating_add(other.sums[at]);
            cell.peaks[at] = self.peaks[at].max(other.peaks[at]);
            cell.slacks[at] = self.most(at).max(other.most(at)) - cell.peaks[at];
        }
        cell
    }

    pub(in crate::heat) fn load(&self, measure: Measure) -> CellLoad {
        let at = measure.at();
        CellLoad { sum: self.sums[at], peak: self.most(at), error: self.most(at) - self.peaks[at] }
    }
}

/// Adds each cell of a range to another range's cell in the same column.
fn add_beside(cells: &mut Vec<Cell>, others: &[Cell], slots: u64) {
    if cells.len() < others.len() {
        cells.resize(others.len(), Cell::default());
    }
    for (cell, other) in cells.iter_mut().zip(others).filter(|(_, other)| !other.is_empty()) {
        *cell = if cell.is_empty() { *other } else { cell.beside(other, slots) };
    }
}

/// Makes columns of twice the width; the first of these is at `first`.
fn widen(cells: &[Cell], first: i64) -> Vec<Cell> {
    let mut wide: Vec<Cell> = Vec::with_capacity(cells.len() / 2 + 1);
    for (at, cell) in (first..).zip(cells) {
        match wide.last_mut() {
            Some(last) if at.rem_euclid(2) == 1 => *last = last.after(cell),
            _ => wide.push(*cell),
        }
    }
    wide
}

/// The time in which both sides of a boundary were counted together, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blur {
    from: i64,
    until: i64,
}

impl Blur {
    fn hull(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), until: self.until.max(other.until) }
    }
}

/// How many rows and columns a grid has at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    columns: usize,
    rows: usize,
}

impl Limits {
    const LEAST: usize = 16;
    const MOST: usize = 4096;
}

/// A range of keys: its first key, and its cells from the grid's first column on.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    start: Vec<u8>,
    blur: Option<Blur>,
    cells: Vec<Cell>,
}

/// Reads and writes by time and range of keys, in bounded memory: the numbers of columns (of time) and rows (of keys) are limited.
///
/// ```
/// use std::time::Duration;
/// use keyderive::heat::{Access, GridBuilder, Measure};
///
/// let mut builder = GridBuilder::new();
/// for second in 0..3600 {
///     builder.record(second * 1000, format!("user{:03}", second % 100).as_bytes(), Access::Write, 200);
///     builder.record(second * 1000, b"user042", Access::Write, 200);
/// }
/// let grid = builder.grid();
/// assert_eq!(grid.total(Measure::Writes), 7200);
///
/// let busiest = grid.busiest(Measure::Writes).unwrap();
/// assert!(busiest.range.contains(b"user042"));
/// assert!((2 - busiest.load.error..=2).contains(&busiest.load.peak)); // in a second
/// assert_eq!(grid.column_width(), Duration::from_secs(8));
/// ```
///
/// # What it promises
/// - The sum of a range is exact: each cell has every operation on its range in its time, and nothing else. Where two ranges are known only
///   together, [`loads`](Self::loads) has their common sum for both.
/// - The peak of a cell is the count of its busiest *slot*, a second by default. It is never too low, and too high by at most its
///   [`error`](CellLoad::error). A column as wide as a slot has no error. Errors arise when ranges or processes with wide columns are merged,
///   when ranges are split, and when events are 16 or more slots late.
/// - So merging never makes a range look calmer than it was.
///
/// # As data
/// The serialized form has a field `version`, which is 1. Deserializing checks all of it: malformed data is an error, never a panic.
///
/// # Limits
/// Times are milliseconds since 1970, and may be negative. A single event far from the others makes all columns wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// In milliseconds.
    slot: i64,
    /// In milliseconds: the slot times a power of two.
    width: i64,
    /// The index of the first column: its time divided by the width.
    first: i64,
    limits: Limits,
    /// The whole table.
    all: Vec<Cell>,
    /// In the order of keys. The first begins before every key.
    rows: Vec<Row>,
}

/// The busiest range of a [`Grid`] and its time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BusiestRange {
    /// The keys.
    pub range: KeyRange,
    /// The row of the grid, or the first of several that are known only together.
    pub row: usize,
    /// The column of the grid.
    pub column: usize,
    /// The time at which the column begins, in milliseconds since 1970.
    pub time: i64,
    /// Its load.
    pub load: CellLoad,
}

impl Grid {
    /// How many columns of time there are.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.all.len()
    }

    /// How many ranges of keys there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The keys of a range, from the least to the greatest.
    ///
    /// # Panics
    /// If there are fewer rows.
    #[must_use]
    pub fn range(&self, row: usize) -> KeyRange {
        let end = self.rows.get(row + 1).map(|row| row.start.clone());
        KeyRange::new(self.rows[row].start.clone(), end)
    }

    /// The time at which a column begins, in milliseconds since 1970.
    #[must_use]
    pub fn time(&self, column: usize) -> i64 {
        let at = i128::from(self.first) + column as i128;
        i64::try_from(at * i128::from(self.width)).unwrap_or(if at < 0 { i64::MIN } else { i64::MAX })
    }

    /// The time that a column covers.
    #[must_use]
    pub fn column_width(&self) -> Duration {
        Duration::from_millis(self.width.unsigned_abs())
    }

    /// The time that a slot covers, the unit of peaks.
    #[must_use]
    pub fn slot(&self) -> Duration {
        Duration::from_millis(self.slot.unsigned_abs())
    }

    fn slots(&self) -> u64 {
        (self.width / self.slot).unsigned_abs().max(1)
    }

    /// All operations or bytes.
    #[must_use]
    pub fn total(&self, measure: Measure) -> u64 {
        self.all.iter().fold(0, |sum: u64, cell| sum.saturating_add(cell.sums[measure.at()]))
    }

    /// The load of the whole table in a column.
    #[must_use]
    pub fn whole(&self, column: usize, measure: Measure) -> CellLoad {
        self.all.get(column).copied().unwrap_or_default().load(measure)
    }

    /// The load of each range in a column, by row. Ranges that are known only together each have their common load.
    #[must_use]
    pub fn loads(&self, column: usize, measure: Measure) -> Vec<CellLoad> {
        let mut loads = Vec::with_capacity(self.rows.len());
        for (rows, cell) in self.groups(column) {
            loads.extend(rows.map(|_| cell.load(measure)));
        }
        loads
    }

    /// The ranges that are known by themselves in a column, each of one row or several.
    pub(in crate::heat) fn groups(
        &self,
        column: usize,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, Cell)> {
        let from = i128::from(self.time(column));
        let until = from + i128::from(self.width);
        let is_blurred = move |row: &Row| {
            row.blur.is_some_and(|blur| i128::from(blur.from) < until && i128::from(blur.until) > from)
        };
        let slots = self.slots();
        let mut next = 0;
        std::iter::from_fn(move || {
            let start = next;
            let mut cell = *self.rows.get(start)?.cells.get(column).unwrap_or(&Cell::default());
            next += 1;
            while let Some(row) = self.rows.get(next).filter(|row| is_blurred(row)) {
                if let Some(other) = row.cells.get(column).filter(|other| !other.is_empty()) {
                    cell = if cell.is_empty() { *other } else { cell.beside(other, slots) };
                }
                next += 1;
            }
            Some((start..next, cell.within(self.all.get(column).unwrap_or(&Cell::default()))))
        })
    }

    /// The cell with the greatest peak.
    #[must_use]
    pub fn busiest(&self, measure: Measure) -> Option<BusiestRange> {
        let mut busiest: Option<(std::ops::Range<usize>, usize, CellLoad)> = None;
        for column in 0..self.columns() {
            for (rows, cell) in self.groups(column) {
                let load = cell.load(measure);
                let most = busiest.as_ref().map_or(0, |(_, _, most)| most.peak);
                if load.peak > most {
                    busiest = Some((rows, column, load));
                }
            }
        }
        let (rows, column, load) = busiest?;
        let range = KeyRange::new(
            self.rows[rows.start].start.clone(),
            self.rows.get(rows.end).map(|row| row.start.clone()),
        );
        Some(BusiestRange { range, row: rows.start, column, time: self.time(column), load })
    }

    /// The share of the busiest range of keys in the last whole slot before a time, in milliseconds since 1970; `None` if the slot has
    /// fewer than 100 operations, or columns are wider than a slot.
    ///
    /// ```
    /// use keyderive::heat::{Access, GridBuilder, Measure};
    ///
    /// let mut builder = GridBuilder::new();
    /// for number in 0..200_u32 {
    ///     let key = if number % 2 == 0 { 42 } else { number };
    ///     builder.record(5_000, format!("{key:04}").as_bytes(), Access::Write, 8);
    /// }
    /// assert!(builder.grid().busiest_share(Measure::Writes, 6_000).is_some_and(|share| share >= 0.5));
    /// assert!(builder.grid().busiest_share(Measure::Writes, 7_000).is_none());
    /// ```
    ///
    /// A busy range is split until it is calm or cannot be split. So the share is small if the load is spread; a large one
    /// belongs to a single row, or to the end at which the table grows.
    #[must_use]
    pub fn busiest_share(&self, measure: Measure, before: i64) -> Option<f64> {
        let slot = before.div_euclid(self.slot).saturating_sub(1);
        let column = usize::try_from(slot.checked_sub(self.first)?).ok()?;
        let all = self.all.get(column).filter(|_| self.width == self.slot)?.sums[measure.at()];
        let most = self.groups(column).map(|(_, cell)| cell.sums[measure.at()]).max()?;
        (all >= LEAST_OPERATIONS).then(|| most as f64 / all as f64)
    }

    /// The greatest [`error`](CellLoad::error) of all cells: no peak is too high by more, and none is too low.
    #[must_use]
    pub fn error(&self, measure: Measure) -> u64 {
        let of = |column| self.groups(column).map(|(_, cell)| cell.load(measure).error).max().unwrap_or(0);
        (0..self.columns()).map(of).max().unwrap_or(0)
    }

    /// Lower and upper bounds of a range's operations or bytes; they are equal if it begins and ends at boundaries of the grid.
    #[must_use]
    pub fn between(&self, range: &KeyRange, measure: Measure) -> (u64, u64) {
        let (mut least, mut most) = (0_u64, 0_u64);
        for column in 0..self.columns() {
            for (rows, cell) in self.groups(column) {
                let end = self.rows.get(rows.end).map(|row| row.start.clone());
                let group = KeyRange::new(self.rows[rows.start].start.clone(), end);
                let sum = cell.sums[measure.at()];
                if group.intersection(range) == group {
                    least = least.saturating_add(sum);
                }
                if !group.intersection(range).is_empty() {
                    most = most.saturating_add(sum);
                }
            }
        }
        (least, most)
    }

    /// The grid with at most this many columns and ranges.
    pub(in crate::heat) fn folded(&self, columns: usize, rows: usize) -> Self {
        let mut folded = self.clone();
        while folded.all.len() > columns.max(1) {
            folded.widen();
        }
        let step = folded.rows.len().div_ceil(rows.max(1));
        folded.keep(&folded.rows.iter().step_by(step).map(|row| row.start.clone()).collect());
        folded
    }

    fn widen(&mut self) {
        self.all = widen(&self.all, self.first);
        for row in &mut self.rows {
            row.cells = widen(&row.cells, self.first);
        }
        self.first = self.first.div_euclid(2);
        self.width = self.width.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests;
