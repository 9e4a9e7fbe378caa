//! From the cells of a row to the fields of its type.

use super::raw::{CellSlice, RawCells};
use super::{RawCell, RawRow};

/// The cells of a row: the argument of [`Row::decode`](super::Row::decode).
#[derive(Clone, Copy)]
pub struct RowCells<'r> {
    cells: CellSlice<'r>,
    /// The family of a row that is a map.
    family: &'r str,
}

impl<'r> RowCells<'r> {
    #[inline]
    pub(crate) fn new(row: &'r RawRow, family: &'r str) -> Self {
        Self { cells: row.cell_slice(), family }
    }

    /// The cells, in the table's order: by family, then by qualifier, then newest first.
    #[must_use]
    pub fn iter(self) -> RawCells<'r> {
        self.cells.iter()
    }

    /// The family of the row's own columns, for a row type that is a map.
    pub(super) fn own_family(self) -> &'r str {
        self.family
    }

    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn all(self) -> CellSlice<'r> {
        self.cells
    }

    /// The cells of one family.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn of_family(self, family: &str) -> CellSlice<'r> {
        let is_of = |cell: &RawCell<'r>| super::is_same_name(cell.family_bytes(), family.as_bytes());
        let (first, last) = (self.cells.first(), self.cells.last());
        // Cells are in the order of their families, so that most rows need no search.
        match (first, last) {
            (Some(first), Some(last)) if is_of(&first) && (first.is_of_family_of(last) || is_of(&last)) => {
                self.cells
            }
            _ => self.cells.of(search(self.cells.row(), family)),
        }
    }

    /// The cells, family by family.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn runs(self) -> FamilyRuns<'r> {
        FamilyRuns { left: self.cells, start: 0 }
    }
}

/// Where the cells of a family are in a row. Arguments and result are in registers.
#[inline(never)]
fn search(row: &RawRow, family: &str) -> Slot {
    let is_of = |run: &FamilyRun<'_>| run.family() == family.as_bytes();
    RowCells::new(row, "").runs().find(is_of).map_or_else(Slot::default, FamilyRun::slot)
}

impl std::fmt::Debug for RowCells<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.iter().fmt(f)
    }
}

impl<'r> IntoIterator for RowCells<'r> {
    type Item = RawCell<'r>;
    type IntoIter = RawCells<'r>;

    fn into_iter(self) -> RawCells<'r> {
        self.iter()
    }
}

/// The families of a row, in their order.
#[doc(hidden)]
#[derive(Clone)]
pub struct FamilyRuns<'r> {
    left: CellSlice<'r>,
    start: u32,
}

/// The cells of one family of a row.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct FamilyRun<'r> {
    cells: CellSlice<'r>,
    /// The number of its first cell in the row.
    start: u32,
}

impl<'r> Iterator for FamilyRuns<'r> {
    type Item = FamilyRun<'r>;

    #[inline]
    fn next(&mut self) -> Option<FamilyRun<'r>> {
        let first = self.left.first()?;
        let (cells, left) = self.left.split_where(|cell| !cell.is_of_family_of(first));
        let run = FamilyRun { cells, start: self.start };
        self.left = left;
        self.start += cells.len();
        Some(run)
    }
}

impl<'r> FamilyRun<'r> {
    /// The family's name.
    #[inline]
    #[must_use]
    pub fn family(self) -> &'r [u8] {
        self.cells.first().map_or(&[], RawCell::family_bytes)
    }

    /// Where its cells are in the row.
    #[inline]
    #[must_use]
    pub fn slot(self) -> Slot {
        Slot { start: self.start, end: self.start + self.cells.len() }
    }

    /// The qualifiers with the numbers of their cells.
    #[inline]
    pub fn qualifiers(self) -> impl Iterator<Item = (u32, &'r [u8])> {
        self.cells.qualifiers_from(self.start)
    }
}

impl<'r> CellSlice<'r> {
    /// The qualifiers with the numbers of their cells.
    #[inline]
    pub fn qualifiers(self) -> impl Iterator<Item = (u32, &'r [u8])> {
        self.qualifiers_from(0)
    }

    #[inline]
    fn qualifiers_from(self, start: u32) -> impl Iterator<Item = (u32, &'r [u8])> {
        (start..).zip(self.iter().map(RawCell::qualifier))
    }

    /// The cells in a slot of these.
    #[inline]
    #[must_use]
    pub fn of(self, slot: Slot) -> Self {
        self.part(slot.start as usize..slot.end as usize)
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Where the cells of a column, or of a family, are in a row.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    start: u32,
    end: u32,
}

impl Slot {
    /// Whether it has no cell.
    pub(crate) fn is_empty(self) -> bool {
        self.end == 0
    }

    /// Takes the cell of this number. The cells of a column are side by side.
    #[inline(always)]
    pub fn take(&mut self, number: u32) {
        if self.end == 0 {
            self.start = number;
        }
        self.end = number + 1;
    }

    /// The other one if this is empty.
    #[inline]
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.end == 0 { other } else { self }
    }
}
