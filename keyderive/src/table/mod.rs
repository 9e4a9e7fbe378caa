//! Typed tables: row keys, plans and rows, on top of the client.

pub mod copy;
mod create;
pub mod diff;
mod equality;
mod export;
mod handle;
pub mod load;
mod marker;
mod put_both;
mod read;
pub mod rekey;
mod sample;
mod scan;
mod select;
mod stored;
mod verify;
mod write;
mod writer;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;

pub use create::CreateTable;
pub use export::{ExplainExport, Export, Exported};
pub use put_both::{PutBothError, PutSide, WriteOutcome, put_both};
pub use read::{OnForeign, OnUnreadable, Skipped, SkippedRow};
pub use scan::{Analysis, KeyOnly, Page, ReadRow, RowRef, Rows, Scan};
pub use select::{Select, Selected};
pub use verify::{Verified, Verify};
pub use write::{Modify, Update};
pub use writer::Writer;

use crate::client::{Client, Error, Mutations, Settings};
use crate::key::{KeyType, TableKey};
use crate::row::{self, Cell, Entry, MapRow, Qualifier, RawRow, Row, RowFilter, Visible};

pub(crate) use self::handle::Handle;
use self::rekey::TablePair;

/// The column family that a row's columns are in unless [`Table::family`] names another.
///
/// Short, because the service stores a family's name with its data.
pub const DEFAULT_FAMILY: &str = "cf";

/// The result of polling a stream that can fail.
type Next<T> = Poll<Option<Result<T, Error>>>;

/// A table whose row keys are `K` and whose rows are `R`.
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
pub struct Table<K, R> {
    pub(crate) handle: Handle,
    /// The pair of tables that calls go to, if the table is the new one of a [re-keying](rekey).
    pair: Option<Arc<TablePair>>,
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
    pub fn table<K: TableKey, R: Row>(&self, name: &str) -> Table<K, R> {
        let visible = Visible::everything(R::SCHEMA, DEFAULT_FAMILY);
        let handle = Handle::new(self, name, KeyType::of::<K>(), visible);
        Table { handle, pair: None, types: PhantomData }
    }
}

/// Rows that do not name their family: maps, and `()`.
impl<K: TableKey, R: MapRow> Table<K, R> {
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
        let Self { handle, pair, types } = self;
        let (visible, check) = (handle.visible.in_family(name), handle.check.again());
        Self { handle: Handle { visible, check, ..handle }, pair, types }
    }
}

/// Rows that are maps: their columns are in one family of the table, and have their names at run time.
macro_rules! maps {
    ($([$($bound:tt)*] $map:ident<Q, V $(, $hasher:ident)?>;)*) => {$(
        impl<K: TableKey, Q: Qualifier $($bound)*, V: Cell $(, $hasher)?> Table<K, $map<Q, V $(, $hasher)?>> {
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
                row::entry::<_, Q, Option<V::Owned>>(self.handle.visible.family().to_owned().into(), name)
            }
        }
    )*};
}

maps! {
    [] BTreeMap<Q, V>;
    [+ Hash] HashMap<Q, V, S>;
}

impl<K: TableKey, R> Table<K, R> {
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

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    fn with_client(&self, client: Client) -> Self {
        self.with_handle(self.handle.with_client(client))
    }

    /// The layout check, which every typed call begins with.
    async fn ensure_checked(&self) -> Result<(), Error> {
        self.handle.ensure_checked().await
    }

    fn encode_into(&self, key: &K, out: &mut Vec<u8>) -> Result<(), Error> {
        key.encode_into(out).map_err(|error| Error::key(&self.handle.name, error))
    }

    fn encode(&self, key: &K) -> Result<Bytes, Error> {
        match key.encode() {
            Ok(key) => Ok(key.into()),
            Err(error) => Err(Error::key(&self.handle.name, error)),
        }
    }

    /// The stored row with this key, of which what the filter lets through.
    async fn fetch(&self, key: Bytes, filter: Option<RowFilter>) -> Result<Option<RawRow>, Error> {
        match &self.pair {
            None => self.handle.client.read_row(&self.handle.name, key, filter).await,
            Some(pair) => pair.read_row(&self.handle.client, key, filter).await,
        }
    }

    /// Changes one row, all or nothing.
    async fn mutate_row(&self, key: Bytes, mutations: impl Into<Mutations>) -> Result<(), Error> {
        match &self.pair {
            None => self.handle.client.mutate_row(&self.handle.name, key, mutations).await,
            Some(pair) => pair.mutate_row(&self.handle.client, key, mutations.into()).await,
        }
    }
}

impl<K, R> Table<K, R> {
    /// The table that another handle is of.
    fn with_handle<S>(&self, handle: Handle) -> Table<K, S> {
        Table { handle, pair: self.pair.clone(), types: PhantomData }
    }
}

impl<K, R> Clone for Table<K, R> {
    fn clone(&self) -> Self {
        self.with_handle(self.handle.clone())
    }
}

impl<K, R> fmt::Debug for Table<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.handle.name)
            .field("family", &self.handle.visible.family())
            .finish_non_exhaustive()
    }
}
