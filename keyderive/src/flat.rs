//! A key and its row as one flat record of serde, for a line of CSV or a JSON object.

use std::fmt;

use serde::ser::{Error as _, Impossible, SerializeStruct};
use serde::{Serialize, Serializer};

/// A key and its row as one record: the fields of the key, then the fields of the row, side by side.
///
/// ```
/// use keyderive::{Flat, Row, RowKey};
/// use serde::Serialize;
///
/// #[derive(RowKey, Serialize)]
/// struct EventKey {
///     user: String,
///     at: u64,
/// }
///
/// #[derive(Row, Serialize)]
/// struct Event {
///     kind: String,
///     amount: Option<f64>,
/// }
///
/// let (key, event) = (EventKey { user: "alice".into(), at: 7 }, Event { kind: "login".into(), amount: None });
/// let json = serde_json::to_string(&Flat(&key, &event))?;
/// assert_eq!(json, r#"{"user":"alice","at":7,"kind":"login","amount":null}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Both types derive serde's `Serialize`, whose `rename` and `skip_serializing_if` apply; the names that `#[row(name)]` stores do not.
/// The record is a struct with its fields in the declared order, not a map as with `#[serde(flatten)]`: so a writer of the crate
/// [`csv`](https://docs.rs/csv) writes the names as a header, and each record as a line. A CSV field must be one value: for a list, a map
/// or a nested struct the writer fails, and a field that is skipped in some rows makes lines of different lengths.
///
/// `Flat` only writes. To read a file, deserialize a struct with all fields, and build the key and the row from it for
/// [`load`](crate::guide::loading).
///
/// # Errors
/// Serializing fails, before anything is written:
///
/// - if a field of the key and one of the row have one name: rename one by `#[serde(rename = "…")]`;
/// - if one of them is not a struct with named fields, such as a map, a tuple, or a struct with `#[serde(flatten)]`. A unit counts as a
///   struct without fields, and a newtype as its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat<'a, K, R>(pub &'a K, pub &'a R);

impl<K: Serialize, R: Serialize> Serialize for Flat<'_, K, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(key, row) = self;
        let (of_key, of_row) = (Names::of("key", *key), Names::of("row", *row));
        let (of_key, of_row) = (of_key.map_err(S::Error::custom)?, of_row.map_err(S::Error::custom)?);
        if let Some(name) = of_key.0.iter().find(|name| of_row.0.contains(name)) {
            return Err(S::Error::custom(format_args!(
                "a flat record would have the field `{name}` twice, of the key and of the row; give one of them another name, by \
                 `#[serde(rename = \"…\")]`"
            )));
        }
        let mut record = serializer.serialize_struct("Flat", of_key.0.len() + of_row.0.len())?;
        key.serialize(Fields { record: &mut record, part: "key" })?;
        row.serialize(Fields { record: &mut record, part: "row" })?;
        record.end()
    }
}

/// The names of the fields of a struct, without its values.
#[derive(Default)]
struct Names(Vec<&'static str>);

impl Names {
    fn of(part: &'static str, of: &impl Serialize) -> Result<Self, Fault> {
        let mut names = Self::default();
        of.serialize(Fields { record: &mut names, part })?;
        Ok(names)
    }
}

impl SerializeStruct for Names {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, _: &T) -> Result<(), Fault> {
        self.0.push(name);
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Why a value has no fields.
#[derive(Debug)]
struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl serde::ser::Error for Fault {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

/// Serializes the fields of a struct as fields of a record.
struct Fields<'r, S> {
    record: &'r mut S,
    /// Of what, for errors.
    part: &'static str,
}

impl<S: SerializeStruct> Fields<'_, S> {
    fn refused<T>(self, what: &str) -> Result<T, S::Error> {
        Err(S::Error::custom(format_args!(
            "a flat record has the fields of a {}, which must be a struct with named fields, and serializes as {what}",
            self.part
        )))
    }
}

impl<S: SerializeStruct> SerializeStruct for Fields<'_, S> {
    type Ok = ();
    type Error = S::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        self.record.serialize_field(name, value)
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
        self.record.skip_field(name)
    }

    fn end(self) -> Result<(), S::Error> {
        Ok(())
    }
}

/// Values without fields.
macro_rules! refused {
    ($($call:ident: $value:ty),*) => {$(
        fn $call(self, _: $value) -> Result<(), S::Error> {
            self.refused("one value")
        }
    )*};
}

impl<S: SerializeStruct> Serializer for Fields<'_, S> {
    type Ok = ();
    type Error = S::Error;
    type SerializeSeq = Impossible<(), S::Error>;
    type SerializeTuple = Impossible<(), S::Error>;
    type SerializeTupleStruct = Impossible<(), S::Error>;
    type SerializeTupleVariant = Impossible<(), S::Error>;
    type SerializeMap = Impossible<(), S::Error>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), S::Error>;

    refused! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8]
    }

    fn serialize_none(self) -> Result<(), S::Error> {
        self.refused("none")
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), S::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), S::Error> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), S::Error> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), S::Error> {
        self.refused("an enum")
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), S::Error> {
        self.refused("an enum")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.refused("a list")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.refused("a tuple")
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.refused("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.refused("an enum")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.refused("a map, as a struct with `#[serde(flatten)]` does")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, S::Error> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.refused("an enum")
    }
}
