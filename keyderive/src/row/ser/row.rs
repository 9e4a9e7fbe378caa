//! The value that is the row.

use bytes::Bytes;
use serde::ser::{Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::changes::Changes;
use super::qualifier::{FieldNames, Names, QualifierSerializer};
use super::refuse;
use crate::row::error::Fault;

/// Takes the value that is the row.
pub(super) struct RowSerializer<'c, 'a> {
    pub(super) changes: &'c mut Changes<'a>,
}

fn not_a_row(found: &str) -> Fault {
    Fault::unsupported(format_args!(
        "is {found}; a row is a struct, a map with string keys, or `()` for a row without columns"
    ))
}

impl<'c, 'a> Serializer for RowSerializer<'c, 'a> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Impossible<(), Fault>;
    type SerializeTuple = Impossible<(), Fault>;
    type SerializeTupleStruct = Impossible<(), Fault>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = RowMap<'c, 'a>;
    type SerializeStruct = RowStruct<'c, 'a>;
    type SerializeStructVariant = Impossible<(), Fault>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<RowStruct<'c, 'a>, Fault> {
        let names = FieldNames::of(self.changes.to.shape);
        Ok(RowStruct { changes: self.changes, names })
    }

    /// A struct with a flattened field comes as a map that does not know its length, and its fields are fields; the
    /// entries of a map are columns.
    fn serialize_map(self, entries: Option<usize>) -> Result<RowMap<'c, 'a>, Fault> {
        self.changes.delete_family(self.changes.to.family);
        let names = Names::of_map(entries);
        Ok(RowMap { changes: self.changes, flattened: entries.is_none(), qualifier: Bytes::new(), names })
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, row: &T) -> Result<(), Fault> {
        row.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Fault> {
        Err(not_a_row("an `Option`"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        Err(not_a_row("an enum"))
    }

    refuse! { not_a_row;
        serialize_none() = "an `Option`";
        serialize_bool(bool) = "a `bool`";
        serialize_i8(i8) = "an `i8`";
        serialize_i16(i16) = "an `i16`";
        serialize_i32(i32) = "an `i32`";
        serialize_i64(i64) = "an `i64`";
        serialize_i128(i128) = "an `i128`";
        serialize_u8(u8) = "a `u8`";
        serialize_u16(u16) = "a `u16`";
        serialize_u32(u32) = "a `u32`";
        serialize_u64(u64) = "a `u64`";
        serialize_u128(u128) = "a `u128`";
        serialize_f32(f32) = "an `f32`";
        serialize_f64(f64) = "an `f64`";
        serialize_char(char) = "a `char`";
        serialize_str(&str) = "a string";
        serialize_bytes(&[u8]) = "bytes";
        serialize_unit_variant(&'static str, u32, &'static str) = "an enum";
        serialize_seq(Option<usize>) -> SerializeSeq = "a sequence";
        serialize_tuple(usize) -> SerializeTuple = "a tuple";
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct = "a tuple struct";
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant = "an enum";
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant = "an enum";
    }
}

/// Takes the fields of a row that is a struct.
pub(super) struct RowStruct<'c, 'a> {
    changes: &'c mut Changes<'a>,
    names: FieldNames,
}

impl SerializeStruct for RowStruct<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        self.names.add(name)?;
        self.changes.field(name, value).map(drop)
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), Fault> {
        self.names.add(name)?;
        self.changes.absent(name);
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        self.changes.to.shape.names_are_seen();
        Ok(())
    }
}

/// Takes the entries of a row that is a map. The family is deleted first.
pub(super) struct RowMap<'c, 'a> {
    changes: &'c mut Changes<'a>,
    flattened: bool,
    /// The key whose value comes next.
    qualifier: Bytes,
    names: Names,
}

impl SerializeMap for RowMap<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        self.qualifier = self.names.add(key.serialize(QualifierSerializer)?)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let qualifier = std::mem::take(&mut self.qualifier);
        if self.flattened
            && let Ok(name) = str::from_utf8(&qualifier)
        {
            return self.changes.field(name, value).map(drop);
        }
        self.changes.entry(self.changes.to.family, &qualifier, value)
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}
