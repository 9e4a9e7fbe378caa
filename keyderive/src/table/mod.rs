//! Tables: the calls that create, read, write, copy and re-key them, and what these return.

mod apply;
pub mod copy;
mod create;
mod declared_tables;
pub mod diff;
mod dynamic;
mod execution;
mod expected;
mod export;
mod handle;
mod layout_check;
mod registered_row_types;

pub mod load;

mod put_both;
mod read;
pub mod rekey;
mod reserved;
mod sample;
mod scan;
mod select;
mod sizes;
mod skipped;
mod stamp;
mod store;
mod transfer;
mod watch;
mod write;
mod writer;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;

pub use apply::{TableChange, TableChanges, UndeclaredRule};
pub use create::CreateTable;
pub use declared_tables::{DeclaredTable, DeclaredTables, DeclaredTablesError};
pub use dynamic::{DynCursor, DynTable};
pub use export::{ExplainExport, Export, Exported};
pub use layout_check::{Verified, Verify};
pub use put_both::{PutBothError, PutSide, WriteOutcome, put_both};
pub use registered_row_types::WrittenRowType;
pub use scan::{Analysis, KeyOnly, Page, RowRef, RowType, Rows, Scan};
pub use select::{Select, Selected};
pub use sizes::{HotTablet, HotTablets, SizedPart, TableSizes};
pub use skipped::{OnForeign, OnUnreadable, Skipped, SkippedRow};
pub use transfer::Progress;
pub use write::{Modify, Update};
pub use writer::Writer;

use crate::client::{Client, Error, Settings};
use crate::key::{KeyType, RowKey, TableKey};
pub use crate::row::DEFAULT_FAMILY;
use crate::row::{Cell, Entry, MapRow, Qualifier, Row, VisibleCells};

use self::handle::BoundTable;
pub(crate) use self::handle::UntypedTable;
use self::store::ReadStore;
pub use self::store::{Direct, OneTable, ReadOnly, Reads, Scans, Writes};

/// The result of polling a stream that can fail.
type Next<T> = Poll<Option<Result<T, Error>>>;

/// A table whose row keys are `K` and whose rows are `R`.
///
/// `S` is where the rows are, in this table or in a pair of tables that is being [re-keyed](rekey), or [`ReadOnly`] of it. Functions over
/// several kinds of tables have the bounds [`Reads`], [`Writes`] and [`OneTable`].
///
/// ```
/// use keyderive::{Client, Row, RowKey};
///
/// #[derive(RowKey, Debug, PartialEq)]
/// #[salt(range = 4, over = "user_id")]
/// struct EventKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// #[derive(Row, Debug, PartialEq)]
/// struct Event {
///     kind: String,
///     amount: f64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let events = Client::embedded().table::<EventKey, Event>("events");
/// events.create_if_absent().await?;
///
/// let key = EventKey { user_id: "alice".into(), at: 1426535612156 };
/// events.put(&key, &Event { kind: "login".into(), amount: 0.0 }).await?;
/// assert_eq!(events.get(&key).await?.map(|event| event.kind), Some("login".into()));
///
/// let newest = events.scan(EventKey::scan().user_id("alice")).limit(10).collect().await?;
/// assert_eq!(newest[0].0, key);
/// # Ok(())
/// # }
/// ```
///
/// A table is a handle: creating one sends nothing, and clones share the client.
///
/// A row's fields are columns of the table's family; a field that is a struct or a map is a family of its own. Reads take
/// the newest version of a column. Integers are 8 bytes, big-endian, as Bigtable's own increments read them.
/// [`row`](crate::row) describes the mapping in full.
///
/// Calls for single columns take the constants of the row type: `Event::KIND`, `Event::PLACE.city`, `Event::DAILY.at("0015")`.
///
/// # Renamed columns
/// A field that was renamed without an [`alias`](macro@crate::Row) is another column, and no call is an error where its column is optional.
/// Every read, export and sample finds it absent, and so do conditions; a write leaves what is stored under the former name, which older
/// programs read on; a counter begins at 0. [`Layouts::check`](crate::layouts::Layouts::check) finds such a rename in a test.
///
/// # Tables without a stamp
/// A table that another tool created has no stamp of its key layout, and its keys are not compared. By another key type, reads find no row,
/// and writes make rows that other programs cannot decode. [`verify`](Self::verify) tells such a table, and [`stamp`](Self::stamp) mends it.
pub struct Table<K, R, S = Direct> {
    pub(crate) handle: UntypedTable,
    /// Where calls go.
    store: S,
    types: PhantomData<fn() -> (K, R)>,
}

impl Client {
    /// The table `name`, with row keys `K` and rows `R`.
    ///
    /// ```
    /// use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    ///
    /// #[derive(Row)]
    /// struct User {
    ///     name: String,
    /// }
    ///
    /// # let client = Client::embedded();
    /// let users = client.table::<UserKey, User>("users");
    /// ```
    ///
    /// Sends nothing: the first use finds out whether the table exists.
    #[must_use]
    pub fn table<K: RowKey + TableKey, R: Row>(&self, name: &str) -> Table<K, R> {
        let visible = VisibleCells::everything(R::SCHEMA, DEFAULT_FAMILY);
        let handle = UntypedTable::new(self, name, KeyType::of::<K>(), visible);
        Table::of_handle(handle)
    }
}

