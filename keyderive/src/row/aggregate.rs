//! Aggregates: the server combines the values that programs add.

use std::fmt;

use bytes::Bytes;

use super::encode::check_timestamp;
use super::raw::CellSlice;
use super::{Cell, CellError, ColumnKind, Mutation, Name, RowError};

/// A column that the server adds up. Programs add to it and read it, and cannot set it.
///
/// ```
/// use keyderive::row::Sum;
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct PageKey { url: String }
///
/// #[derive(Row)]
/// struct Page {
///     title: Option<String>,
///     #[row(family = "sums")] // a family of sums alone
///     views: Sum,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let pages = Client::embedded().table::<PageKey, Page>("pages");
/// pages.create_if_absent().await?;
/// let home = PageKey { url: "/".into() };
/// pages.update(&home).set(Page::TITLE, "Home").add(Page::VIEWS, 40).await?;
/// pages.update(&home).add(Page::VIEWS, 3).await?;
/// pages.update(&home).add(Page::VIEWS, -1).await?;
/// assert_eq!(pages.get(&home).await?.unwrap().views.get(), 42);
///
/// pages.update(&home).clear(Page::VIEWS).await?; // from 0 again
/// # Ok(())
/// # }
/// ```
///
/// [`Update::add`](crate::Update::add) adds to it, in the same request as other changes, and
/// [counts once](crate::guide::rows#sums-that-count-once) however often it is retried. A sum to which nothing was added reads as 0. A sum
/// that overflows wraps around. [`put`](crate::Table::put) leaves it as it is: the value of the field is not written, so any does, such as
/// `Sum::default()`. A load that [adds sums](crate::table::load::Load::add_sums) adds the value instead. Sums need families of their own: no other
/// field can be in theirs.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sum(i64);

impl Sum {
    /// A value for [`Load::add_sums`](crate::table::load::Load::add_sums), which adds it. Other writes of a row leave the stored sum as it is.
    #[must_use]
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// The sum.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sum({})", self.0)
    }
}

macro_rules! extremes {
    ($($type:ident $what:literal)*) => {$(
        #[doc = concat!("A column of which the server keeps the ", $what, " value that was added; `None` if none was.")]
        ///
        /// Programs add to it by [`Update::add`](crate::Update::add) and read it, as a [`Sum`], and cannot set it.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $type(Option<i64>);

        impl $type {
            /// A value for [`Load::add_sums`](crate::table::load::Load::add_sums), which adds it. Other writes of a row leave the stored value as
            /// it is.
            #[must_use]
            pub const fn new(value: i64) -> Self {
                Self(Some(value))
            }

            #[doc = concat!("The ", $what, " value that was added.")]
            #[must_use]
            pub const fn get(self) -> Option<i64> {
                self.0
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($type)).field(&self.0).finish()
            }
        }

        impl Aggregate for $type {
            const KIND: ColumnKind = ColumnKind::$type;

            fn of(value: i64) -> Self {
                Self(Some(value))
            }

            fn added(self) -> Option<i64> {
                self.0
            }
        }
    )*};
}

extremes! { Min "least" Max "greatest" }

impl Aggregate for Sum {
    const KIND: ColumnKind = ColumnKind::Sum;

    fn of(value: i64) -> Self {
        Self(value)
    }

    fn added(self) -> Option<i64> {
        Some(self.0)
    }
}

/// A value that the server keeps.
#[doc(hidden)]
pub trait Aggregate: Copy + Default {
    /// The kind of its columns.
    const KIND: ColumnKind;
    /// The kind of a column that has one for each window of time.
    const KIND_IN_WINDOWS: ColumnKind = in_windows(Self::KIND);

    /// The aggregate that the server has computed.
    fn of(value: i64) -> Self;

    /// What a write of this value adds.
    fn added(self) -> Option<i64>;
}

/// The kind of a column of an aggregate in windows.
const fn in_windows(kind: ColumnKind) -> ColumnKind {
    match kind {
        ColumnKind::Min => ColumnKind::MinVersions,
        ColumnKind::Max => ColumnKind::MaxVersions,
        _ => ColumnKind::SumVersions,
    }
}

/// The change that adds to an aggregate; with windows, to the one whose window contains the time.
///
/// # Errors
/// When no cell can have the time.
pub(crate) fn addition(
    column: Name<'_>,
    kind: ColumnKind,
    window_micros: i64,
    timestamp_micros: i64,
    amount: i64,
) -> Result<Mutation, RowError> {
    // An aggregate without windows is at time 0.
    let start = match window_micros {
        0 => timestamp_micros,
        window => timestamp_micros.div_euclid(window).saturating_mul(window),
    };
    check_timestamp(start).map_err(|error| RowError::cell(column, error))?;
    if start == 0 && kind.reads_versions() {
        let error = CellError::unsupported(
            "has an aggregate for each window of time, and time 0 is that of an aggregate without windows; call `add_at` with the time \
             in microseconds since the epoch",
        );
        return Err(RowError::cell(column, error));
    }
    let (family, qualifier) = (column.family, Bytes::copy_from_slice(column.qualifier));
    Ok(match kind {
        ColumnKind::Sum | ColumnKind::SumVersions => Mutation::add_to_cell(family, qualifier, start, amount),
        _ => Mutation::add_to_extreme(family, qualifier, start, amount),
    })
}

/// The aggregate in a column's only cell, which is at time 0.
///
/// # Errors
/// If the newest cell is at another time: the column has one aggregate for each of several times.
pub(super) fn read<A: Aggregate>(cells: CellSlice<'_>) -> Result<A, CellError> {
    let Some(cell) = cells.first() else { return Ok(A::default()) };
    if cell.timestamp_micros() != 0 {
        return Err(CellError::malformed(format_args!(
            "has an aggregate of the time {}, in microseconds since the epoch, and not of all time, which is at 0; read it \
             as `Versions<…>`",
            cell.timestamp_micros()
        )));
    }
    decode(cell.value())
}

/// The aggregate that a cell holds.
pub(super) fn decode<A: Aggregate>(value: &[u8]) -> Result<A, CellError> {
    <i64 as Cell>::decode(value).map(A::of)
}
