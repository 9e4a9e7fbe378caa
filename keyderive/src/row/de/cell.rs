//! From the cells of a column to its value.

use serde::de::value::{BorrowedStrDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde_json::de::SliceRead;

use super::untyped::Untyped;
use crate::row::error::Fault;
use crate::row::flattened::NUMBER;
use crate::row::value;
use crate::row::versions::{TIMESTAMPED, VERSIONS};
use crate::row::{Column, RawCell};

/// Gives the value of one column, as the type that its field asks for: the newest version, unless it asks for all.
#[derive(Clone, Copy)]
pub(super) struct ColumnDeserializer<'s, 'de> {
    pub(super) column: Column<'de>,
    /// Where it is noted when it is read without a type, where it may be.
    pub(super) untyped: Option<&'s Untyped<'de>>,
}

type JsonDeserializer<'de> = serde_json::Deserializer<SliceRead<'de>>;

impl<'de> ColumnDeserializer<'_, 'de> {
    #[inline]
    fn newest(self) -> RawCell<'de> {
        self.column.newest()
    }

    #[inline]
    fn value(self) -> &'de [u8] {
        self.newest().value()
    }

    /// Reads the whole value as JSON.
    fn json<T>(
        self,
        read: impl FnOnce(&mut JsonDeserializer<'de>) -> serde_json::Result<T>,
    ) -> Result<T, Fault> {
        let mut json = JsonDeserializer::from_slice(self.value());
        read(&mut json)
            .and_then(|value| json.end().map(|()| value))
            .map_err(|source| Fault::malformed_json(self.value(), source))
    }
}

macro_rules! scalars {
    ($($method:ident $visit:ident $read:ident;)*) => {$(
        #[inline(always)]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit(value::$read(self.value())?)
        }
    )*};
}

impl<'de> Deserializer<'de> for ColumnDeserializer<'_, 'de> {
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
        visitor.visit_borrowed_bytes(self.value())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_bytes(self.value())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        value::read_unit(self.value())?;
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
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match name {
            VERSIONS => {
                let versions = self.column.singly().map(|column| Self { column, ..self });
                visitor.visit_newtype_struct(SeqDeserializer::new(versions))
            }
            NUMBER => visitor.visit_borrowed_bytes(self.value()),
            _ => visitor.visit_newtype_struct(self),
        }
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
        let is_name = |variant: &&str| variant.as_bytes() == self.value();
        if self.value().starts_with(b"{") && !variants.iter().any(is_name) {
            return self.json(|json| json.deserialize_enum(name, variants, visitor));
        }
        visitor.visit_enum(BorrowedStrDeserializer::new(value::read_text(self.value())?))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.json(|json| json.deserialize_map(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == TIMESTAMPED {
            return visitor.visit_seq(Stamped { column: self, given: 0 });
        }
        self.json(|json| json.deserialize_struct(name, fields, visitor))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some(untyped) = self.untyped else {
            return Err(Fault::untyped());
        };
        untyped.read(self.newest());
        match str::from_utf8(self.value()) {
            Ok(text) => visitor.visit_borrowed_str(text),
            Err(_) => visitor.visit_borrowed_bytes(self.value()),
        }
    }
}

impl<'de> IntoDeserializer<'de, Fault> for ColumnDeserializer<'_, 'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The newest version of a column as a [`Timestamped`](crate::row::Timestamped): the timestamp, then the value.
struct Stamped<'s, 'de> {
    column: ColumnDeserializer<'s, 'de>,
    given: u8,
}

impl<'de> SeqAccess<'de> for Stamped<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.given += 1;
        match self.given {
            1 => seed.deserialize(self.column.newest().timestamp_micros().into_deserializer()).map(Some),
            2 => seed.deserialize(self.column).map(Some),
            _ => Ok(None),
        }
    }
}
