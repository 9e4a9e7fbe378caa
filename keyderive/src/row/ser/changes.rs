//! The changes to one row, as they are gathered.

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::Serialize;

use super::{Stored, ValueSerializer, Write, named, to_stored};
use crate::row::error::Fault;
use crate::row::shape::{Field, Kind, Shape};
use crate::row::{Mutation, untyped};

pub(super) struct Changes<'a> {
    pub(super) to: Write<'a>,
    deletes: Vec<Mutation>,
    sets: Vec<Mutation>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(to: Write<'a>) -> Self {
        Self { to, deletes: Vec::new(), sets: Vec::new() }
    }

    pub(super) fn reserve(&mut self, columns: usize) {
        self.sets.reserve(columns);
    }

    /// Makes a field of the row equal to `value`: a column of the row's own family, or a family.
    ///
    /// `qualifier` is its name once more, so that a static one is not copied.
    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        qualifier: Bytes,
        value: &T,
    ) -> Result<(), Fault> {
        named(&qualifier)?;
        let stored = value.serialize(ValueSerializer::field(self, name));
        let stored = stored.and_then(|stored| self.readable(name, value, stored));
        match stored.map_err(|fault| fault.in_column(&qualifier))? {
            Stored::Absent => self.absent(name, qualifier),
            Stored::Family => {}
            stored => self.write(self.to.family, &qualifier, stored),
        }
        Ok(())
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

    /// What a value is as this column, where the row type reads it back.
    pub(super) fn stored<T: Serialize + ?Sized>(
        &self,
        family: &Arc<str>,
        qualifier: &[u8],
        value: &T,
    ) -> Result<Stored, Fault> {
        named(qualifier)?;
        let other = (family != self.to.family).then_some(&**family);
        match to_stored(value) {
            Ok(stored) if !matches!(stored, Stored::Absent) && self.to.shape.is_untyped(other, qualifier) => {
                Err(Fault::untyped().in_column(qualifier))
            }
            stored => stored.map_err(|fault| fault.in_column(qualifier)),
        }
    }

    /// Deletes a field of the row, which is what its type says; a column, where it says nothing.
    pub(super) fn absent(&mut self, name: &str, qualifier: Bytes) {
        match self.to.shape.family(name.as_bytes()) {
            Some(Field { kind: Kind::Family { columns: Some(columns), .. }, .. }) => {
                let family = Arc::from(name);
                for column in columns {
                    self.delete(&family, Bytes::from_static(column.as_bytes()));
                }
                self.delete(&family, Bytes::new());
            }
            Some(_) => self.delete_family(&Arc::from(name)),
            None => self.delete(self.to.family, qualifier),
        }
    }

    /// Makes a column equal to what is to be stored there.
    pub(super) fn write(&mut self, family: &Arc<str>, qualifier: &Bytes, stored: Stored) {
        if !matches!(stored, Stored::Value(_)) {
            self.delete(family, qualifier.clone());
        }
        self.set(family, qualifier, stored);
    }

    /// Sets a column, without a word on what was there.
    pub(super) fn set(&mut self, family: &Arc<str>, qualifier: &Bytes, stored: Stored) {
        let mut set =
            |at, value| self.sets.push(Mutation::set(Arc::clone(family), qualifier.clone(), at, value));
        match stored {
            Stored::Absent | Stored::Family => {}
            Stored::Value(value) => set(self.to.timestamp_micros, value),
            Stored::Versions(versions) => versions.into_iter().for_each(|(at, value)| set(at, value)),
        }
    }

    /// Marks a row, or a family of it, that has no column.
    pub(super) fn mark(&mut self, family: &Arc<str>) {
        self.set(family, &Bytes::new(), Stored::Value(Bytes::new()));
    }

    pub(super) fn delete(&mut self, family: &Arc<str>, qualifier: Bytes) {
        if !self.to.merges {
            self.deletes.push(Mutation::delete_column(Arc::clone(family), qualifier));
        }
    }

    pub(super) fn delete_family(&mut self, family: &Arc<str>) {
        if !self.to.merges {
            self.deletes.push(Mutation::delete_family(Arc::clone(family)));
        }
    }

    /// How many cells are set.
    pub(super) fn cells(&self) -> usize {
        self.sets.len()
    }

    /// The changes of a whole row, which exists by one cell at least.
    pub(super) fn into_row(mut self) -> Vec<Mutation> {
        if self.sets.is_empty() {
            self.mark(self.to.family);
        }
        self.into_mutations()
    }

    pub(super) fn into_mutations(mut self) -> Vec<Mutation> {
        if self.deletes.is_empty() {
            return self.sets;
        }
        self.deletes.append(&mut self.sets);
        self.deletes
    }
}
