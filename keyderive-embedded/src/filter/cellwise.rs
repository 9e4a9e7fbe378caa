//! Filters that see one cell at a time, where it lies: most of those that programs read by.

use super::Filter;
use crate::cell::CellRef;

/// What the filters of a chain have counted so far, in the order in which they come to a cell.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    counts: Vec<Count>,
    /// The numbers of the present row and column, among all that were seen.
    row: u64,
    column: u64,
    /// Which filter counts next.
    next: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// The row or column that is counted.
    of: u64,
    cells: usize,
}

impl Counts {
    /// The cells of another row follow.
    pub(crate) fn next_row(&mut self) {
        self.row += 1;
    }

    /// A cell of the present row follows, whether any filter comes to it or not.
    #[inline]
    pub(crate) fn see(&mut self, cell: &CellRef<'_>) {
        self.column += u64::from(cell.new_column);
    }

    fn cell_of_row(&mut self) -> usize {
        self.cell_of(self.row)
    }

    fn cell_of_column(&mut self) -> usize {
        self.cell_of(self.column)
    }

    /// How many cells the next filter has come to, this one too.
    fn cell_of(&mut self, row_or_column: u64) -> usize {
        if self.counts.len() == self.next {
            self.counts.push(Count::default());
        }
        let Some(count) = self.counts.get_mut(self.next) else { return 0 };
        self.next += 1;
        if count.of != row_or_column {
            *count = Count { of: row_or_column, cells: 0 };
        }
        count.cells += 1;
        count.cells
    }
}

impl Filter {
    /// Whether [`takes`](Self::takes) says what it leaves of a row.
    pub(crate) fn is_cellwise(&self) -> bool {
        match self {
            Self::Chain(filters) => filters.iter().all(Self::is_cellwise),
            Self::Interleave(_) | Self::Condition(_) | Self::Sink | Self::Label(_) => false,
            _ => true,
        }
    }

    /// Whether the next cell of a row is left, the value of which may be taken away.
    #[inline]
    pub(crate) fn takes(&self, key: &[u8], cell: &mut CellRef<'_>, counts: &mut Counts) -> bool {
        counts.next = 0;
        self.leaves(key, cell, counts)
    }

    fn leaves(&self, key: &[u8], cell: &mut CellRef<'_>, counts: &mut Counts) -> bool {
        match self {
            Self::PassAll => true,
            Self::Chain(filters) => filters.iter().all(|filter| filter.leaves(key, cell, counts)),
            Self::BlockAll | Self::Interleave(_) | Self::Condition(_) | Self::Sink | Self::Label(_) => false,
            Self::RowKey(pattern) => pattern.matches(key),
            Self::RowSample(sample) => sample.takes(key),
            Self::Family(pattern) => pattern.matches(cell.family.as_bytes()),
            Self::Qualifier(pattern) => pattern.matches(cell.qualifier),
            Self::Columns(columns) => columns.contains(cell.family, cell.qualifier),
            Self::Timestamps(range) => range.contains(cell.timestamp_micros),
            Self::Value(pattern) => pattern.matches(cell.value),
            Self::Values(range) => range.contains(cell.value),
            Self::SkipCells(skipped) => counts.cell_of_row() > *skipped,
            Self::CellsPerRow(limit) => counts.cell_of_row() <= *limit,
            Self::CellsPerColumn(limit) => counts.cell_of_column() <= *limit,
            Self::StripValue => {
                cell.value = &[];
                true
            }
        }
    }
}
