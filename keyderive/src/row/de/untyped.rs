//! Columns that are read before it is known as what: those of a flattened field.

use std::cell::RefCell;

use crate::row::RawCell;
use crate::row::error::Fault;

/// The columns that were read without a type.
///
/// Serde gathers them and gives them to the flattened field, which fails, where it does, without a word on the column.
/// The value that it fails for tells.
#[derive(Debug, Default)]
pub(super) struct Untyped<'de>(RefCell<Vec<RawCell<'de>>>);

impl<'de> Untyped<'de> {
    /// Notes a column.
    pub(super) fn read(&self, cell: RawCell<'de>) {
        self.0.borrow_mut().push(cell);
    }

    /// Says in a fault which column it is of, where it is of one of these.
    pub(super) fn name(&self, fault: Fault) -> Fault {
        let cells = self.0.borrow();
        match fault.untyped_value().and_then(|value| cells.iter().find(|cell| cell.value() == value)) {
            Some(cell) => fault.of_untyped(cell.family(), cell.qualifier()),
            None => fault,
        }
    }
}
