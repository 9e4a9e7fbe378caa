//! Fields that are absent, as the `None` that they were written as.

use std::vec;

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::Source;
use crate::row::error::Fault;

/// The absent fields of a row, or of a family, that have not been given.
pub(super) type Names = vec::IntoIter<&'static str>;

impl Source<'_, '_> {
    /// Which options of the row, or of a family, have no column.
    #[inline(never)]
    pub(super) fn absent(&self, family: Option<&str>) -> Names {
        let Some(options) = self.options(family) else { return Vec::new().into_iter() };
        let there = self.cells.columns().filter_map(|column| {
            let (newest, own) = (column.newest(), family.unwrap_or(self.family));
            let is_own = newest.family_bytes() == own.as_bytes();
            // A field of the row may be a family.
            let name = if is_own { newest.qualifier() } else { newest.family_bytes() };
            (is_own || family.is_none()).then_some(name)
        });
        options.absent(there).into_iter()
    }
}

/// Gives `None`, and to a field that is no option nothing.
pub(super) struct AbsentDeserializer;

impl<'de> Deserializer<'de> for AbsentDeserializer {
    type Error = Fault;

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_none()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(Fault::no_option())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}
