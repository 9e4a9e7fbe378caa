//! The row as the value that is asked for.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::cell::ColumnDeserializer;
use super::family::FamilyDeserializer;
use super::qualifier::QualifierDeserializer;
use super::untyped::Untyped;
use super::{Source, column};
use crate::row::error::Fault;
use crate::row::shape::{Field, Shape};
use crate::row::{CellSlice, Column};

/// Gives the row as the struct, map or unit that is asked for.
pub(super) struct RowDeserializer<'s, 'de> {
    pub(super) source: &'s Source<'de, 's>,
    pub(super) untyped: &'s Untyped<'de>,
}

impl<'s, 'de> RowDeserializer<'s, 'de> {
    fn fields(self) -> Fields<'s, 'de> {
        let cells = self.source.cells;
        Fields {
            source: self.source,
            untyped: self.untyped,
            columns: cells,
            own: &[],
            families: cells,
            first: 0,
            empty: 0,
            next: None,
        }
    }
}

impl<'de> Deserializer<'de> for RowDeserializer<'_, 'de> {
    type Error = Fault;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(self.fields())
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self.fields())
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
        Err(Fault::no_row())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option seq tuple
        tuple_struct enum identifier
    }
}

/// The fields of a row: the columns of its own family, then the other families.
struct Fields<'s, 'de> {
    source: &'s Source<'de, 's>,
    untyped: &'s Untyped<'de>,
    /// The cells whose columns have not been given.
    columns: CellSlice<'de>,
    /// The name of the row's own family, where the last column of it has it.
    own: &'de [u8],
    /// The cells whose families have not been given.
    families: CellSlice<'de>,
    /// How many of the fields that come before all others have been given.
    first: usize,
    /// How many of the families without a cell have been given.
    empty: usize,
    /// What was named last.
    next: Option<Next<'s, 'de>>,
}

#[derive(Clone, Copy)]
enum Next<'s, 'de> {
    Column(Column<'de>),
    Family(&'de str, Option<&'s Field>),
}

impl<'s, 'de> Fields<'s, 'de> {
    #[inline]
    fn advance(&mut self) -> Option<Next<'s, 'de>> {
        self.next = match self.next_first().or_else(|| self.next_column().map(Next::Column)) {
            Some(next) => Some(next),
            None if self.source.has_families => self.next_family().or_else(|| self.next_empty()),
            None => None,
        };
        self.next
    }

    /// The next field that comes before all others.
    #[inline]
    fn next_first(&mut self) -> Option<Next<'s, 'de>> {
        let Source { cells, family, shape, .. } = *self.source;
        let name = self.source.aliases.as_ref()?.first(None).nth(self.first)?;
        self.first += 1;
        match shape.family(name.as_bytes()) {
            Some(field) => Some(Next::Family(name, Some(field))),
            None => column(cells, family, name).map(Next::Column),
        }
    }

    /// The next column of the row's own family, but for those whose name is that of a family.
    #[inline]
    fn next_column(&mut self) -> Option<Column<'de>> {
        loop {
            let column = self.columns.next_column()?;
            let qualifier = column.newest().qualifier();
            if self.is_own(column.newest().family_bytes())
                && !qualifier.is_empty()
                && (!self.source.has_families || self.source.shape.family(qualifier).is_none())
                && !self.source.leaves_out(None, qualifier)
            {
                return Some(column);
            }
        }
    }

    /// Whether a family is the row's own.
    #[inline]
    fn is_own(&mut self, family: &'de [u8]) -> bool {
        if std::ptr::eq(family, self.own) {
            return true;
        }
        let is_own = family == self.source.family.as_bytes();
        if is_own {
            self.own = family;
        }
        is_own
    }

    /// The next family beside the row's own that the row type has; any, where it has a flattened field.
    fn next_family(&mut self) -> Option<Next<'s, 'de>> {
        let Source { family, shape, .. } = *self.source;
        loop {
            let name = self.families.first()?.family();
            let (cells, rest) = self.families.split_where(|cell| cell.family_bytes() != name.as_bytes());
            self.families = rest;
            let field = shape.family(name.as_bytes());
            let is_there = match field {
                Some(field) => cells.iter().any(|cell| field.owns(cell.qualifier())),
                None => matches!(shape, Shape::Flattened(_)),
            };
            if name != family && is_there && !self.source.leaves_out(None, name.as_bytes()) {
                return Some(Next::Family(name, field));
            }
        }
    }

    fn next_empty(&mut self) -> Option<Next<'s, 'de>> {
        let name = *self.source.empty.get(self.empty)?;
        self.empty += 1;
        Some(Next::Family(name, self.source.shape.family(name.as_bytes())))
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        match self.advance() {
            None => Ok(None),
            Some(Next::Column(column)) => {
                let qualifier = column.newest().qualifier();
                self.source.named(qualifier);
                let key = seed.deserialize(QualifierDeserializer { qualifier });
                key.map(Some).map_err(|fault| fault.in_column(qualifier))
            }
            Some(Next::Family(name, _)) => {
                self.source.named(name.as_bytes());
                let key = seed.deserialize(QualifierDeserializer { qualifier: name.as_bytes() });
                key.map(Some).map_err(|fault| fault.of_family(name))
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.next {
            None => Err(Fault::custom("the row type asks for a column's value before its name")),
            Some(Next::Column(column)) => {
                let untyped = matches!(self.source.shape, Shape::Flattened(_)).then_some(self.untyped);
                let value = seed.deserialize(ColumnDeserializer { column, untyped });
                value.map_err(|fault| fault.in_column(column.newest().qualifier()))
            }
            Some(Next::Family(name, field)) => {
                let untyped = field.is_none().then_some(self.untyped);
                let source = self.source;
                let family = FamilyDeserializer { source, family: name, untyped };
                seed.deserialize(family).map_err(|fault| fault.of_family(name))
            }
        }
    }
}
