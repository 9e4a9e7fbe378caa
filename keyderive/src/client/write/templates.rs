//! Cells as rows before have had them: encoded already, but for their values.
//!
//! Rows that are written one after the other have the same columns in the same order, and have the same time for a while.

use super::encode::{self, CellHead};

/// How many cells of a row are remembered.
const MOST: usize = 64;

/// What is known of the cells of a row, by their places in it.
#[derive(Clone, Debug, Default)]
pub(super) struct CellTemplates {
    cells: Vec<CellHead>,
    /// The place of the next cell.
    next: usize,
    /// Whether there have been rows before: of one row alone nothing is to be remembered.
    is_used_again: bool,
}

impl CellTemplates {
    /// Begins another row.
    pub(super) fn restart(&mut self) {
        self.next = 0;
        self.is_used_again = true;
    }

    /// Writes the mutation that sets the next cell of the row.
    #[inline]
    pub(super) fn set_cell(
        &mut self,
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        value: &[u8],
        out: &mut Vec<u8>,
    ) {
        let place = self.next;
        self.next += 1;
        if let Some(head) = self.cells.get(place)
            && head.is_of(family, qualifier, timestamp_micros)
            && head.takes(value)
        {
            return head.write(value, out);
        }
        if self.is_used_again && place < MOST {
            self.remember(place, family, qualifier, timestamp_micros);
        }
        encode::set_cell(family, qualifier, timestamp_micros, value, out);
    }

    #[inline(never)]
    fn remember(&mut self, place: usize, family: &str, qualifier: &[u8], timestamp_micros: i64) {
        if self.cells.len() <= place {
            self.cells.resize_with(place + 1, CellHead::default);
        }
        self.cells[place].set(family, qualifier, timestamp_micros);
    }
}
