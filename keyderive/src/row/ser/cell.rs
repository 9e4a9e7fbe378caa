//! From the value of a field, or of an entry of a map, to what is stored of it.

use std::fmt::Display;

use bytes::Bytes;
use serde::ser::{Serialize, Serializer};

use super::changes::Changes;
use super::compound::{Entries, Fields, TimestampedFields, VersionsOr};
use super::family::{Columns, FamilyMap, FamilyStruct};
use super::json::Json;
use super::qualifier::Names;
use crate::row::error::Fault;
use crate::row::flattened::NUMBER;
use crate::row::value;
use crate::row::versions::{TIMESTAMPED, VERSIONS};

/// What is to be stored of a value. It is small, since it is what each field is asked for.
#[derive(Debug)]
pub(in crate::row) enum Stored {
    /// Nothing: the column is absent.
    Absent,
    /// One cell, at the server's time.
    Value(Box<Bytes>),
    /// Cells with timestamps of their own, and none beside them.
    Versions(Box<Cells>),
    /// One cell, at the server's time, which has been set already.
    Set,
    /// The columns of a family, which have been taken already.
    Family,
}

/// Cells with timestamps of their own.
#[derive(Debug)]
pub(in crate::row) struct Cells(pub(super) Vec<(i64, Bytes)>);

impl Stored {
    pub(super) fn value(value: Bytes) -> Self {
        Self::Value(Box::new(value))
    }
}

/// Takes one value.
pub(super) struct ValueSerializer<'c, 'a> {
    pub(super) place: Place<'c, 'a>,
}

/// Where a value is.
pub(super) enum Place<'c, 'a> {
    /// A field of a row, which is a family of this name where it is a struct or a map.
    Field { changes: &'c mut Changes<'a>, name: &'c str },
    /// A column.
    Column { changes: &'c mut Changes<'a>, family: &'c str, qualifier: &'c [u8] },
    /// A value by itself, which is set nowhere.
    Cell,
    /// The sequence of the versions of a column.
    Versions,
}

impl<'c, 'a> ValueSerializer<'c, 'a> {
    pub(super) const CELL: Self = Self { place: Place::Cell };

    pub(super) fn field(changes: &'c mut Changes<'a>, name: &'c str) -> Self {
        Self { place: Place::Field { changes, name } }
    }

    pub(super) fn column(changes: &'c mut Changes<'a>, family: &'c str, qualifier: &'c [u8]) -> Self {
        Self { place: Place::Column { changes, family, qualifier } }
    }

    /// One cell, which is set where it is known as what.
    #[inline]
    fn value(self, value: &[u8]) -> Stored {
        match self.place {
            Place::Field { changes, name } => {
                changes.set_value(changes.to.family, name.as_bytes(), value);
                Stored::Set
            }
            Place::Column { changes, family, qualifier } => {
                changes.set_value(family, qualifier, value);
                Stored::Set
            }
            Place::Cell | Place::Versions => Stored::value(Bytes::copy_from_slice(value)),
        }
    }

    /// The family that a struct or a map is; none where it is a column.
    fn family(self) -> Result<Option<Columns<'c, 'a>>, Fault> {
        let Place::Field { changes, name } = self.place else { return Ok(None) };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !name.bytes().all(allowed) || name.len() > MAX_FAMILY_BYTES {
            return Err(Fault::unsupported(
                "is a struct or a map, hence a column family, whose name has 1 to 64 ASCII letters, digits, `-`, `_` \
                 and `.`; give the field such a name with `#[serde(rename = \"…\")]`",
            ));
        }
        if name == changes.to.family {
            return Err(Fault::unsupported(
                "is a struct or a map, hence a column family, and has the name of the family of the row's other \
                 columns; give it another name with `#[serde(rename = \"…\")]`, or the table another family with \
                 `.family(…)`",
            ));
        }
        Ok(Some(Columns::new(changes, name)))
    }
}

const MAX_FAMILY_BYTES: usize = 64;

/// A value, unless it is absent.
fn present(stored: Stored, absent: impl FnOnce() -> Fault) -> Result<Stored, Fault> {
    if matches!(stored, Stored::Absent) { Err(absent()) } else { Ok(stored) }
}

macro_rules! integers {
    ($($method:ident $type:ident;)*) => {$(
        fn $method(self, value: $type) -> Result<Stored, Fault> {
            Ok(self.value(&value::integer(value.into())))
        }
    )*};
}

impl<'c, 'a> Serializer for ValueSerializer<'c, 'a> {
    type Ok = Stored;
    type Error = Fault;
    type SerializeSeq = VersionsOr;
    type SerializeTuple = Json;
    type SerializeTupleStruct = Json;
    type SerializeTupleVariant = Json;
    type SerializeMap = Entries<'c, 'a>;
    type SerializeStruct = Fields<'c, 'a>;
    type SerializeStructVariant = Json;

