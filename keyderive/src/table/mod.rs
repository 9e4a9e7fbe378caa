//! Typed tables: row keys, plans and rows, on top of the client.

pub mod copy;
mod create;
pub mod diff;
mod equality;
mod export;
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

use crate::client::{Client, Error, Mutations, Route, Settings, check_filter};
use crate::key::TableKey;
use crate::row::{
    self, Cell, Entry, MapRow, OwnedRow, Qualifier, RawRow, Row, RowCells, RowFilter, RowSchema,
};

use self::read::Projection;
use self::rekey::TablePair;
use self::verify::Check;

/// The column family that a row's columns are in unless [`Table::family`] names another.
///
/// Short, because the service stores a family's name with its data.
pub const DEFAULT_FAMILY: &str = "cf";

/// The result of polling a stream that can fail.
type Next<T> = Poll<Option<Result<T, Error>>>;

/// How many versions of a column are read and kept by default: a row is one value.
const DEFAULT_VERSIONS: u32 = 1;

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
    pub(crate) client: Client,
    name: Route,
    family: Arc<str>,
    /// The columns and families of the row type that the table was declared with.
    schema: &'static RowSchema,
    projection: Projection,
    /// Whether reads take every version of a column, or the newest alone.
    every_version: bool,
    check: Check,
    /// Counts the rows that reads by several keys skip, if they skip unreadable rows.
    skipped: Option<Skipped>,
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
        Table {
            client: self.clone(),
            name: self.route(name),
            family: DEFAULT_FAMILY.into(),
            every_version: R::SCHEMA.has_versions(None),
            schema: R::SCHEMA,
            projection: Projection::Everything,
            check: Check::pending(),
            skipped: None,
            pair: None,
            types: PhantomData,
        }
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
        Self { family: name.into(), check: self.check.again(), ..self }
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
                row::entry::<_, Q, Option<V::Owned>>(self.family.to_string().into(), name)
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
        Self { client: self.client.with(change), ..self.clone() }
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
        Self { client: self.client.with_deadline(at), ..self.clone() }
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same table with another row type; requests stay the same.
    fn with_rows<S>(self) -> Table<K, S> {
        let Self { client, name, family, schema, projection, every_version, check, skipped, pair, .. } = self;
        let types = PhantomData;
        Table { client, name, family, schema, projection, every_version, check, skipped, pair, types }
    }

    /// Rejects a filter that the service would reject.
    fn check_filter(&self, filter: &RowFilter) -> Result<(), Error> {
        check_filter(filter).map_err(|error| Error::filter(&self.name, error))
    }

    fn encode_into(&self, key: &K, out: &mut Vec<u8>) -> Result<(), Error> {
        key.encode_into(out).map_err(|error| Error::key(&self.name, error))
    }

    fn encode(&self, key: &K) -> Result<Bytes, Error> {
        match key.encode() {
            Ok(key) => Ok(key.into()),
            Err(error) => Err(Error::key(&self.name, error)),
        }
    }

    /// The stored row with this key, of which what the filter lets through.
    async fn fetch(&self, key: Bytes, filter: Option<RowFilter>) -> Result<Option<RawRow>, Error> {
        match &self.pair {
            None => self.client.read_row(&self.name, key, filter).await,
            Some(pair) => pair.read_row(&self.client, key, filter).await,
        }
    }

    /// Changes one row, all or nothing.
    async fn mutate_row(&self, key: Bytes, mutations: impl Into<Mutations>) -> Result<(), Error> {
        match &self.pair {
            None => self.client.mutate_row(&self.name, key, mutations).await,
            Some(pair) => pair.mutate_row(&self.client, key, mutations.into()).await,
        }
    }

    #[inline]
    fn read(&self, stored: &RawRow) -> Result<R, Error>
    where
        R: OwnedRow,
    {
        R::decode(RowCells::new(stored, &self.family)).map_err(
            #[cold]
            |error| Error::row(&self.name, stored.key(), error.of_row(stored)),
        )
    }
}

impl<K, R> Clone for Table<K, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: self.name.clone(),
            family: Arc::clone(&self.family),
            schema: self.schema,
            projection: self.projection.clone(),
            every_version: self.every_version,
            check: self.check.clone(),
            skipped: self.skipped.clone(),
            pair: self.pair.clone(),
            types: PhantomData,
        }
    }
}

impl<K, R> fmt::Debug for Table<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name)
            .field("family", &self.family)
            .finish_non_exhaustive()
    }
}
