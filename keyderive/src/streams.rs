//! What the compiler says of a `for` over a stream or a scan, which are no iterators: a bound that is never met.
//!
//! The bound has a lifetime. One without, which is never met, would be an error of this crate and not of the `for`.

use std::convert::Infallible;

use crate::client::{QueryRows, RowStream};
use crate::key::TableKey;
use crate::table::{DynRows, Exported, Reads, Rows, Scan};

/// A type whose items come without waiting.
#[diagnostic::on_unimplemented(
    message = "a `for` cannot wait for rows",
    label = "write `while let Some(row) = rows.next().await`, with a `let mut rows = …` before it",
    note = "of a scan, `.stream()` gives such `rows`, and `.collect().await?` a list for a `for`"
)]
pub trait ComesAtOnce {}

macro_rules! no_iterators {
    ($([$($params:tt)*] $type:ty),* $(,)?) => {$(
        #[doc(hidden)]
        impl<$($params)*> Iterator for $type
        where
            for<'a> &'a Self: ComesAtOnce,
        {
            type Item = Infallible;

            fn next(&mut self) -> Option<Infallible> {
                None
            }
        }
    )*};
}

no_iterators! {
    [] RowStream,
    [] DynRows,
    [T] QueryRows<T>,
    [K: TableKey, R] Exported<K, R>,
    [K: TableKey, R, S: Reads] Rows<K, R, S>,
    [K: TableKey, R, S: Reads] Scan<K, R, S>,
}
