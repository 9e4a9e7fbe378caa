//! What the compiler says of a `for` over a stream or a scan, which are no iterators: an impl whose bound is never met.
//!
//! The bound has a lifetime. One without, which is never met, would be an error of this crate and not of the call.

use std::convert::Infallible;
use std::iter::Empty;

use crate::client::{QueryRows, RowStream};
use crate::key::TableKey;
use crate::table::{DynRows, Exported, RowStore, Rows, Scan};

/// A type whose items come without waiting.
#[diagnostic::on_unimplemented(
    message = "a `for` cannot wait for rows",
    label = "write `while let Some(row) = rows.next().await`, with a `let mut rows` before it",
    note = "`.stream()` of a scan gives such `rows`, and `.collect().await?` a list for `for`"
)]
pub trait ComesAtOnce {}

macro_rules! no_iterators {
    ($([$($params:tt)*] $type:ty),* $(,)?) => {$(
        #[doc(hidden)]
        impl<$($params)*> IntoIterator for $type
        where
            for<'a> &'a Self: ComesAtOnce,
        {
            type Item = Infallible;
            type IntoIter = Empty<Infallible>;

            fn into_iter(self) -> Self::IntoIter {
                std::iter::empty()
            }
        }

        #[doc(hidden)]
        impl<$($params)*> IntoIterator for &mut $type
        where
            for<'a> &'a Self: ComesAtOnce,
        {
            type Item = Infallible;
            type IntoIter = Empty<Infallible>;

            fn into_iter(self) -> Self::IntoIter {
                std::iter::empty()
            }
        }
    )*};
}

no_iterators! {
    [] RowStream,
    [] DynRows,
    [T] QueryRows<T>,
    [K: TableKey, R] Exported<K, R>,
    [K: TableKey, R, S: RowStore] Rows<K, R, S>,
    [K: TableKey, R, S: RowStore] Scan<K, R, S>,
}
