//! Numbers and `bool`s in a struct flattened into a row: `#[serde(with = "keyderive::row::flattened")]`.
//!
//! ```
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct PageKey { url: String }
//! #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
//! struct Page {
//!     title: String,
//!     #[serde(flatten)]
//!     audit: Audit,
//! }
//!
//! #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
//! struct Audit {
//!     author: String,
//!     #[serde(with = "keyderive::row::flattened")]
//!     revision: u32,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let pages = Client::embedded().table::<PageKey, Page>("pages");
//! pages.create_if_absent().await?;
//! let page = Page { title: "Home".into(), audit: Audit { author: "alice".into(), revision: 7 } };
//! let key = PageKey { url: "/".into() };
//! pages.put(&key, &page).await?;
//! assert_eq!(pages.get(&key).await?, Some(page));
//! # Ok(())
//! # }
//! ```
//!
//! serde reads the fields of a flattened struct before it knows their types, as text or as bytes. Text, enums without
//! data and bytes read back like that, but numbers need this attribute. It does not change [how they are
//! stored](super).
//!
//! Use it for integers, floats, `bool`, and options of these, which also need `#[serde(default)]`. For a flattened map
//! of numbers, use a newtype with the attribute on its field:
//!
//! ```
//! use std::collections::BTreeMap;
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct PageKey { url: String }
//! #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
//! struct Page {
//!     title: String,
//!     #[serde(flatten)]
//!     counts: BTreeMap<String, Count>, // `cf:visits`, `cf:likes`, each beside `cf:title`
//! }
//!
//! #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
//! struct Count(#[serde(with = "keyderive::row::flattened")] i64);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let pages = Client::embedded().table::<PageKey, Page>("pages");
//! pages.create_if_absent().await?;
//! let counts = BTreeMap::from([("visits".to_owned(), Count(41)), ("likes".to_owned(), Count(7))]);
//! let page = Page { title: "Home".into(), counts };
//! let key = PageKey { url: "/".into() };
//! pages.put(&key, &page).await?;
//! assert_eq!(pages.get(&key).await?, Some(page));
//! assert_eq!(pages.increment(&key, "visits", 1).await?, 42);
//! # Ok(())
//! # }
//! ```
//!
//! Store other types, such as sequences, as [`json`](super::json) there. A table that knows the row type's
//! `Deserialize` rejects a write of a value that would not read back.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use super::value;

/// The name by which a column knows that its bytes are asked for, and that what is written is read so.
pub(super) const NUMBER: &str = "$keyderive::row::flattened";

/// Serializes the value unchanged.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<T: Number, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_newtype_struct(NUMBER, value)
}

/// Deserializes the value from the bytes of its column, or from a number in another format.
///
/// # Errors
/// If the input is not a number of this type. Also errors of the deserializer.
pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_newtype_struct(NUMBER, NumberVisitor(PhantomData))
}

/// The types that this module stores: integers, floats, `bool`, and options of them.
pub trait Number: Serialize + sealed::Sealed {}

mod sealed {
    pub trait Sealed: Sized {
        const EXPECTED: &'static str;

        fn of_bytes(bytes: &[u8]) -> Option<Self>;

        fn of_integer(_: i64) -> Option<Self> {
            None
        }

        fn of_float(_: f64) -> Option<Self> {
            None
        }

        fn none() -> Option<Self> {
            None
        }
    }
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Number for $type {}

        impl sealed::Sealed for $type {
            const EXPECTED: &'static str =
                concat!("`", stringify!($type), "`, which is stored as an integer of 8 bytes, big-endian");

            fn of_bytes(bytes: &[u8]) -> Option<Self> {
                value::read_integer(bytes).ok()
            }

            fn of_integer(number: i64) -> Option<Self> {
                number.try_into().ok()
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Number for bool {}

impl sealed::Sealed for bool {
    const EXPECTED: &'static str = "`bool`, which is stored as the integer 0 or 1 of 8 bytes, big-endian";

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        value::read_boolean(bytes).ok()
    }

    fn of_integer(number: i64) -> Option<Self> {
        [false, true].get(usize::try_from(number).ok()?).copied()
    }
}

impl Number for f32 {}

impl sealed::Sealed for f32 {
    const EXPECTED: &'static str = "`f32`, which is stored as 4 bytes, IEEE 754 big-endian";

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        value::read_float(bytes).ok()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "another format's number, rounded as serde rounds it"
    )]
    fn of_float(number: f64) -> Option<Self> {
        Some(number as Self)
    }
}

impl Number for f64 {}

impl sealed::Sealed for f64 {
    const EXPECTED: &'static str = "`f64`, which is stored as 8 bytes, IEEE 754 big-endian";

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        value::read_double(bytes).ok()
    }

    fn of_float(number: f64) -> Option<Self> {
        Some(number)
    }
}

impl<T: Number> Number for Option<T> {}

impl<T: Number> sealed::Sealed for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        T::of_bytes(bytes).map(Some)
    }

    fn of_integer(number: i64) -> Option<Self> {
        T::of_integer(number).map(Some)
    }

    fn of_float(number: f64) -> Option<Self> {
        T::of_float(number).map(Some)
    }

    fn none() -> Option<Self> {
        Some(None)
    }
}

struct NumberVisitor<T>(PhantomData<T>);

impl<'de, T: Number> Visitor<'de> for NumberVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<T, E> {
        T::of_bytes(bytes).ok_or_else(|| E::invalid_value(Unexpected::Bytes(bytes), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.visit_bytes(text.as_bytes())
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<T, E> {
        T::of_integer(flag.into()).ok_or_else(|| E::invalid_type(Unexpected::Bool(flag), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::of_integer(number).ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        let value = i64::try_from(number).ok().and_then(T::of_integer);
        value.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        T::of_float(number).ok_or_else(|| E::invalid_type(Unexpected::Float(number), &self))
    }

    fn visit_none<E: de::Error>(self) -> Result<T, E> {
        T::none().ok_or_else(|| E::invalid_type(Unexpected::Option, &self))
    }

    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        self.visit_none()
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}
