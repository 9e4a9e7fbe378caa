//! Scans and streams as iterators, which they are not.

use std::convert::Infallible;
use std::future::Ready;

use super::instead;
use crate::client::{Error, QueryRows, RowStream};
use crate::key::TableKey;
use crate::table::{Export, Exported, Reads, Rows, Scan};

/// A type whose items come without waiting.
///
/// The bounds below have a lifetime, for the reason that those of calls have a parameter.
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
    [T] QueryRows<T>,
    [K: TableKey, R] Exported<K, R>,
    [K: TableKey, R, S: Reads] Rows<K, R, S>,
    [K: TableKey, R, S: Reads] Scan<K, R, S>,
}

instead! {
    /// A scan that is already read.
    IsStreamed: "rows come from a stream, and nothing has begun one",
        "write `.stream()` first: `let mut rows = ….stream()`, then `rows.next().await`",
        "`.collect().await?` gives a list";
    /// An aggregate of a scan.
    ComputedByTheServer: "a scan does not compute with values",
        "add up in the closure of `.visit(…)`, or over `.stream()`",
        "`.count()` counts rows; SQL, by `Client::query`, has sums and averages";
    /// A limit of a scan.
    LimitedByTake: "a scan has a limit",
        "write `.limit(n)`",
        "`.stream()` gives the rows of a scan with a limit, and `.collect().await?` a list of them";
}

type Next<K, R> = Ready<Option<Result<(<K as TableKey>::Stored, R), Error>>>;

#[doc(hidden)]
impl<K: TableKey, R, S: Reads> Scan<K, R, S> {
    #[allow(clippy::should_implement_trait, reason = "it is called where there is no iterator")]
    pub fn next(&mut self) -> Next<K, R>
    where
        Self: IsStreamed<K>,
    {
        Self::never()
    }

    pub fn take<N>(self, _rows: N) -> Self
    where
        Self: LimitedByTake<N>,
    {
        Self::never()
    }
}

#[doc(hidden)]
impl<K: TableKey, R> Export<K, R> {
    #[allow(clippy::should_implement_trait, reason = "it is called where there is no iterator")]
    pub fn next(&mut self) -> Next<K, R>
    where
        Self: IsStreamed<K>,
    {
        Self::never()
    }
}

macro_rules! aggregates {
    ($($name:ident)*) => {
        #[doc(hidden)]
        impl<K: TableKey, R, S: Reads> Scan<K, R, S> {$(
            pub fn $name<C>(self, _column: C) -> Ready<Result<i64, Error>>
            where
                Self: ComputedByTheServer<C>,
            {
                Self::never()
            }
        )*}
    };
}

aggregates! { sum avg min max }
