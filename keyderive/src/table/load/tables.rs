//! The tables that a load writes to, and the items that it reads for them.

use std::borrow::Borrow;
use std::error::Error as StdError;
use std::fmt;

use futures_core::Stream;

use super::Load;
use crate::client::{Entry, Error};
use crate::key::TableKey;
use crate::row::Row;
use crate::table::{Handle, Table};

/// Loads the rows of a stream into several tables, such as a table and its lookup by another key: each item has a row for each.
///
/// ```
/// use keyderive::load::load_tables;
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct EventKey { user: String, at: u64 }
/// # #[derive(Row)] struct Event { order: String }
///
/// /// Finds the event of an order.
/// #[derive(RowKey)]
/// struct OrderKey {
///     order: String,
/// }
///
/// #[derive(Row, Debug, PartialEq)]
/// struct EventOfOrder {
///     user: String,
///     at: i64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::embedded();
/// let events = client.table::<EventKey, Event>("events");
/// let by_order = client.table::<OrderKey, EventOfOrder>("events-by-order");
/// # events.create_if_absent().await?;
/// # by_order.create_if_absent().await?;
/// let rows = futures_util::stream::iter((0..1000).map(|at: u32| {
///     let (user, order) = (format!("user-{}", at % 50), format!("order-{at}"));
///     (
///         (EventKey { user: user.clone(), at: at.into() }, Event { order: order.clone() }),
///         (OrderKey { order }, EventOfOrder { user, at: at.into() }),
///     )
/// }));
/// let report = load_tables((events, by_order.clone()), rows).await?;
/// assert_eq!(report.tables()[1].written, 1000);
/// report.all_written()?;
/// let found = by_order.get(&OrderKey { order: "order-7".into() }).await?;
/// assert_eq!(found, Some(EventOfOrder { user: "user-7".into(), at: 7 }));
/// # Ok(())
/// # }
/// ```
///
/// It is one load, as [`Load`] describes it: one look-ahead, one [`Checkpoint`](super::Checkpoint), one report with the numbers
/// [of each table](super::LoadReport::tables). A request has rows of one table. All other numbers, and the limits of
/// [`max_failures`](Load::max_failures), are of rows: an item is a row in each table.
///
/// **The rows of an item are written in no order, and not at once**: until the load has ended, and after one that failed, a table can have
/// a row of an item that another lacks. A row that fails in one table is still written to the others; the report says
/// [which table](super::FailedRow::table) lacks it, and a resumed load retries it there alone. The checkpoint is after the last item of
/// which all rows are done.
///
/// The tables can be of several clients. Two with one name must have key types with different tags.
pub fn load_tables<'a, T, S>(tables: T, rows: S) -> Load<'a, T, S>
where
    T: LoadTables,
    S: Stream<Item: LoadItem<T::Item>>,
{
    Load::new(tables, rows)
}

/// What a load writes to: a [`Table`], or a tuple of two to four; or a [`DynTable`](crate::DynTable).
#[expect(private_bounds, reason = "it is sealed: its calls take types of the client")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no table that rows are loaded into, nor a tuple of two to four",
    note = "a table from `rows_as` only reads, and one that is re-keyed takes no load: load rows of the whole into one table"
)]
pub trait LoadTables: TableSet<<Self as LoadTables>::Item> {
    /// A key and a row for each table: `(K, R)` for one, `((K, R), (L, S))` for two.
    type Item;
}

/// Which parts of a row are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowParts {
    /// All but the aggregates; unless it `merges`, in the place of the row that is there.
    Columns { merges: bool },
    /// The columns, and what the row adds to aggregates.
    All { merges: bool },
    /// The columns alone, of a load that writes `All` else.
    WithoutAdditions { merges: bool },
    /// What it adds to aggregates.
    Additions,
}

impl RowParts {
    /// The same without additions.
    pub(super) fn without_additions(self) -> Self {
        match self {
            Self::All { merges } => Self::WithoutAdditions { merges },
            parts => parts,
        }
    }
}

/// The calls that a load is made of.
pub(crate) trait TableSet<I>: fmt::Debug + Send + Sync {
    fn handles(&self) -> Vec<&Handle>;

    /// The same tables, whose calls are retried as long as the settings allow.
    fn without_retry_budget(self) -> Self;

    /// Encodes parts of the row of a table. The entry has no mutation if the row has none of these parts.
    ///
    /// # Errors
    /// If the key or the row cannot be encoded, or is above a limit. The entry may have the key.
    fn encode_item(&self, table: usize, item: &I, parts: RowParts, entry: &mut Entry) -> Result<(), Error>;

    /// The encoded key of the row of a table, if it has one.
    fn encode_item_key(&self, table: usize, item: &I) -> Option<Vec<u8>>;
}

