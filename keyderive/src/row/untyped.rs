//! What can be written where it is read without a type: in a flattened field, which serde reads as text.

use std::fmt::Display;

use serde::ser::{Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::error::{Fault, MARK_NUMBERS};
use super::flattened::NUMBER;
use super::versions::{TIMESTAMPED, VERSIONS};

/// Fails for a value that would be read back as text and is none.
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), Fault> {
    value.serialize(Check)
}

/// Takes a value, or those in a family, and writes nothing.
struct Check;

fn number(found: &str) -> Fault {
    Fault::unsupported(format_args!(
        "is {found} in a flattened field, which serde reads as text: {MARK_NUMBERS}"
    ))
}

fn compound(found: &str) -> Fault {
    Fault::unsupported(format_args!(
        "is {found} in a flattened field, which serde reads as text: store it as JSON with \
         `#[serde(with = \"keyderive::row::json\")]`, or do not flatten it"
    ))
}

/// Declares the methods of the `Serializer` that only fail, or only succeed.
macro_rules! methods {
    (refuse $refusal:path; $($method:ident($($arg:ty),*) $(-> $compound:ident)? = $found:literal;)*) => {$(
        fn $method(self $(, _: $arg)*) -> methods!(@result $($compound)?) {
            Err($refusal($found))
        }
    )*};
    (take; $($method:ident($($arg:ty),*);)*) => {$(
        fn $method(self $(, _: $arg)*) -> Result<(), Fault> {
            Ok(())
        }
    )*};
    (@result) => { Result<(), Fault> };
    (@result $compound:ident) => { Result<Self::$compound, Fault> };
}

impl Serializer for Check {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Impossible<(), Fault>;
    type SerializeTuple = Impossible<(), Fault>;
    type SerializeTupleStruct = Impossible<(), Fault>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Fault>;

    methods! { take;
        serialize_str(&str);
        serialize_char(char);
        serialize_bytes(&[u8]);
        serialize_unit_variant(&'static str, u32, &'static str);
        serialize_none();
    }

    methods! { refuse number;
        serialize_bool(bool) = "a `bool`";
        serialize_i8(i8) = "an `i8`";
        serialize_i16(i16) = "an `i16`";
        serialize_i32(i32) = "an `i32`";
        serialize_i64(i64) = "an `i64`";
        serialize_u8(u8) = "a `u8`";
        serialize_u16(u16) = "a `u16`";
        serialize_u32(u32) = "a `u32`";
        serialize_u64(u64) = "a `u64`";
        serialize_f32(f32) = "an `f32`";
        serialize_f64(f64) = "an `f64`";
    }

    methods! { refuse compound;
        serialize_i128(i128) = "an `i128`";
        serialize_u128(u128) = "a `u128`";
        serialize_unit() = "a unit";
        serialize_unit_struct(&'static str) = "a unit";
        serialize_seq(Option<usize>) -> SerializeSeq = "a sequence";
        serialize_tuple(usize) -> SerializeTuple = "a tuple";
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct = "a tuple struct";
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant
            = "an enum variant with data";
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant
            = "an enum variant with data";
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        match name {
            NUMBER => Ok(()),
            VERSIONS => Err(compound("`Versions`")),
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        Err(compound("an enum variant with data"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Self, Fault> {
        if name == TIMESTAMPED { Err(compound("a `Timestamped`")) } else { Ok(self) }
    }
}

/// The values of a map, which is a family.
impl SerializeMap for Check {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        check(value)
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}

/// The fields of a struct, which is a family.
impl SerializeStruct for Check {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Fault> {
        check(value)
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}
