//! From a serde value to the mutations that make a row equal to it.

mod cell;
mod json;
mod qualifier;

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::{Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use self::cell::CellSerializer;
use self::qualifier::QualifierSerializer;
use super::Mutation;
use super::error::{Fault, RowError};

/// The mutations that make the columns of `family` equal to `row`: deletes first, then one version of each
/// column that has a value.
///
/// A struct owns the columns that its fields name, and deletes those that are `None` or skipped; a map owns
/// the family. A value without columns sets the marker, an empty value under the empty qualifier, since a
/// row without a cell does not exist.
pub(crate) fn to_mutations<R: Serialize + ?Sized>(
    row: &R,
    family: &Arc<str>,
    timestamp_micros: i64,
) -> Result<Vec<Mutation>, RowError> {
    let mut columns = Columns { family, timestamp_micros, deletes: Vec::new(), sets: Vec::new() };
    row.serialize(RowSerializer { columns: &mut columns }).map_err(|fault| fault.in_family(family))?;
    Ok(columns.into_mutations())
}

/// The bytes of a value as a column; none for one that leaves its column away.
pub(super) fn to_value<V: Serialize + ?Sized>(value: &V) -> Result<Option<Bytes>, Fault> {
    value.serialize(CellSerializer)
}

/// Declares the methods of a `Serializer` that only refuse, each with what it refuses.
macro_rules! refuse {
    ($refusal:path; $($method:ident($($arg:ty),*) $(-> $compound:ident)? = $found:literal;)*) => {$(
        fn $method(self $(, _: $arg)*) -> refuse!(@result $($compound)?) {
            Err($refusal($found))
        }
    )*};
    (@result) => { Result<Self::Ok, Fault> };
    (@result $compound:ident) => { Result<Self::$compound, Fault> };
}
use refuse;

/// The changes to the columns of one family.
struct Columns<'a> {
    family: &'a Arc<str>,
    timestamp_micros: i64,
    deletes: Vec<Mutation>,
    sets: Vec<Mutation>,
}

impl Columns<'_> {
    fn set(&mut self, qualifier: Bytes, value: Bytes) {
        let (family, timestamp_micros) = (Arc::clone(self.family), self.timestamp_micros);
        self.sets.push(Mutation::set(family, qualifier, timestamp_micros, value));
    }

    fn delete(&mut self, qualifier: Bytes) {
        self.deletes.push(Mutation::delete_column(Arc::clone(self.family), qualifier));
    }

    fn delete_all(&mut self) {
        self.deletes.push(Mutation::delete_family(Arc::clone(self.family)));
    }

    fn into_mutations(mut self) -> Vec<Mutation> {
        if self.sets.is_empty() {
            self.set(Bytes::new(), Bytes::new());
        }
        if self.deletes.is_empty() {
            return self.sets;
        }
        self.deletes.append(&mut self.sets);
        self.deletes
    }
}

/// The value of one column; none where the column is absent.
fn cell_of<T: Serialize + ?Sized>(qualifier: &Bytes, value: &T) -> Result<Option<Bytes>, Fault> {
    if qualifier.is_empty() {
        return Err(Fault::unsupported(
            "has a column with an empty name; the empty qualifier marks a row without columns",
        ));
    }
    value.serialize(CellSerializer).map_err(|fault| fault.in_column(qualifier))
}

/// Takes the value that is the row.
struct RowSerializer<'c, 'a> {
    columns: &'c mut Columns<'a>,
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
    type SerializeMap = MapColumns<'c, 'a>;
    type SerializeStruct = StructColumns<'c, 'a>;
    type SerializeStructVariant = Impossible<(), Fault>;

    fn serialize_struct(self, _: &'static str, fields: usize) -> Result<StructColumns<'c, 'a>, Fault> {
        self.columns.sets.reserve(fields);
        Ok(StructColumns { columns: self.columns })
    }

    fn serialize_map(self, entries: Option<usize>) -> Result<MapColumns<'c, 'a>, Fault> {
        self.columns.delete_all();
        self.columns.sets.reserve(entries.unwrap_or(0));
        Ok(MapColumns { columns: self.columns, qualifier: Bytes::new() })
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
struct StructColumns<'c, 'a> {
    columns: &'c mut Columns<'a>,
}

impl SerializeStruct for StructColumns<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        let qualifier = Bytes::from_static(name.as_bytes());
        match cell_of(&qualifier, value)? {
            Some(value) => self.columns.set(qualifier, value),
            None => self.columns.delete(qualifier),
        }
        Ok(())
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), Fault> {
        self.columns.delete(Bytes::from_static(name.as_bytes()));
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Takes the entries of a row that is a map. The family is deleted first, so an absent value needs nothing.
struct MapColumns<'c, 'a> {
    columns: &'c mut Columns<'a>,
    /// The key whose value comes next.
    qualifier: Bytes,
}

impl SerializeMap for MapColumns<'_, '_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        self.qualifier = key.serialize(QualifierSerializer)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let qualifier = std::mem::take(&mut self.qualifier);
        if let Some(value) = cell_of(&qualifier, value)? {
            self.columns.set(qualifier, value);
        }
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}
