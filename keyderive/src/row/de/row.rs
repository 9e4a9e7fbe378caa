//! The row as the value that is asked for.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::absent::{AbsentDeserializer, Names};
use super::cell::ColumnDeserializer;
use super::family::FamilyDeserializer;
use super::qualifier::QualifierDeserializer;
use super::untyped::Untyped;
use super::{Source, column};
use crate::row::error::Fault;
use crate::row::shape::{Field, Shape};
use crate::row::{Column, Columns, RawCell, Span, is_same_name};

/// Gives the row as the struct, map or unit that is asked for.
pub(super) struct RowDeserializer<'s, 'de> {
    pub(super) source: &'s Source<'de, 's>,
    pub(super) untyped: &'s Untyped<'de>,
}

impl<'s, 'de> RowDeserializer<'s, 'de> {
    fn fields(self) -> Fields<'s, 'de> {
        let Source { cells, own, has_families, .. } = *self.source;
        Fields {
            source: self.source,
            untyped: self.untyped,
            is_plain: !has_families && self.source.again.is_none() && self.source.options(None).is_none(),
            columns: cells.columns(),
            own: own.unwrap_or(Span::NOWHERE),
            first: 0,
            families: 0,
            empty: 0,
            absent: None,
            next: Next::Nothing,
        }
    }
}

impl<'de> Deserializer<'de> for RowDeserializer<'_, 'de> {
    type Error = Fault;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if self.source.has_other_families() {
            self.source.check_families(names)?;
        }
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
    /// Whether there are columns of the row's own family alone, all in their order.
    is_plain: bool,
    /// The columns that have not been given.
    columns: Columns<'de>,
    /// Where the last column of the row's own family has its name.
    own: Span,
    /// How many of the fields that come before all others have been given.
    first: usize,
    /// How many cells are of families that have been given.
    families: usize,
    /// How many of the families without a cell have been given.
    empty: usize,
    /// The absent fields that have not been given; none before all others have been.
    absent: Option<Names>,
    /// What was named last, unless there is nothing but columns.
    next: Next<'s, 'de>,
}

#[derive(Clone, Copy)]
enum Next<'s, 'de> {
    Nothing,
    Column(Column<'de>),
    Family(&'de str, Option<&'s Field>),
    Absent(&'static str),
}

impl<'s, 'de> Fields<'s, 'de> {
    /// Goes on to the next field, of whatever there are.
    #[inline(never)]
    fn advance(&mut self) -> Next<'s, 'de> {
        let next = match self.next_first().or_else(|| self.next_column().map(Next::Column)) {
            Some(next) => Some(next),
            None if self.source.has_families => self.next_family().or_else(|| self.next_empty()),
            None => None,
        };
        self.next = next.or_else(|| self.next_absent()).unwrap_or(Next::Nothing);
        self.next
    }

    /// The next field that comes before all others.
    fn next_first(&mut self) -> Option<Next<'s, 'de>> {
        let Source { cells, family, shape, .. } = *self.source;
        let name = self.source.aliases()?.first(None).nth(self.first)?;
        self.first += 1;
        match shape.family(name.as_bytes()) {
            Some(field) => Some(Next::Family(name, Some(field))),
            None => column(cells, family, name).map(Next::Column),
        }
    }

    /// The next column of the row's own family, but for those whose name is that of a family.
    fn next_column(&mut self) -> Option<Column<'de>> {
        loop {
            let column = self.next_own()?;
            let qualifier = column.newest().qualifier();
            if (!self.source.has_families || self.source.shape.family(qualifier).is_none())
                && !self.source.leaves_out(None, qualifier)
            {
                return Some(column);
            }
        }
    }

    /// The next column of the row's own family, but for the marker.
    #[inline(always)]
    fn next_own(&mut self) -> Option<Column<'de>> {
        loop {
            let column = self.columns.next()?;
            let (family, qualifier) = column.newest().column();
            if !qualifier.is_empty() && (family == self.own || self.is_own(column.newest())) {
                return Some(column);
            }
        }
    }