impl<K: TableKey, R: Row> LoadTables for Table<K, R> {
    type Item = (K, R);
}

impl<K: TableKey, R: Row> TableSet<(K, R)> for Table<K, R> {
    fn handles(&self) -> Vec<&Handle> {
        vec![&self.handle]
    }

    fn without_retry_budget(self) -> Self {
        self.with(|settings| settings.retry_budget = false)
    }

    fn encode_item(
        &self,
        _: usize,
        (key, row): &(K, R),
        parts: RowParts,
        entry: &mut Entry,
    ) -> Result<(), Error> {
        match parts {
            RowParts::Columns { merges } => self.encode_row(entry, key, row, merges)?,
            RowParts::All { merges } => self.encode_row_and_additions(entry, key, row, merges)?,
            RowParts::WithoutAdditions { merges } => {
                self.encode_without_additions(entry, key, row, merges)?;
            }
            RowParts::Additions => self.encode_additions(entry, key, row)?,
        }
        match parts {
            RowParts::WithoutAdditions { .. } | RowParts::Additions if entry.mutations.is_empty() => Ok(()),
            _ => entry.check(&self.handle.name),
        }
    }

    fn encode_item_key(&self, _: usize, (key, _): &(K, R)) -> Option<Vec<u8>> {
        key.encode().ok()
    }
}

macro_rules! table_sets {
    ($(($($key:ident $row:ident $at:tt),*);)*) => {$(
        impl<$($key: TableKey, $row: Row),*> LoadTables for ($(Table<$key, $row>,)*) {
            type Item = ($(($key, $row),)*);
        }

        impl<$($key: TableKey, $row: Row),*> TableSet<($(($key, $row),)*)> for ($(Table<$key, $row>,)*) {
            fn handles(&self) -> Vec<&Handle> {
                vec![$(&self.$at.handle),*]
            }

            fn without_retry_budget(self) -> Self {
                ($(self.$at.without_retry_budget(),)*)
            }

            fn encode_item(
                &self,
                table: usize,
                item: &($(($key, $row),)*),
                parts: RowParts,
                entry: &mut Entry,
            ) -> Result<(), Error> {
                match table {
                    $($at => self.$at.encode_item(0, &item.$at, parts, entry),)*
                    _ => Ok(()),
                }
            }

            fn encode_item_key(&self, table: usize, item: &($(($key, $row),)*)) -> Option<Vec<u8>> {
                match table {
                    $($at => self.$at.encode_item_key(0, &item.$at),)*
                    _ => None,
                }
            }
        }
    )*};
}

table_sets! {
    (A R 0, B S 1);
    (A R 0, B S 1, C T 2);
    (A R 0, B S 1, C T 2, D U 3);
}

/// An error of a load's input.
pub(super) type InputError = Box<dyn StdError + Send + Sync>;

/// An item that a load reads: a key and a row, or a tuple of such pairs for [several tables](load_tables).
///
/// It is `(K, R)`, `&(K, R)`, or a [`Result`] of one of them, so that a load can take the rows of a parser directly. An item
/// that is an error ends the load, after all rows before it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an item of a load of `{T}`",
    label = "expected `{T}`, `&{T}`, or a `Result` of one of them"
)]
pub trait LoadItem<T>: sealed::Sealed {
    /// The item, or a reference to it.
    #[doc(hidden)]
    type Item: Borrow<T>;

    /// The keys and the rows.
    ///
    /// # Errors
    /// That of the input.
    #[doc(hidden)]
    fn into_item(self) -> Result<Self::Item, InputError>;
}

mod sealed {
    pub trait Sealed {}

    impl<T, E> Sealed for Result<T, E> {}
}

macro_rules! items {
    ($(($($part:ident),*))*) => {$(
        impl<$($part),*> sealed::Sealed for ($($part,)*) {}
        impl<$($part),*> sealed::Sealed for &($($part,)*) {}

        impl<$($part),*> LoadItem<($($part,)*)> for ($($part,)*) {
            type Item = Self;

            fn into_item(self) -> Result<Self, InputError> {
                Ok(self)
            }
        }

        impl<$($part),*> LoadItem<($($part,)*)> for &($($part,)*) {
            type Item = Self;

            fn into_item(self) -> Result<Self, InputError> {
                Ok(self)
            }
        }
    )*};
}

// A key and a row is a pair, as are the rows of two tables.
items! { (A, B) (A, B, C) (A, B, C, D) }

impl<T, I: Borrow<T>, E: Into<InputError>> LoadItem<T> for Result<I, E> {
    type Item = I;

    fn into_item(self) -> Result<I, InputError> {
        self.map_err(Into::into)
    }
}