    integers! {
        serialize_i8 i8;
        serialize_i16 i16;
        serialize_i32 i32;
        serialize_i64 i64;
        serialize_u8 u8;
        serialize_u16 u16;
        serialize_u32 u32;
    }

    fn serialize_u64(self, value: u64) -> Result<Stored, Fault> {
        value::unsigned(value).map(|value| self.value(&value))
    }

    fn serialize_i128(self, _: i128) -> Result<Stored, Fault> {
        Err(value::too_wide("i128"))
    }

    fn serialize_u128(self, _: u128) -> Result<Stored, Fault> {
        Err(value::too_wide("u128"))
    }

    fn serialize_bool(self, value: bool) -> Result<Stored, Fault> {
        Ok(self.value(&value::boolean(value)))
    }

    fn serialize_f32(self, value: f32) -> Result<Stored, Fault> {
        Ok(self.value(&value.to_be_bytes()))
    }

    fn serialize_f64(self, value: f64) -> Result<Stored, Fault> {
        Ok(self.value(&value.to_be_bytes()))
    }

    fn serialize_char(self, value: char) -> Result<Stored, Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Stored, Fault> {
        self.serialize_bytes(value.as_bytes())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<Stored, Fault> {
        Ok(self.value(value.to_string().as_bytes()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Stored, Fault> {
        Ok(self.value(value))
    }

    fn serialize_unit(self) -> Result<Stored, Fault> {
        Ok(self.value(b""))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Stored, Fault> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Stored, Fault> {
        Ok(self.value(variant.as_bytes()))
    }

    fn serialize_none(self) -> Result<Stored, Fault> {
        Ok(Stored::Absent)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Stored, Fault> {
        present(value.serialize(self)?, || {
            Fault::unsupported("is `Some(None)`, which would be read as `None`; use one `Option`")
        })
    }

    /// Refuses a `None` inside: serde asks for the newtype when the column is absent, and fails.
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Stored, Fault> {
        match name {
            VERSIONS => return value.serialize(ValueSerializer { place: Place::Versions }),
            NUMBER => return value.serialize(self),
            _ => {}
        }
        present(value.serialize(self)?, || {
            Fault::unsupported(format_args!(
                "is a `None` inside `{name}`, which would not be read back; put `#[serde(transparent)]` on `{name}`"
            ))
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Stored, Fault> {
        Json::newtype_variant(variant, value).map(Stored::value)
    }

    fn serialize_seq(self, versions: Option<usize>) -> Result<VersionsOr, Fault> {
        Ok(match self.place {
            Place::Versions => VersionsOr::Versions(Vec::with_capacity(versions.unwrap_or(0))),
            Place::Field { .. } | Place::Column { .. } | Place::Cell => VersionsOr::Json(Json::array()),
        })
    }

    fn serialize_tuple(self, _: usize) -> Result<Json, Fault> {
        Ok(Json::array())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Json, Fault> {
        Ok(Json::array())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Json, Fault> {
        Json::tuple_variant(variant)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Json, Fault> {
        Json::struct_variant(variant)
    }

    fn serialize_map(self, entries: Option<usize>) -> Result<Entries<'c, 'a>, Fault> {
        Ok(match self.family()? {
            Some(columns) => Entries::Family(FamilyMap::new(columns, Names::of_map(entries))),
            None => Entries::Json(Json::object()),
        })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'c, 'a>, Fault> {
        if name == TIMESTAMPED {
            return Ok(Fields::Timestamped(TimestampedFields::default()));
        }
        Ok(match self.family()? {
            Some(columns) => Fields::Family(FamilyStruct::new(columns)),
            None => Fields::Json(Json::object()),
        })
    }
}
