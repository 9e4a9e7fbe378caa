//! From the cells of a family to the field that has its name.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::absent::{AbsentDeserializer, Names};
use super::cell::ColumnDeserializer;
use super::qualifier::QualifierDeserializer;
use super::untyped::Untyped;
use super::{Source, column};
use crate::row::error::Fault;
use crate::row::{Column, Columns};

/// Gives the columns of one family, as the struct or the map that its field is.
pub(super) struct FamilyDeserializer<'s, 'de> {
    pub(super) source: &'s Source<'de, 's>,
    pub(super) family: &'s str,
    /// Where columns are noted that are read without a type, where they may be.
    pub(super) untyped: Option<&'s Untyped<'de>>,
}

impl<'s, 'de> FamilyDeserializer<'s, 'de> {
    fn columns(self) -> FamilyFields<'s, 'de> {
        let Self { source, family, untyped } = self;
        let cells = source.cells;
        let names = source.aliases().into_iter().flat_map(|aliases| aliases.first(Some(family)));
        let mut first: Vec<_> = names.filter_map(|name| column(cells, family, name)).collect();
        first.reverse();
        FamilyFields {
            source,
            columns: cells.columns(),
            family,
            untyped,
            first,
            absent: None,
            next: Next::Nothing,
        }
    }
}

impl<'de> Deserializer<'de> for FamilyDeserializer<'_, 'de> {
    type Error = Fault;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(self.columns())
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self.columns())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
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
        if self.untyped.is_some() {
            return visitor.visit_map(self.columns());
        }
        Err(Fault::unsupported(
            "is a column family, but is read into a field that is neither a struct nor a map",
        ))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct enum identifier
    }
}

/// The columns of one family.
struct FamilyFields<'s, 'de> {
    source: &'s Source<'de, 's>,
    /// The columns of the row that have not been given.
    columns: Columns<'de>,
    family: &'s str,
    untyped: Option<&'s Untyped<'de>>,
    /// The columns that come before all others, the first of them last.
    first: Vec<Column<'de>>,
    /// The absent columns that have not been given; none before all others have been.
    absent: Option<Names>,
    /// What was named last.
    next: Next<'de>,
}

#[derive(Clone, Copy)]
enum Next<'de> {
    Nothing,
    Column(Column<'de>),
    Absent(&'static str),
}

impl<'de> FamilyFields<'_, 'de> {
    fn advance(&mut self) -> Next<'de> {
        self.next = match self.first.pop().or_else(|| self.next_column()) {
            Some(column) => Next::Column(column),
            None => {
                let (source, family) = (self.source, self.family);
                let absent = self.absent.get_or_insert_with(|| source.absent(Some(family)));
                absent.next().map_or(Next::Nothing, Next::Absent)
            }
        };
        self.next
    }

    fn next_column(&mut self) -> Option<Column<'de>> {
        loop {
            let column = self.columns.next()?;
            let qualifier = column.newest().qualifier();
            if column.newest().family_bytes() == self.family.as_bytes()
                && !qualifier.is_empty()
                && !self.source.leaves_out(Some(self.family), qualifier)
            {
                return Some(column);
            }
        }
    }
}

impl<'de> MapAccess<'de> for FamilyFields<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let qualifier = match self.advance() {
            Next::Nothing => return Ok(None),
            Next::Column(column) => column.newest().qualifier(),
            Next::Absent(name) => name.as_bytes(),
        };
        self.source.named(qualifier);
        let key = seed.deserialize(QualifierDeserializer { qualifier });
        key.map(Some).map_err(|fault| fault.in_column(qualifier))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.next {
            Next::Nothing => Err(Fault::custom("the row type asks for a column's value before its name")),
            Next::Column(column) => {
                let value = seed.deserialize(ColumnDeserializer { column, untyped: self.untyped });
                value.map_err(|fault| fault.in_column(column.newest().qualifier()))
            }
            Next::Absent(name) => {
                seed.deserialize(AbsentDeserializer).map_err(|fault| fault.in_column(name.as_bytes()))
            }
        }
    }
}
