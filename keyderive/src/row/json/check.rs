//! What JSON would not give back: numbers that it does not have, a `Some` of nothing, and values that are too deep for its
//! reader.

use std::fmt::{self, Display};

use serde::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// How deep `serde_json` reads arrays and objects in one another.
const MAX_DEPTH: u8 = 127;

/// Fails for a value that would be written as JSON and not be read back, `depth` arrays and objects deep.
pub(in crate::row) fn check<T: Serialize + ?Sized>(value: &T, depth: u8) -> Result<(), Lost> {
    value.serialize(JsonCheck { depth }).map(drop)
}

/// What a value is as JSON, as far as an `Option` around it is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonValue {
    Null,
    Other,
}

/// Why a value would be lost as JSON.
#[derive(Debug)]
pub(in crate::row) enum Lost {
    NotFinite(f64),
    Deep,
    /// `Some` of a value that is `null` in JSON, as `None` is.
    SomeNull,
    /// What the writer of the JSON reports itself.
    Other,
}

impl Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(number) => write!(
                f,
                "holds {number}, and JSON, in which a value below a column is stored, has no NaN and no infinity; \
                 make it an `Option`, or the number a column"
            ),
            Self::Deep => write!(
                f,
                "is deeper than the {MAX_DEPTH} arrays and objects in one another that JSON is read with; make it \
                 flatter, or store it as bytes of a format of your own"
            ),
            Self::SomeNull => f.write_str(
                "holds `Some(None)`, or `Some` of a unit, which JSON has as `null`, and which would be read as `None`; use \
                 one `Option`, a `bool`, or an enum of your own",
            ),
            Self::Other => f.write_str("cannot be written as JSON"),
        }
    }
}

impl std::error::Error for Lost {}

impl ser::Error for Lost {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }
}

/// Takes a value, and writes nothing.
struct JsonCheck {
    depth: u8,
}

impl JsonCheck {
    fn deeper(self) -> Result<Self, Lost> {
        if self.depth >= MAX_DEPTH { Err(Lost::Deep) } else { Ok(Self { depth: self.depth + 1 }) }
    }

    fn inner<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), Lost> {
        check(value, self.depth)
    }
}

/// Declares the methods for what JSON always gives back.
macro_rules! take {
    ($form:ident: $($method:ident($($arg:ty),*);)*) => {$(
        fn $method(self $(, _: $arg)*) -> Result<JsonValue, Lost> {
            Ok(JsonValue::$form)
        }
    )*};
}

impl Serializer for JsonCheck {
    type Ok = JsonValue;
    type Error = Lost;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    take! { Other:
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    take! { Null:
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
    }

    fn serialize_f32(self, number: f32) -> Result<JsonValue, Lost> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<JsonValue, Lost> {
        if number.is_finite() { Ok(JsonValue::Other) } else { Err(Lost::NotFinite(number)) }
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<JsonValue, Lost> {
        Ok(JsonValue::Other)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<JsonValue, Lost> {
        self.deeper().map(|_| JsonValue::Other)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<JsonValue, Lost> {
        match value.serialize(self)? {
            JsonValue::Null => Err(Lost::SomeNull),
            JsonValue::Other => Ok(JsonValue::Other),
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<JsonValue, Lost> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<JsonValue, Lost> {
        value.serialize(self.deeper()?).map(|_| JsonValue::Other)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Lost> {
        self.deeper()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Lost> {
        self.deeper()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Lost> {
        self.deeper()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Lost> {
        self.deeper()?.deeper()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Lost> {
        self.deeper()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Lost> {
        self.deeper()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Lost> {
        self.deeper()?.deeper()
    }
}

macro_rules! elements {
    ($($compound:ident $method:ident $($name:ty)?;)*) => {$(
        impl $compound for JsonCheck {
            type Ok = JsonValue;
            type Error = Lost;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Result<(), Lost> {
                self.inner(value)
            }

            fn end(self) -> Result<JsonValue, Lost> {
                Ok(JsonValue::Other)
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
    SerializeStruct serialize_field &'static str;
    SerializeStructVariant serialize_field &'static str;
}

/// A name that is no text is rejected by the writer of the JSON.
impl SerializeMap for JsonCheck {
    type Ok = JsonValue;
    type Error = Lost;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Lost> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Lost> {
        self.inner(value)
    }

    fn end(self) -> Result<JsonValue, Lost> {
        Ok(JsonValue::Other)
    }
}
