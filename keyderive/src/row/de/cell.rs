//! From the bytes of a cell to the value of its column.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Visitor};
use serde_json::de::SliceRead;

use crate::row::error::Fault;
use crate::row::value;

/// Gives the value of one column, as the type that its field asks for.
pub(super) struct CellDeserializer<'de> {
    pub(super) value: &'de [u8],
}

type JsonDeserializer<'de> = serde_json::Deserializer<SliceRead<'de>>;

impl<'de> CellDeserializer<'de> {
    /// Reads the whole value as JSON.
    fn json<T>(
        self,
        read: impl FnOnce(&mut JsonDeserializer<'de>) -> serde_json::Result<T>,
    ) -> Result<T, Fault> {
        let mut json = JsonDeserializer::from_slice(self.value);
        read(&mut json)
            .and_then(|value| json.end().map(|()| value))
            .map_err(|source| Fault::malformed_json(self.value, source))
    }
}

fn not_a_value<T>(asked: &str) -> Result<T, Fault> {
    Err(Fault::unsupported(format_args!(
        "is read into {asked}, and a column holds one value; move its fields into the row, or read it from a \
         string with `#[serde(with = \"…\")]`"
    )))
}

macro_rules! scalars {
    ($($method:ident $visit:ident $read:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit(value::$read(self.value)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for CellDeserializer<'de> {
    type Error = Fault;

    scalars! {
        deserialize_bool visit_bool read_boolean;
        deserialize_i8 visit_i8 read_integer;
        deserialize_i16 visit_i16 read_integer;
        deserialize_i32 visit_i32 read_integer;
        deserialize_i64 visit_i64 read_integer;
        deserialize_u8 visit_u8 read_integer;
        deserialize_u16 visit_u16 read_integer;
        deserialize_u32 visit_u32 read_integer;
        deserialize_u64 visit_u64 read_integer;
        deserialize_f32 visit_f32 read_float;
        deserialize_f64 visit_f64 read_double;
        deserialize_char visit_char read_char;
        deserialize_str visit_borrowed_str read_text;
        deserialize_string visit_borrowed_str read_text;
        deserialize_identifier visit_borrowed_str read_text;
    }

    fn deserialize_i128<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(value::too_wide("i128"))
    }

    fn deserialize_u128<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(value::too_wide("u128"))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_bytes(self.value)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_bytes(self.value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        value::read_unit(self.value)?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.json(|json| json.deserialize_seq(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, elements: usize, visitor: V) -> Result<V::Value, Fault> {
        self.json(|json| json.deserialize_tuple(elements, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        elements: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.json(|json| json.deserialize_tuple_struct(name, elements, visitor))
    }

    /// A name alone is a unit variant; an object is a variant with data, unless a variant has that name.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let is_name = |variant: &&str| variant.as_bytes() == self.value;
        if self.value.starts_with(b"{") && !variants.iter().any(is_name) {
            return self.json(|json| json.deserialize_enum(name, variants, visitor));
        }
        visitor.visit_enum(BorrowedStrDeserializer::new(value::read_text(self.value)?))
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        not_a_value("a map")
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Fault> {
        not_a_value("a struct")
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(Fault::unsupported(
            "is read without a type, and bytes do not say theirs; give the field a concrete type in place of \
             `#[serde(flatten)]`, an untagged or internally tagged enum, or `serde_json::Value`",
        ))
    }
}
