//! From a column qualifier to a field's name or a map's key.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::key::as_text;
use crate::row::error::Fault;

/// Gives the name of one column.
pub(super) struct QualifierDeserializer<'de> {
    pub(super) qualifier: &'de [u8],
}

impl<'de> QualifierDeserializer<'de> {
    fn text(&self) -> Result<&'de str, Fault> {
        as_text(self.qualifier).ok_or_else(|| {
            Fault::rejected("has a name that is not UTF-8, and the row type reads names as strings")
        })
    }
}

impl<'de> Deserializer<'de> for QualifierDeserializer<'de> {
    type Error = Fault;

    /// A name that is not UTF-8 is no field's, and goes on as bytes, so that a struct ignores the column.
    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match as_text(self.qualifier) {
            Some(name) => visitor.visit_borrowed_str(name),
            None => visitor.visit_borrowed_bytes(self.qualifier),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.text()?))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_str(self.text()?)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct
    }
}
