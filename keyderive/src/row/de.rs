//! From the cells of a row to a serde value.

mod cell;
mod qualifier;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use self::cell::CellDeserializer;
use self::qualifier::QualifierDeserializer;
use super::error::{Fault, RowError};
use super::{Cell, Cells, Row};

/// Reads the columns of `family`, the newest version of each.
///
/// The marker of a row without columns is not a column; columns that the value does not know are ignored.
pub(crate) fn from_row<R: DeserializeOwned>(row: &Row, family: &str) -> Result<R, RowError> {
    let columns = Columns { cells: row.cells(), family, current: None };
    R::deserialize(RowDeserializer { columns }).map_err(|fault| fault.in_family(family))
}

/// Gives the row as the struct, map or unit that is asked for.
struct RowDeserializer<'de, 'f> {
    columns: Columns<'de, 'f>,
}

impl<'de> Deserializer<'de> for RowDeserializer<'de, '_> {
    type Error = Fault;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(self.columns)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self.columns)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(Fault::unsupported(
            "is read into a type that is neither a struct, nor a map with string keys, nor `()`; enums and \
             `serde_json::Value` are not rows",
        ))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option seq tuple
        tuple_struct enum identifier
    }
}

/// The newest cell of each column of one family.
struct Columns<'de, 'f> {
    cells: Cells<'de>,
    family: &'f str,
    /// The cell whose qualifier was given last.
    current: Option<Cell<'de>>,
}

impl<'de> Columns<'de, '_> {
    /// Moves to the next column. A column's cells come newest first, so its first cell is the one to read.
    fn advance(&mut self) -> Option<Cell<'de>> {
        let (family, current) = (self.family, self.current);
        self.current = self.cells.find(|cell| {
            cell.family_bytes() == family.as_bytes()
                && !cell.qualifier().is_empty()
                && current.is_none_or(|current| current.qualifier() != cell.qualifier())
        });
        self.current
    }
}

impl<'de> MapAccess<'de> for Columns<'de, '_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(cell) = self.advance() else { return Ok(None) };
        let key = seed.deserialize(QualifierDeserializer { qualifier: cell.qualifier() });
        key.map(Some).map_err(|fault| fault.in_column(cell.qualifier()))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(cell) = self.current else {
            return Err(Fault::custom("the row type asks for a column's value before its name"));
        };
        let value = seed.deserialize(CellDeserializer { value: cell.value() });
        value.map_err(|fault| fault.in_column(cell.qualifier()))
    }
}