    /// Whether a cell is of the row's own family.
    #[inline(never)]
    fn is_own(&mut self, cell: RawCell<'de>) -> bool {
        let is_own = is_same_name(cell.family_bytes(), self.source.family.as_bytes());
        if is_own {
            (self.own, _) = cell.column();
        }
        is_own
    }

    /// The next family beside the row's own that the row type has; any, where it has a flattened field.
    fn next_family(&mut self) -> Option<Next<'s, 'de>> {
        let Source { cells, family, shape, .. } = *self.source;
        loop {
            let left = cells.after(self.families);
            let name = left.first()?.family();
            let cells = left.front_where(|cell| cell.family_bytes() == name.as_bytes());
            self.families += cells.iter().len();
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

    fn next_absent(&mut self) -> Option<Next<'s, 'de>> {
        let source = self.source;
        self.absent.get_or_insert_with(|| source.absent(None)).next().map(Next::Absent)
    }

    fn next_empty(&mut self) -> Option<Next<'s, 'de>> {
        let name = *self.source.empty().get(self.empty)?;
        self.empty += 1;
        Some(Next::Family(name, self.source.shape.family(name.as_bytes())))
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Fault;

    #[inline(always)]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        if !self.is_plain {
            return self.key_of_any(seed);
        }
        let Some(column) = self.next_own() else { return Ok(None) };
        key(column.newest().qualifier(), seed)
    }

    #[inline(always)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.columns.given() {
            Some(column) if self.is_plain => value(column, None, seed),
            _ => self.value_of_any(seed),
        }
    }
}

impl<'de> Fields<'_, 'de> {
    #[inline(never)]
    fn key_of_any<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        match self.advance() {
            Next::Nothing => Ok(None),
            Next::Column(column) => {
                let qualifier = column.newest().qualifier();
                self.source.named(qualifier);
                key(qualifier, seed)
            }
            Next::Family(name, _) => {
                self.source.named(name.as_bytes());
                let key = seed.deserialize(QualifierDeserializer { qualifier: name.as_bytes() });
                key.map(Some).map_err(|fault| fault.of_family(name))
            }
            Next::Absent(name) => {
                self.source.named(name.as_bytes());
                key(name.as_bytes(), seed)
            }
        }
    }

    #[inline(never)]
    fn value_of_any<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.next {
            Next::Nothing => Err(Fault::custom("the row type asks for a column's value before its name")),
            Next::Column(column) => {
                let untyped = matches!(self.source.shape, Shape::Flattened(_)).then_some(self.untyped);
                value(column, untyped, seed)
            }
            Next::Family(name, field) => {
                let untyped = field.is_none().then_some(self.untyped);
                let source = self.source;
                let family = FamilyDeserializer { source, family: name, untyped };
                seed.deserialize(family).map_err(|fault| fault.of_family(name))
            }
            Next::Absent(name) => {
                seed.deserialize(AbsentDeserializer).map_err(|fault| fault.in_column(name.as_bytes()))
            }
        }
    }
}

/// A column's name.
#[inline(always)]
fn key<'de, S: DeserializeSeed<'de>>(qualifier: &'de [u8], seed: S) -> Result<Option<S::Value>, Fault> {
    let key = seed.deserialize(QualifierDeserializer { qualifier });
    key.map(Some).map_err(|fault| fault.in_column(qualifier))
}

/// A column's value.
#[inline(always)]
fn value<'de, S: DeserializeSeed<'de>>(
    column: Column<'de>,
    untyped: Option<&Untyped<'de>>,
    seed: S,
) -> Result<S::Value, Fault> {
    let value = seed.deserialize(ColumnDeserializer { column, untyped });
    value.map_err(|fault| fault.in_column(column.newest().qualifier()))
}
