//! The values that are made of others.

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct};

use super::cell::Cells;
use super::family::{FamilyMap, FamilyStruct};
use super::json::Json;
use super::{Stored, to_stored};
use crate::row::error::Fault;
use crate::row::value;

/// Takes a sequence: the versions of a column, or JSON.
pub(super) enum VersionsOr {
    Versions(Vec<(i64, Bytes)>),
    Json(Json),
}

impl SerializeSeq for VersionsOr {
    type Ok = Stored;
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        match self {
            Self::Json(json) => json.serialize_element(value),
            Self::Versions(versions) => {
                if let Stored::Versions(version) = to_stored(value)? {
                    versions.extend(version.0);
                }
                Ok(())
            }
        }
    }

    fn end(self) -> Result<Stored, Fault> {
        let versions = match self {
            Self::Json(json) => return SerializeSeq::end(json),
            Self::Versions(versions) if versions.is_empty() => return Ok(Stored::Absent),
            Self::Versions(versions) => versions,
        };
        let mut times: Vec<_> = versions.iter().map(|(at, _)| *at).collect();
        times.sort_unstable();
        match times.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(Stored::Versions(Box::new(Cells(versions)))),
            Some(pair) => Err(Fault::unsupported(format_args!(
                "has two versions with the timestamp {}, of which Bigtable keeps one; give each its own",
                pair[0]
            ))),
        }
    }
}

/// Takes the entries of a map: the columns of a family, or JSON.
pub(super) enum Entries<'c, 'a> {
    Family(FamilyMap<'c, 'a>),
    Json(Json),
}

impl SerializeMap for Entries<'_, '_> {
    type Ok = Stored;
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        match self {
            Self::Family(family) => family.key(key),
            Self::Json(json) => json.name(key),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        match self {
            Self::Family(family) => family.value(value),
            Self::Json(json) => json.value(value),
        }
    }

    fn end(self) -> Result<Stored, Fault> {
        match self {
            Self::Family(family) => {
                family.end();
                Ok(Stored::Family)
            }
            Self::Json(json) => Ok(Stored::value(json.finish())),
        }
    }
}

/// Takes the fields of a struct: the columns of a family, a value with its timestamp, or JSON.
pub(super) enum Fields<'c, 'a> {
    Family(FamilyStruct<'c, 'a>),
    Timestamped(TimestampedFields),
    Json(Json),
}

impl SerializeStruct for Fields<'_, '_> {
    type Ok = Stored;
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        match self {
            Self::Family(family) => family.field(name, value),
            Self::Timestamped(fields) => fields.field(value),
            Self::Json(json) => json.member(name, value),
        }
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), Fault> {
        if let Self::Family(family) = self {
            family.skip(name);
        }
        Ok(())
    }

    fn end(self) -> Result<Stored, Fault> {
        match self {
            Self::Family(family) => {
                family.end();
                Ok(Stored::Family)
            }
            Self::Timestamped(fields) => Ok(fields.end()),
            Self::Json(json) => Ok(Stored::value(json.finish())),
        }
    }
}

/// The fields of a [`Timestamped`](crate::row::Timestamped): the timestamp, then the value.
#[derive(Default)]
pub(super) struct TimestampedFields {
    timestamp_micros: Option<i64>,
    value: Option<Bytes>,
}

impl TimestampedFields {
    fn field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        match to_stored(value)? {
            Stored::Value(stored) if self.timestamp_micros.is_none() => {
                self.timestamp_micros = Some(value::read_timestamp(&stored)?);
            }
            Stored::Value(stored) => self.value = Some(*stored),
            Stored::Absent => {
                return Err(Fault::unsupported(
                    "is a `None` inside `Timestamped` or `Versions`, which would not be read back; put the `Option` \
                     around it",
                ));
            }
            Stored::Versions(_) | Stored::Set | Stored::Family => {
                return Err(Fault::unsupported(
                    "is a timestamp inside another one; a cell has one timestamp: use one `Timestamped` or `Versions`",
                ));
            }
        }
        Ok(())
    }

    fn end(self) -> Stored {
        match self {
            Self { timestamp_micros: Some(at), value: Some(value) } => {
                Stored::Versions(Box::new(Cells(vec![(at, value)])))
            }
            Self { .. } => Stored::Absent,
        }
    }
}
