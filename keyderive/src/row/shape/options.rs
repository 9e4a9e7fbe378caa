//! The fields that are options, whose absence is `None`, whatever default serde has for them.
//!
//! A `None` is written as no cell, and `#[serde(default = "…")]` would read it as something else. A type does not tell its
//! defaults: it is asked which of its fields it does without.

use std::cell::Cell;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::probe::{Stop, ask};
use crate::row::flattened::NUMBER;

/// The fields of a row, or of a family of it, that are options and may have a default.
#[derive(Debug, Default)]
pub(in crate::row) struct Options {
    /// The names that they are read by, in order, each with the number of its field.
    names: Vec<(&'static str, usize)>,
    fields: usize,
}

impl Options {
    /// Those of the fields of a row.
    pub(super) fn of_row<R: DeserializeOwned>(names: &[&'static str]) -> Self {
        if has_no_default::<R>() { Self::default() } else { Self::of::<R>(&[], names) }
    }

    /// Those of the columns of a family.
    pub(super) fn of_family<R: DeserializeOwned>(family: &'static str, names: &[&'static str]) -> Self {
        Self::of::<R>(&[family], names)
    }

    fn of<R: DeserializeOwned>(path: &[&str], names: &[&'static str]) -> Self {
        let mut options = Self::default();
        for name in names.iter().copied() {
            if !ask::<R>(&[path, &[name]].concat()).is_option {
                continue;
            }
            let is_it = |other: &&(&str, usize)| are_one_field::<R>(path, [other.0, name]);
            let field = options.names.iter().find(is_it).map(|(_, field)| *field);
            options.names.push((name, field.unwrap_or(options.fields)));
            options.fields += usize::from(field.is_none());
        }
        options.names.sort_unstable();
        options
    }

    pub(in crate::row) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A name of each that is under none of its names among those that are there.
    pub(in crate::row) fn absent<'n>(&self, there: impl Iterator<Item = &'n [u8]>) -> Vec<&'static str> {
        let mut is_there = vec![false; self.fields];
        for name in there {
            if let Ok(at) = self.names.binary_search_by(|(known, _)| known.as_bytes().cmp(name)) {
                is_there[self.names[at].1] = true;
            }
        }
        let names = self.names.iter();
        names
            .filter(|(_, field)| !std::mem::replace(&mut is_there[*field], true))
            .map(|(name, _)| *name)
            .collect()
    }
}

/// Whether two names are of one field: `None` under both is then a field that comes twice.
fn are_one_field<R: DeserializeOwned>(path: &[&str], names: [&str; 2]) -> bool {
    matches!(R::deserialize(Pair { path, names: &names }), Err(Stop::Twice))
}

/// Whether a struct is known to have no default for any of its fields: it fails without its last field, without its last
/// two, and so on.
fn has_no_default<R: DeserializeOwned>() -> bool {
    let given = Cell::new(0);
    let has_all = R::deserialize(Front { fields: usize::MAX, given: &given }).is_ok();
    let needs = |fields| matches!(R::deserialize(Front { fields, given: &Cell::new(0) }), Err(Stop::After(at)) if at == fields);
    has_all && (0..given.get()).all(needs)
}

/// A struct at the end of a path, with `None` under two names.
struct Pair<'p> {
    path: &'p [&'p str],
    names: &'p [&'p str],
}

impl<'de> Deserializer<'de> for Pair<'_> {
    type Error = Stop;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_map(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        if self.path.is_empty() && self.names.is_empty() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Pair<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        let name = self.path.first().or(self.names.first()).copied();
        name.map(|name| seed.deserialize(StrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        if let Some((_, path)) = self.path.split_first() {
            return seed.deserialize(Self { path, names: self.names });
        }
        self.names = self.names.get(1..).unwrap_or_default();
        seed.deserialize(Self { path: &[], names: &[] })
    }
}

/// The first fields of a struct, each with a value that its type may take.
struct Front<'g> {
    fields: usize,
    given: &'g Cell<usize>,
}

impl<'de> Deserializer<'de> for Front<'_> {
    type Error = Stop;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_seq(Elements { left: self.fields.min(names.len()), given: self.given })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop::Here)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

struct Elements<'g> {
    left: usize,
    given: &'g Cell<usize>,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Stop;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.given.set(self.given.get() + 1);
        seed.deserialize(Least).map(Some)
    }
}

/// The least value of whatever type is asked for.
struct Least;

macro_rules! least {
    ($($method:ident $visit:ident($value:expr);)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Least {
    type Error = Stop;

    least! {
        deserialize_bool visit_bool(false);
        deserialize_i8 visit_i8(0);
        deserialize_i16 visit_i16(0);
        deserialize_i32 visit_i32(0);
        deserialize_i64 visit_i64(0);
        deserialize_u8 visit_u8(0);
        deserialize_u16 visit_u16(0);
        deserialize_u32 visit_u32(0);
        deserialize_u64 visit_u64(0);
        deserialize_f32 visit_f32(0.0);
        deserialize_f64 visit_f64(0.0);
        deserialize_char visit_char('0');
        deserialize_str visit_borrowed_str("");
        deserialize_string visit_borrowed_str("");
        deserialize_bytes visit_borrowed_bytes(b"");
        deserialize_byte_buf visit_borrowed_bytes(b"");
        deserialize_seq visit_seq(SeqDeserializer::new(std::iter::empty::<()>()));
        deserialize_map visit_map(MapDeserializer::new(std::iter::empty::<((), ())>()));
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        if name == NUMBER { visitor.visit_i64(0) } else { visitor.visit_newtype_struct(self) }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, fields: usize, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_seq(Elements { left: fields, given: &Cell::new(0) })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: usize,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.deserialize_tuple(fields, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.deserialize_tuple(names.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_enum(BorrowedStrDeserializer::new(variants.first().ok_or(Stop::Here)?))
    }

    forward_to_deserialize_any! { i128 u128 unit unit_struct identifier ignored_any }
}
