//! The changes to one row, as a value is gone through.

use serde::ser::Serialize;

use super::{Stored, ValueSerializer, Write, named};
use crate::row::error::Fault;
use crate::row::shape::{Field, Kind, Shape};
use crate::row::{SERVER_TIME, Sink, untyped};

pub(super) struct Changes<'a> {
    pub(super) to: Write<'a>,
    sink: &'a mut dyn Sink,
    /// Whether a plain value is read back in whatever field it is.
    reads_all: bool,
    /// How many cells are set.
    cells: usize,
}

impl<'a> Changes<'a> {
    #[inline]
    pub(super) fn new(to: Write<'a>, sink: &'a mut dyn Sink) -> Self {
        Self { to, sink, reads_all: to.shape.reads_all(), cells: 0 }
    }

    /// Makes a field of the row equal to `value`: a column of the row's own family, or a family. Says which it is.
    pub(super) fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<Stored, Fault> {
        named(name.as_bytes())?;
        let stored = value.serialize(ValueSerializer::field(self, name));
        if self.reads_all && matches!(stored, Ok(Stored::Set)) {
            return stored;
        }
        let stored = stored.and_then(|stored| self.readable(name, value, stored));
        let stored = stored.map_err(|fault| fault.in_column(name.as_bytes()))?;
        match &stored {
            Stored::Absent => self.absent(name),
            stored => self.write(self.to.family, name.as_bytes(), stored),
        }
        Ok(stored)
    }

    /// What is stored of a field, where the row type reads it back.
    fn readable<T: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &T,
        stored: Stored,
    ) -> Result<Stored, Fault> {
        let shape = self.to.shape;
        match (&stored, shape) {
            (Stored::Absent, _) => {}
            (_, Shape::Flattened(flattened)) if flattened.is_untyped(name) => untyped::check(value)?,
            _ if shape.is_untyped(None, name.as_bytes()) => return Err(Fault::untyped()),
            (Stored::Family, _) if shape.is_column(name) => {
                return Err(Fault::unsupported(
                    "is written as a struct or a map, hence a column family, and read as a column; store it as JSON \
                     with `#[serde(with = \"keyderive::row::json\")]`",
                ));
            }
            _ => {}
        }
        Ok(stored)
    }

    /// What a value is as this column, where the row type reads it back. A plain value has been set then.
    pub(super) fn stored<T: Serialize + ?Sized>(
        &mut self,
        family: &str,
        qualifier: &[u8],
        value: &T,
    ) -> Result<Stored, Fault> {
        named(qualifier)?;
        let other = (family != self.to.family).then_some(family);
        match value.serialize(ValueSerializer::column(self, family, qualifier)) {
            Ok(Stored::Set) if self.reads_all => Ok(Stored::Set),
            Ok(stored) if !matches!(stored, Stored::Absent) && self.to.shape.is_untyped(other, qualifier) => {
                Err(Fault::untyped().in_column(qualifier))
            }
            stored => stored.map_err(|fault| fault.in_column(qualifier)),
        }
    }

    /// Sets a column to the value of a map's entry, of whose family nothing is left.
    pub(super) fn entry<T: Serialize + ?Sized>(
        &mut self,
        family: &str,
        qualifier: &[u8],
        value: &T,
    ) -> Result<(), Fault> {
        match self.stored(family, qualifier, value)? {
            Stored::Absent => Err(Fault::unsupported(
                "is an entry of a map with no value, a `None` or no versions, and would be read back without the entry; \
                 leave the entry out, or store its `None` by a type of its own, `struct \
                 Entry(#[serde(with = \"keyderive::row::json\")] Option<…>)`",
            )
            .in_column(qualifier)),
            stored => {
                self.set(family, qualifier, &stored);
                Ok(())
            }
        }
    }

    /// Deletes a field of the row, which is what its type says; a column, where it says nothing.
    pub(super) fn absent(&mut self, name: &str) {
        match self.to.shape.family(name.as_bytes()) {
            Some(Field { kind: Kind::Family { columns: Some(columns), .. }, .. }) => {
                for column in columns {
                    self.delete(name, column.as_bytes());
                }
                self.delete(name, b"");
            }
            Some(_) => self.delete_family(name),
            None => self.delete(self.to.family, name.as_bytes()),
        }
    }

    /// Makes a column equal to what is to be stored there.
    pub(super) fn write(&mut self, family: &str, qualifier: &[u8], stored: &Stored) {
        match stored {
            Stored::Absent | Stored::Versions(_) => self.delete(family, qualifier),
            Stored::Value(_) | Stored::Set | Stored::Family => {}
        }
        self.set(family, qualifier, stored);
    }

    /// Sets a column, unless it has been, without a word on what was there.
    pub(super) fn set(&mut self, family: &str, qualifier: &[u8], stored: &Stored) {
        match stored {
            Stored::Absent | Stored::Set | Stored::Family => {}
            Stored::Value(value) => self.set_value(family, qualifier, value),
            Stored::Versions(versions) => {
                self.cells += versions.0.len();
                for (at, value) in &versions.0 {
                    self.sink.set(family, qualifier, *at, value);
                }
            }
        }
    }

    /// Sets a column to a value at the server's time.
    #[inline]
    pub(super) fn set_value(&mut self, family: &str, qualifier: &[u8], value: &[u8]) {
        self.cells += 1;
        self.sink.set(family, qualifier, SERVER_TIME, value);
    }

    /// Marks a row, or a family of it, that has no column.
    pub(super) fn mark(&mut self, family: &str) {
        self.set_value(family, b"", b"");
    }

    pub(super) fn delete(&mut self, family: &str, qualifier: &[u8]) {
        if !self.to.merges {
            self.sink.delete_column(family, qualifier);
        }
    }

    pub(super) fn delete_family(&mut self, family: &str) {
        if !self.to.merges {
            self.sink.delete_family(family);
        }
    }

    /// How many cells are set.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// Ends a whole row, which exists by one cell at least.
    #[inline]
    pub(super) fn end_row(&mut self) {
        if self.cells == 0 {
            self.mark(self.to.family);
        }
    }
}