/// Rows that do not name their family: maps, and `()`.
impl<K: TableKey, R: MapRow, S: Reads> Table<K, R, S> {
    /// The same table with its columns in this family, not in [`DEFAULT_FAMILY`].
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct MeterKey { id: u64 }
    /// # let client = Client::embedded();
    /// let meters = client.table::<MeterKey, BTreeMap<String, f64>>("meters").family("m");
    /// ```
    ///
    /// A struct names its family itself: `#[row(family = "m")]`.
    #[must_use]
    pub fn family(self, name: &str) -> Self {
        let visible = self.handle.visible.clone().in_family(name);
        Self { handle: self.handle.with_rows(visible), ..self }
    }
}

/// Rows that are maps: their columns are in one family of the table, and have their names at run time.
macro_rules! maps {
    ($([$($bound:tt)*] $map:ident<Q, V $(, $hasher:ident)?>;)*) => {$(
        impl<K: TableKey, Q: Qualifier $($bound)*, V: Cell $(, $hasher)?, S: Reads> Table<K, $map<Q, V $(, $hasher)?>, S> {
            /// The column of this name.
            ///
            /// ```
            /// # use keyderive::{Client, Row, RowKey};
            /// # #[derive(RowKey)] struct UserKey { id: u64 }
            /// # type User = std::collections::BTreeMap<String, i64>;
            /// # #[tokio::main(flavor = "current_thread")]
            /// # async fn main() -> Result<(), keyderive::Error> {
            /// let users = Client::embedded().table::<UserKey, User>("users");
            /// users.create_if_absent().await?;
            /// assert_eq!(users.increment(&UserKey { id: 7 }, users.column("visits"), 1).await?, 1);
            /// # Ok(())
            /// # }
            /// ```
            pub fn column(&self, name: &Q::Borrowed) -> Entry<$map<Q, V $(, $hasher)?>, Option<V::Owned>> {
                self.handle.map_column::<_, Q, _>(name)
            }
        }
    )*};
}

maps! {
    [] BTreeMap<Q, V>;
    [+ Hash] HashMap<Q, V, H>;
}

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// The same table with other [settings](crate::client::Settings), for one kind of work or for one call.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use keyderive::{Client, Row, RowKey, Table};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # async fn sample(users: Table<UserKey, User>) -> Result<(), keyderive::Error> {
    /// let hasty = users.with(|settings| settings.read_row.total_timeout = Duration::from_millis(200));
    /// let user = hasty.get(&UserKey { id: 7 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Settings)) -> Self {
        self.with_client(self.handle.client.with(change))
    }

    /// The same table with a deadline, as [`Client::with_deadline`]: nothing that is asked through it takes longer.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # use keyderive::{Client, Row, RowKey, Table};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # async fn sample(users: Table<UserKey, User>) -> Result<(), keyderive::Error> {
    /// let users = users.with_deadline(Instant::now() + Duration::from_millis(300));
    /// let (one, other) = (users.get(&UserKey { id: 7 }).await?, users.get(&UserKey { id: 8 }).await?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_deadline(&self, at: Instant) -> Self {
        self.with_client(self.handle.client.with_deadline(at))
    }

    /// The same table with a deadline after `timeout` from now, as [`Client::with_timeout`]: make one for each request of your service.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use keyderive::{Client, Row, RowKey, Table};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # async fn sample(users: Table<UserKey, User>) -> Result<(), keyderive::Error> {
    /// let hasty = users.with_timeout(Duration::from_millis(300));
    /// let (one, other) = (hasty.get(&UserKey { id: 7 }).await?, hasty.get(&UserKey { id: 8 }).await?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        self.with_client(self.handle.client.with_timeout(timeout))
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    fn with_client(&self, client: Client) -> Self {
        self.with_handle(self.handle.with_client(client))
    }

    /// The same table over another store.
    fn with_store<T>(&self, store: T) -> Table<K, R, T> {
        Table { handle: self.handle.clone(), store, types: PhantomData }
    }

    fn bound(&self) -> BoundTable<'_, S> {
        BoundTable { handle: &self.handle, store: &self.store }
    }

    /// The table that its scans read.
    fn scanned(&self) -> Table<K, R, S::Scanned> {
        self.scanned_with(self.handle.clone())
    }

    /// The same for another handle.
    fn scanned_with<T>(&self, handle: UntypedTable) -> Table<K, T, S::Scanned> {
        Table { handle, store: self.store.scanned().clone(), types: PhantomData }
    }

    fn encode_into(&self, key: &K, out: &mut Vec<u8>) -> Result<(), Error> {
        key.encode_stored(out).map_err(|error| Error::key(&self.handle.name, error))
    }

    fn encode(&self, key: &K) -> Result<Bytes, Error> {
        match self.handle.key.encode(key) {
            Ok(key) => Ok(key.into()),
            Err(error) => Err(Error::key(&self.handle.name, error)),
        }
    }
}

impl<K, R> Table<K, R> {
    fn of_handle(handle: UntypedTable) -> Self {
        Self { handle, store: Direct, types: PhantomData }
    }
}

impl<K, R, S: Clone> Table<K, R, S> {
    /// The table with another handle.
    fn with_handle<T>(&self, handle: UntypedTable) -> Table<K, T, S> {
        Table { handle, store: self.store.clone(), types: PhantomData }
    }
}

impl<K, R, S: Clone> Clone for Table<K, R, S> {
    fn clone(&self) -> Self {
        self.with_handle(self.handle.clone())
    }
}

impl<K, R, S> fmt::Debug for Table<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
