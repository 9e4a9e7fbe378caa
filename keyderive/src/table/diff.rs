//! Comparisons of two tables, row by row and cell by cell, whose keys may be of different types.
//!
//! [`Table::diff`] starts one; [`Diff`] describes how it runs.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

#[doc(no_inline)]
pub use super::transfer::NewKey;
pub use super::transfer::{CellDifference, DifferentKey, RowDifference, TableDiff};
use super::transfer::{Comparison, Mapping, OnDifference, OnProgress, Progress, Reporter, compare_with};
use super::{OneTable, Reads, RowRef, Table};
use crate::client::Error;
use crate::key::TableKey;

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// Compares this table, the old one, with a new one, in which each row has the key that a closure gives it: every cell of every row.
    ///
    /// ```
    /// use keyderive::{Client, Row, RowKey};
    ///
    /// #[derive(RowKey, Debug)]
    /// struct UserKey {
    ///     id: u64,
    /// }
    ///
    /// #[derive(RowKey, Debug)]
    /// #[salt(range = 4, over = "id")]
    /// struct SaltedKey {
    ///     id: u64,
    /// }
    ///
    /// #[derive(Row)]
    /// struct User {
    ///     age: u32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let client = Client::embedded();
    /// let (old, new) = (client.table::<UserKey, User>("users"), client.table::<SaltedKey, User>("users-4"));
    /// # old.create_if_absent().await?;
    /// # new.create_if_absent().await?;
    /// # old.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// let diff = old.diff(&new, |key, _| SaltedKey { id: key.id }).await?;
    /// assert!(!diff.is_equal());
    /// println!("{diff}");
    /// # assert_eq!(
    /// #     diff.to_string(),
    /// #     "tables `users` and `users-4` differ: of 1 row compared, 1 is missing in `users-4`\n  \
    /// #      UserKey { id: 7 } (`00000000000000000007`): `users-4` has no row SaltedKey { id: 7 } (`2#00000000000000000007`)"
    /// # );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// prints
    ///
    /// ```text
    /// tables `users` and `users-4` differ: of 1 row compared, 1 is missing in `users-4`
    ///   UserKey { id: 7 } (`00000000000000000007`): `users-4` has no row SaltedKey { id: 7 } (`2#00000000000000000007`)
    /// ```
    ///
    /// The closure has the decoded key and the row; [`RowRef::read`] decodes its columns. It returns the key in the other
    /// table, an `Option` of it, where `None` leaves the row out, or a `Result`. It must always return the same for the same
    /// row. For tables of one key type it is `|key, _| key`. [`Diff`] describes how it runs, and its settings.
    pub fn diff<'a, N, Q, T>(
        &self,
        other: &Table<N, Q, impl OneTable>,
        new_key: impl Fn(K::Stored, RowRef<'_>) -> T + Send + Sync + 'a,
    ) -> Diff<'a>
    where
        N: TableKey,
        T: NewKey<N>,
        K::Stored: fmt::Debug,
        N::Stored: fmt::Debug,
        S: OneTable,
    {
        let mapping = Mapping::of_closure(self, other, new_key);
        Diff::new(mapping)
    }
}

/// A comparison of two tables, from [`Table::diff`]. Await it to run it.
///
/// It reads both tables, whole, and writes nothing: a program that writes to one of them meanwhile makes differences.
///
/// 1. The rows of the old table are read by [partitions](Table::partitions), several at a time, and the rows of their new keys
///    in batches of up to 1000. Cells are compared with their timestamps: every version of every column in every family.
/// 2. The keys of the new table are read and counted, with sums of their hashes. If these match the rows found before, the
///    new table has no other row, and no two rows of the old table have one key. Otherwise the keys whose hashes differ are
///    read once more in both tables.
///
/// Memory is bounded: [`parallel`](Self::parallel) batches of at most 4 MiB from each table, or a single larger row, 3 MiB of
/// sums, and at most 1,000,000 keys of rows that one table has alone. So each such row is found and counted, unless there are more
/// than about a million; then [`TableDiff::is_lower_bound`] says so.
///
/// A cell that both tables have must have the same value, however old it is. A cell that only one table has is no difference if the
/// garbage collection rule of its family in that table allows its removal, by the client's clock and up to a minute early: the service
/// removes such cells some time later, in each table for itself. [`TableDiff::expired`] counts them.
/// [`Migration::verify`](crate::table::rekey::Migration::verify) compares by the same rule.
///
/// # Settings
///
/// | | default | |
/// |---|---|---|
/// | [`parallel`](Self::parallel) | 8 | partitions read, and batches compared, at a time |
/// | [`first`](Self::first) | 20 | differing rows that are kept |
/// | [`only_newest`](Self::only_newest) | no | the newest value of each column alone, without its timestamp |
/// | [`report_foreign`](Self::report_foreign) | no | rows of the old table whose keys do not decode are differences |
///
/// # Errors
/// When a table does not exist or has another layout; for a row of the old table whose key is not of its key type, unless
/// [`report_foreign`](Self::report_foreign) is set; for a row to which the closure gives no valid key; when a request fails. A difference is no error.
///
/// # Cancel safety
/// A dropped future cancels the reads.
#[must_use = "a diff compares nothing until it is awaited"]
pub struct Diff<'a> {
    mapping: Mapping<'a>,
    settings: Comparison,
    on_difference: Option<OnDifference<'a>>,
    on_progress: Option<OnProgress<'a>>,
}

