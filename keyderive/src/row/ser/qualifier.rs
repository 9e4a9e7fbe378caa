//! From a map's key to a column qualifier.

use std::collections::HashSet;

use bytes::Bytes;
use serde::ser::{Impossible, Serialize, Serializer};

use super::refuse;
use crate::row::error::Fault;
use crate::row::shape::Shape;

/// Takes the key of one entry of a map.
pub(super) struct QualifierSerializer;

fn not_a_name(found: &str) -> Fault {
    Fault::unsupported(format_args!(
        "is a map whose key is {found}; keys are column names: strings, enums without data, and what serde writes as a \
         string; write a number as text, as `format!(\"{{number:010}}\")` which keeps the order"
    ))
}

/// The names of the fields of a struct, where they are to be told apart.
pub(super) struct FieldNames(Option<Vec<&'static str>>);

impl FieldNames {
    #[inline]
    pub(super) fn of(shape: &Shape) -> Self {
        Self(shape.awaits_names().then(Vec::new))
    }

    /// Fails for a name that is there already.
    #[inline]
    pub(super) fn add(&mut self, name: &'static str) -> Result<(), Fault> {
        match &mut self.0 {
            None => Ok(()),
            Some(names) => Self::add_to(names, name),
        }
    }

    fn add_to(names: &mut Vec<&'static str>, name: &'static str) -> Result<(), Fault> {
        if names.contains(&name) {
            let fault = Fault::unsupported(
                "comes twice: two fields have this name, by `#[serde(rename)]`, and a column holds one value; give each \
                 field a name of its own",
            );
            return Err(fault.in_column(name.as_bytes()));
        }
        names.push(name);
        Ok(())
    }
}

/// The names in a struct with a flattened field, which has those of the field too.
pub(super) struct Names(Option<HashSet<Bytes>>);

impl Names {
    /// Those of a map with so many entries. A struct with a flattened field does not say how many; a map's are distinct.
    pub(super) fn of_map(entries: Option<usize>) -> Self {
        Self(entries.is_none().then(HashSet::new))
    }

    /// The name, unless it is there already.
    pub(super) fn add(&mut self, name: Bytes) -> Result<Bytes, Fault> {
        if self.0.as_mut().is_none_or(|names| names.insert(name.clone())) {
            return Ok(name);
        }
        let fault = Fault::unsupported(
            "comes twice: a flattened map has an entry, or a flattened struct a field, with the name of another field, \
             and a column holds one value; give the field another name with `#[serde(rename = \"…\")]`, or leave the \
             entry out",
        );
        Err(fault.in_column(&name))
    }
}

impl Serializer for QualifierSerializer {
    type Ok = Bytes;
    type Error = Fault;
    type SerializeSeq = Impossible<Bytes, Fault>;
    type SerializeTuple = Impossible<Bytes, Fault>;
    type SerializeTupleStruct = Impossible<Bytes, Fault>;
    type SerializeTupleVariant = Impossible<Bytes, Fault>;
    type SerializeMap = Impossible<Bytes, Fault>;
    type SerializeStruct = Impossible<Bytes, Fault>;
    type SerializeStructVariant = Impossible<Bytes, Fault>;

    fn serialize_str(self, name: &str) -> Result<Bytes, Fault> {
        Ok(Bytes::copy_from_slice(name.as_bytes()))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Bytes, Fault> {
        Ok(Bytes::from_static(variant.as_bytes()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        key: &T,
    ) -> Result<Bytes, Fault> {
        key.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<Bytes, Fault> {
        Err(not_a_name("an `Option`"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Bytes, Fault> {
        Err(not_a_name("an enum variant with data"))
    }

    refuse! { not_a_name;
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
        serialize_bytes(&[u8]) = "bytes";
        serialize_unit() = "`()`";
        serialize_unit_struct(&'static str) = "a unit struct";
        serialize_seq(Option<usize>) -> SerializeSeq = "a sequence";
        serialize_tuple(usize) -> SerializeTuple = "a tuple";
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct = "a tuple struct";
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant
            = "an enum variant with data";
        serialize_map(Option<usize>) -> SerializeMap = "a map";
        serialize_struct(&'static str, usize) -> SerializeStruct = "a struct";
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant
            = "an enum variant with data";
    }
}
