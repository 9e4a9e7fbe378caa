//! Aggregates: values that the server keeps, and programs add to.

use std::fmt;

use super::raw::CellSlice;
use super::{Cell, CellError, ColumnKind};

/// The sum of all that was added to a column. A program reads it and adds to it, and cannot set it.
///
/// ```
/// use keyderive::Row;
/// use keyderive::row::Sum;
///
/// #[derive(Row)]
/// struct Page {
///     title: String,
///     #[row(family = "sums")]
///     views: Sum,
/// }
///
/// let new = Page { title: "Home".into(), views: Sum::default() };
/// assert_eq!(new.views.get(), 0);
/// ```
///
/// [`Update::add`](crate::Update::add) adds to it, in the same request as other changes. A column to which nothing was added
/// reads as 0, and `put` of the row leaves it as it is. An addition is retried and
/// [counts once](crate::guide::rows#sums-that-count-once).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sum(i64);

impl Sum {
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
        #[doc = concat!("The ", $what, " value that was added to a column; none if nothing was.")]
        ///
        /// As a [`Sum`], it is read and added to, and never set.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $type(Option<i64>);

        impl $type {
            #[doc = concat!("The ", $what, " value.")]
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
        }
    )*};
}

extremes! { Min "least" Max "greatest" }

impl Aggregate for Sum {
    const KIND: ColumnKind = ColumnKind::Sum;

    fn of(value: i64) -> Self {
        Self(value)
    }
}

/// A value that the server keeps.
#[doc(hidden)]
pub trait Aggregate: Copy + Default {
    /// What a column of it is.
    const KIND: ColumnKind;
    /// What a column is that has one for each window of time.
    const KIND_IN_WINDOWS: ColumnKind = in_windows(Self::KIND);

    /// The aggregate that the server has computed.
    fn of(value: i64) -> Self;
}

/// What a column of an aggregate in windows is.
const fn in_windows(kind: ColumnKind) -> ColumnKind {
    match kind {
        ColumnKind::Min => ColumnKind::MinVersions,
        ColumnKind::Max => ColumnKind::MaxVersions,
        _ => ColumnKind::SumVersions,
    }
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
