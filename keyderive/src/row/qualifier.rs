//! Names of columns, and the keys of maps that are families, which are such names.

use std::sync::Arc;

use bytes::Bytes;

use super::{Cell, CellError, CellType};

/// A key of a map that is a column family: the name of a column.
///
/// Text, bytes, UUIDs, dates, and enums and newtypes with `#[derive(Cell)]` are names. A name is stored as a cell of its type
/// would be, and the empty name is not allowed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot name a column, so it cannot be the key of a family",
    label = "not the name of a column",
    note = "names are text, bytes, UUIDs, dates, and enums by `#[derive(Cell)]`; write a number as text of a fixed width, which \
            keeps the order",
    note = "dates and UUIDs of chrono, jiff, time and uuid need the feature of keyderive that has the crate's name, such as \
            `features = [\"jiff\"]`"
)]
pub trait Qualifier: Ord + Sized {
    /// What [`MapFamily::at`](super::MapFamily::at) takes.
    type Borrowed: ?Sized;
    /// How the names are stored.
    const KEY: CellType;

    /// The stored name.
    ///
    /// # Errors
    /// When the key has no encoding.
    fn to_qualifier(key: &Self::Borrowed) -> Result<Bytes, CellError>;

    /// The key as a borrow.
    fn borrowed(&self) -> &Self::Borrowed;

    /// Reads a key from its stored name.
    ///
    /// # Errors
    /// When no key has this name.
    fn of_qualifier(name: &[u8]) -> Result<Self, CellError>;
}

macro_rules! borrowing {
    ($($type:ty, $borrowed:ty;)*) => {$(
        impl Qualifier for $type {
            type Borrowed = $borrowed;
            const KEY: CellType = <Self as Cell>::TYPE;

            fn to_qualifier(key: &$borrowed) -> Result<Bytes, CellError> {
                Ok(Bytes::copy_from_slice(key.as_ref()))
            }

            fn borrowed(&self) -> &$borrowed {
                self
            }

            fn of_qualifier(name: &[u8]) -> Result<Self, CellError> {
                <Self as Cell>::decode(name)
            }
        }
    )*};
}

borrowing! {
    String, str;
    Box<str>, str;
    Arc<str>, str;
    Vec<u8>, [u8];
    Bytes, [u8];
}

/// Implements [`Qualifier`] for types that are stored as names, as they are as cells.
macro_rules! as_cells {
    ($($type:ty)*) => {$(
        impl Qualifier for $type {
            type Borrowed = Self;
            const KEY: CellType = <Self as Cell>::TYPE;

            fn to_qualifier(key: &Self) -> Result<Bytes, CellError> {
                key.to_stored().map(Bytes::from)
            }

            fn borrowed(&self) -> &Self {
                self
            }

            fn of_qualifier(name: &[u8]) -> Result<Self, CellError> {
                <Self as Cell>::decode(name)
            }
        }
    )*};
}

as_cells! { char std::net::IpAddr std::net::Ipv4Addr std::net::Ipv6Addr }

impl<const N: usize> Qualifier for [u8; N] {
    type Borrowed = Self;
    const KEY: CellType = <Self as Cell>::TYPE;

    fn to_qualifier(key: &Self) -> Result<Bytes, CellError> {
        Ok(Bytes::copy_from_slice(key))
    }

    fn borrowed(&self) -> &Self {
        self
    }

    fn of_qualifier(name: &[u8]) -> Result<Self, CellError> {
        <Self as Cell>::decode(name)
    }
}

#[cfg(feature = "uuid")]
as_cells! { uuid::Uuid }
#[cfg(feature = "chrono")]
as_cells! { chrono::NaiveDate }
#[cfg(feature = "jiff")]
as_cells! { jiff::civil::Date }
#[cfg(feature = "time")]
as_cells! { time::Date }

/// The family and the qualifier of a column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'n> {
    pub family: &'n str,
    pub qualifier: &'n [u8],
}