/// The default settings of a comparison.
pub(super) const DEFAULT: Comparison =
    Comparison { parallel: 8, first: 20, only_newest: false, reports_foreign: false };

impl<'a> Diff<'a> {
    pub(super) fn new(mapping: Mapping<'a>) -> Self {
        Self { mapping, settings: DEFAULT, on_difference: None, on_progress: None }
    }

    /// How many partitions are read, and how many batches are compared, at a time. 0 counts as 1.
    pub fn parallel(mut self, partitions: usize) -> Self {
        self.settings.parallel = partitions.max(1);
        self
    }

    /// How many rows that differ [`TableDiff::first`] keeps, with up to 10 cells of each. All are counted.
    pub fn first(mut self, rows: usize) -> Self {
        self.settings.first = rows;
        self
    }

    /// Compares the newest value of each column, without its timestamp and without earlier versions: for tables that are written side by
    /// side, whose cells have the times of their own writes.
    ///
    /// ```
    /// use keyderive::row::Timestamped;
    /// use keyderive::{Client, Row, RowKey};
    ///
    /// #[derive(RowKey, Clone, Debug)]
    /// struct UserKey {
    ///     id: u64,
    /// }
    ///
    /// #[derive(Row)]
    /// struct User {
    ///     age: Timestamped<u32>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// let (one, other) = (client.table::<UserKey, User>("users"), client.table::<UserKey, User>("users-2"));
    /// # one.create_if_absent().await?;
    /// # other.create_if_absent().await?;
    /// one.put(&UserKey { id: 7 }, &User { age: Timestamped::new(1_000, 42) }).await?;
    /// other.put(&UserKey { id: 7 }, &User { age: Timestamped::new(2_000, 42) }).await?;
    /// assert!(!one.diff(&other, |key, _| key).await?.is_equal());
    /// assert!(one.diff(&other, |key, _| key).only_newest().await?.is_equal());
    /// # Ok(())
    /// # }
    /// ```
    pub fn only_newest(mut self) -> Self {
        self.settings.only_newest = true;
        self
    }

    /// Reports rows of the old table whose keys are not of its key type as differences, and continues; otherwise the first one fails
    /// the comparison. [`TableDiff::foreign`] counts them.
    ///
    /// ```
    /// # use keyderive::row::Mutation;
    /// # use keyderive::{Client, ErrorKind, Row, RowKey};
    /// # #[derive(RowKey, Clone, Debug)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # let (old, new) = (client.table::<UserKey, User>("users"), client.table::<UserKey, User>("users-2"));
    /// # old.create_if_absent().await?;
    /// # new.create_if_absent().await?;
    /// # client.raw_table("users").mutate_row("carol", vec![Mutation::set("cf", "age", 1_000, "")]).await?;
    /// assert_eq!(old.diff(&new, |key, _| key).await.unwrap_err().kind(), ErrorKind::ForeignRow);
    /// let diff = old.diff(&new, |key, _| key).report_foreign().await?;
    /// assert_eq!((diff.foreign(), diff.is_equal()), (1, false));
    /// # Ok(())
    /// # }
    /// ```
    pub fn report_foreign(mut self) -> Self {
        self.settings.reports_foreign = true;
        self
    }

    /// Calls a function with each row that differs, with up to 10 cells of it, in no order.
    ///
    /// ```
    /// # use keyderive::{RowKey, Table};
    /// # #[derive(RowKey, Clone, Debug)] struct UserKey { id: u64 }
    /// # async fn sample(old: Table<UserKey, ()>, new: Table<UserKey, ()>) -> Result<(), keyderive::Error> {
    /// let diff = old.diff(&new, |key, _| key).first(0).on_difference(|row| println!("{row:?}")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_difference(mut self, call: impl FnMut(&RowDifference) + Send + 'a) -> Self {
        self.on_difference = Some(Box::new(call));
        self
    }

    /// Calls a function with the progress: at least once a second, also while nothing changes, at most 10 times, and at the end.
    pub fn on_progress(mut self, call: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(call));
        self
    }
}

impl<'a> IntoFuture for Diff<'a> {
    type Output = Result<TableDiff, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { mapping, settings, on_difference, on_progress } = self;
        Box::pin(async move {
            compare_with(&mapping, settings, None, on_difference, &mut Reporter::new(on_progress)).await
        })
    }
}

impl fmt::Debug for Diff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diff")
            .field("mapping", &self.mapping)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
