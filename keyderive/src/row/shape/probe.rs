//! A deserializer that gives nothing, and notes what it is asked for.

use std::any;
use std::fmt::{self, Display};

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::row::flattened::NUMBER;
use crate::row::versions::{TIMESTAMPED, VERSIONS};

/// What a type, or a field in it, asks for.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// None where it did not come to it.
    pub(super) asked: Option<Asked>,
    /// Whether it asked for an option first.
    pub(super) optional: bool,
    /// Whether this option is the field itself, so that its `None` is the absence that is written.
    pub(super) is_option: bool,
    /// The type of the field, as the struct reads it.
    type_name: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Column,
    /// Nothing, as a row without columns does.
    Nothing,
    /// Whatever there is, as serde's tagged and untagged enums do.
    Untyped,
    Versions,
    Struct(&'static [&'static str]),
    Map,
    /// A struct with a flattened field, which asks for a map.
    Flattened,
}

/// What `R` asks for at the end of a path of fields or of keys of maps; no path is `R` itself.
pub(super) fn ask<R: DeserializeOwned>(path: &[&str]) -> Found {
    let mut found = Found::default();
    // It always fails: with its answer noted, or before.
    let _ = R::deserialize(Probe { path, found: &mut found });
    found
}

struct Probe<'p> {
    /// What is still to be gone through.
    path: &'p [&'p str],
    found: &'p mut Found,
}

impl Probe<'_> {
    fn note<T>(self, asked: Asked) -> Result<T, Stop> {
        if self.path.is_empty() {
            self.found.asked = Some(asked);
        }
        Err(Stop::Here)
    }
}

/// Declares the methods of a `Deserializer` that ask for a column.
macro_rules! columns {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
            self.note(Asked::Column)
        }
    )*};
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Stop;

    columns! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_seq
        deserialize_identifier
    }

    fn deserialize_unit<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        self.note(Asked::Nothing)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, _: V) -> Result<V::Value, Stop> {
        self.note(Asked::Nothing)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        self.note(Asked::Nothing)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Stop> {
        self.note(Asked::Column)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        _: V,
    ) -> Result<V::Value, Stop> {
        self.note(Asked::Column)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Stop> {
        self.note(Asked::Column)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        match self.path.split_first() {
            Some((key, path)) => visitor.visit_map(Entry { key, value: Probe { path, found: self.found } }),
            None if name == TIMESTAMPED => self.note(Asked::Column),
            None => self.note(Asked::Struct(fields)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        match self.path.split_first() {
            Some((key, path)) => visitor.visit_map(Entry { key, value: Probe { path, found: self.found } }),
            None => {
                self.found.asked = Some(Asked::Map);
                visitor.visit_map(Key { found: self.found })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        if self.path.is_empty() {
            self.found.optional = true;
            // A `deserialize_with` reads the field as a type of its own, and may make anything of a `None`.
            self.found.is_option |= self.found.type_name == any::type_name::<V::Value>();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        match name {
            VERSIONS => self.note(Asked::Versions),
            NUMBER => self.note(Asked::Column),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        self.note(Asked::Untyped)
    }
}

/// One entry of a struct or a map, on the way to what is asked for.
struct Entry<'p> {
    key: &'p str,
    value: Probe<'p>,
}

impl<'de> MapAccess<'de> for Entry<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        seed.deserialize(Name { name: self.key }).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        self.value.found.type_name = any::type_name::<S::Value>();
        seed.deserialize(Probe { path: self.value.path, found: self.value.found })
    }
}

/// The key of an entry: a name as it is, or an enum's first variant.
struct Name<'p> {
    name: &'p str,
}

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = Stop;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_str(self.name)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_enum(BorrowedStrDeserializer::new(variants.first().ok_or(Stop::Here)?))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// An entry whose key tells a struct with a flattened field, which asks for one of its names, from a map.
struct Key<'p> {
    found: &'p mut Found,
}

impl<'de> MapAccess<'de> for Key<'_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        seed.deserialize(IsName { found: self.found }).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, _: S) -> Result<S::Value, Stop> {
        Err(Stop::Here)
    }
}

struct IsName<'p> {
    found: &'p mut Found,
}

impl<'de> Deserializer<'de> for IsName<'_> {
    type Error = Stop;

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        self.found.asked = Some(Asked::Flattened);
        Err(Stop::Here)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop::Here)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum ignored_any
    }
}

/// The end of a probe.
#[derive(Debug)]
pub(super) enum Stop {
    Here,
    /// At a field that came before, under this name or another.
    Twice,
    /// At a field that came after so many, which are all that there are.
    After(usize),
}

impl Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probe gives no values")
    }
}

impl std::error::Error for Stop {}

impl de::Error for Stop {
    fn custom<T: Display>(_: T) -> Self {
        Self::Here
    }

    fn duplicate_field(_: &'static str) -> Self {
        Self::Twice
    }

    fn invalid_length(length: usize, _: &dyn de::Expected) -> Self {
        Self::After(length)
    }
}
