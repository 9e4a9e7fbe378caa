//! From the cells of a row to a serde value.

mod absent;
mod aliases;
mod cell;
mod family;
mod qualifier;
mod row;
mod untyped;

use serde::Deserialize;

use self::aliases::Aliases;
use self::row::RowDeserializer;
use self::untyped::Untyped;
use super::error::{Fault, RowError};
use super::shape::{Field, Options, Shape};
use super::{CellSlice, Column, RawCell, RawRow, Span, is_same_name};

/// Reads the columns of `family`, the newest version of each, and the families that the row type, which is of this
/// shape, has beside it.
///
/// The marker of a row without columns is not a column; columns that the value does not know are ignored.
pub(crate) fn from_row<'de, R: Deserialize<'de>>(
    row: &'de RawRow,
    family: &str,
    shape: &Shape,
) -> Result<R, RowError> {
    let has_families = shape.may_have_families();
    let cells = row.cell_slice();
    let own = own_family(cells, family);
    let source = Source { cells, family, own, shape, has_families, again: None };
    let untyped = Untyped::default();
    match R::deserialize(RowDeserializer { source: &source, untyped: &untyped }) {
        Ok(value) => Ok(value),
        Err(fault) => read_again(source, untyped, fault),
    }
}

/// Reads a row that could not be read, as long as there is another way to.
#[cold]
fn read_again<'de, R: Deserialize<'de>>(
    mut source: Source<'de, '_>,
    mut untyped: Untyped<'de>,
    mut fault: Fault,
) -> Result<R, RowError> {
    let family = source.family;
    loop {
        if fault.is_no_option() {
            // The row is read as another type than the table's, which has what is an option there as something else.
            source.again().keeps_defaults = true;
        } else if let Some(field) = source.missing_family(&fault) {
            // A family without a cell is absent, so that defaults hold; a field that takes no absence has it empty.
            source.again().empty.push(field.name);
        } else {
            match fault.duplicate() {
                Some((of, name)) if source.settle(of, name) => {}
                Some((of, _)) => {
                    let second = source.shape.place(of, source.last_named()).map(|(_, name)| name);
                    return Err(second.into_iter().fold(fault, Fault::under).in_family(family));
                }
                None => return Err(untyped.name(fault).in_family(family)),
            }
        }
        untyped = Untyped::default();
        match R::deserialize(RowDeserializer { source: &source, untyped: &untyped }) {
            Ok(value) => return Ok(value),
            Err(other) => fault = other,
        }
    }
}

/// What a row is read from.
struct Source<'de, 'f> {
    cells: CellSlice<'de>,
    family: &'f str,
    /// Where the first cell has the family's name, where all cells are of it.
    own: Option<Span>,
    shape: &'f Shape,
    /// Whether the row type has, or may have, families beside the row's own.
    has_families: bool,
    /// What makes it another source, where the row is read again.
    again: Option<Box<Again<'de>>>,
}

/// What reading a row has failed for, and need not fail for again.
#[derive(Default)]
struct Again<'de> {
    /// The families that are given although they have no cell.
    empty: Vec<&'static str>,
    /// None until a field has come a second time.
    aliases: Option<Aliases<'de>>,
    /// Whether the default of an absent field is left to serde.
    keeps_defaults: bool,
}

/// Where the first cell has the name of this family, where all cells are of it: they come in the order of their families.
#[inline(always)]
fn own_family(cells: CellSlice<'_>, family: &str) -> Option<Span> {
    let is_own = |cell: &RawCell<'_>| is_same_name(cell.family_bytes(), family.as_bytes());
    let (own, _) = cells.first().filter(is_own)?.column();
    let last = cells.iter().next_back()?;
    (last.column().0 == own || is_own(&last)).then_some(own)
}

impl<'de, 'f> Source<'de, 'f> {
    /// Whether there is a cell of another family than the row's own.
    #[inline]
    fn has_other_families(&self) -> bool {
        self.own.is_none() && self.cells.first().is_some()
    }

    /// Fails for a struct with a field that is a family of the row, where the table's row type has no such field: it would
    /// be empty.
    #[cold]
    fn check_families(&self, names: &'static [&'static str]) -> Result<(), Fault> {
        let Self { cells, family, shape, .. } = self;
        let is_lost = |name: &&&str| {
            shape.lacks(name)
                && name.as_bytes() != family.as_bytes()
                && cells.iter().any(|cell| cell.family_bytes() == name.as_bytes())
                && column(*cells, family, name).is_none()
        };
        names.iter().find(is_lost).map_or(Ok(()), |name| {
            let fault = Fault::unsupported(
                "has cells, but the table's row type has no field of this name, so the client cannot tell how to read the \
                 family; give the table a row type that has the field, with `table.rows_as::<…>()`",
            );
            Err(fault.of_family(name))
        })
    }

    fn again(&mut self) -> &mut Again<'de> {
        self.again.get_or_insert_default()
    }

    /// The families that are given although they have no cell.
    fn empty(&self) -> &[&'static str] {
        self.again.as_ref().map_or(&[], |again| &again.empty)
    }

    /// The fields of the row, or of a family, that are given as `None` where they are absent.
    #[inline]
    fn options(&self, family: Option<&str>) -> Option<&'f Options> {
        let keeps_defaults = self.again.as_ref().is_some_and(|again| again.keeps_defaults);
        self.shape.options(family).filter(|_| !keeps_defaults)
    }

    #[inline]
    fn aliases(&self) -> Option<&Aliases<'de>> {
        self.again.as_ref()?.aliases.as_ref()
    }

    /// The family that the value fails for want of, and could have without a cell.
    fn missing_family(&self, fault: &Fault) -> Option<&'f Field> {
        let field = self.shape.family(fault.missing_column()?)?;
        (!field.optional && !self.empty().contains(&field.name)).then_some(field)
    }
}

/// The column of this name.
fn column<'de>(cells: CellSlice<'de>, family: &str, qualifier: &str) -> Option<Column<'de>> {
    cells.columns().find(|column| {
        let newest = column.newest();
        newest.family_bytes() == family.as_bytes() && newest.qualifier() == qualifier.as_bytes()
    })
}
