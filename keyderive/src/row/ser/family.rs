//! The columns of a field that is a family.

use bytes::Bytes;
use serde::ser::Serialize;

use super::changes::Changes;
use super::qualifier::{FieldNames, Names, QualifierSerializer};
use crate::row::error::Fault;

/// One family of a row, and whether it has a cell.
pub(super) struct Columns<'c, 'a> {
    changes: &'c mut Changes<'a>,
    family: &'c str,
    /// How many cells were set before it.
    before: usize,
}

impl<'c, 'a> Columns<'c, 'a> {
    pub(super) fn new(changes: &'c mut Changes<'a>, family: &'c str) -> Self {
        let before = changes.cells();
        Self { changes, family, before }
    }

    /// Marks a family without a column, which is not the same as an absent one.
    fn end(self) {
        if self.changes.cells() == self.before {
            self.changes.mark(self.family);
        }
    }
}

/// Takes the fields of a struct that is a family.
pub(super) struct FamilyStruct<'c, 'a> {
    columns: Columns<'c, 'a>,
    names: FieldNames,
}

impl<'c, 'a> FamilyStruct<'c, 'a> {
    pub(super) fn new(columns: Columns<'c, 'a>) -> Self {
        let names = FieldNames::of(columns.changes.to.shape);
        Self { columns, names }
    }
}

impl FamilyStruct<'_, '_> {
    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        let Columns { changes, family, .. } = &mut self.columns;
        self.names.add(name).map_err(|fault| fault.of_family(family))?;
        let stored =
            changes.stored(family, name.as_bytes(), value).map_err(|fault| fault.of_family(family))?;
        changes.write(family, name.as_bytes(), &stored);
        Ok(())
    }

    pub(super) fn skip(&mut self, name: &'static str) {
        let Columns { changes, family, .. } = &mut self.columns;
        changes.delete(family, name.as_bytes());
    }

    pub(super) fn end(self) {
        self.columns.end();
    }
}

/// Takes the entries of a map that is a family. The family is deleted first.
pub(super) struct FamilyMap<'c, 'a> {
    columns: Columns<'c, 'a>,
    /// The key whose value comes next.
    qualifier: Bytes,
    names: Names,
}

impl<'c, 'a> FamilyMap<'c, 'a> {
    pub(super) fn new(columns: Columns<'c, 'a>, names: Names) -> Self {
        columns.changes.delete_family(columns.family);
        Self { columns, qualifier: Bytes::new(), names }
    }
}

impl FamilyMap<'_, '_> {
    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        let key = key.serialize(QualifierSerializer).and_then(|key| self.names.add(key));
        self.qualifier = key.map_err(|fault| fault.of_family(self.columns.family))?;
        Ok(())
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let qualifier = std::mem::take(&mut self.qualifier);
        let Columns { changes, family, .. } = &mut self.columns;
        changes.entry(family, &qualifier, value).map_err(|fault| fault.of_family(family))
    }

    pub(super) fn end(self) {
        self.columns.end();
    }
}
