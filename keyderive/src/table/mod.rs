//! Typed tables: row keys, plans and rows by serde, on top of the client.

mod create;
mod export;
pub mod load;
mod marker;
mod put_both;
mod read;
mod scan;
mod verify;
mod write;
mod writer;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use serde::de::DeserializeOwned;

pub use create::CreateTable;
pub use export::{ExplainExport, Export, Exported};
pub use put_both::{PutBothError, PutSide, WriteOutcome, put_both};
pub use read::{OnForeign, OnUnreadable, Skipped, SkippedRow};
pub use scan::{KeyOnly, Page, ReadRow, RowRef, Rows, Scan};
pub use verify::{Verified, Verify};
pub use write::{Modify, Update};
pub use writer::Writer;

use crate::client::{Client, Error, Settings, check_filter};
use crate::key::TableKey;
use crate::row::{self, RowFilter, Shape};

use self::read::Projection;
use self::verify::Check;

/// The column family that a row's columns are in unless [`Table::family`] names another.
///
/// Short, because the service stores a family's name with its data.
pub const DEFAULT_FAMILY: &str = "cf";

/// The result of polling a stream that can fail.
type Next<T> = Poll<Option<Result<T, Error>>>;

/// How many versions of a column are read and kept by default: a row is one value.
const DEFAULT_VERSIONS: u32 = 1;

/// A table whose row keys are `K` and whose rows are `R`, by serde.
///
/// ```
/// use keyderive::{Client, RowKey};
///
/// #[derive(RowKey, Debug, PartialEq)]
/// #[salt(range = 4, over = "user_id")]
/// struct EventKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
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
/// In calls that take the name of a column, `name` is a column of the table's family, and `family:name` one of another
/// family: `"visits"`, `"daily:METER:0015"`, where the first colon ends the family. In calls that take several, `family:` is
/// all columns of a family. The bare name of a family of the row type is an error, except in [`update`](Self::update), which
/// takes whole fields.
pub struct Table<K, R> {
    client: Client,
    name: Arc<str>,
    family: Arc<str>,
    /// The columns and families of `R`.
    shape: Arc<Shape>,
    projection: Projection,
    /// Whether reads take every version of a column, or the newest alone.
    every_version: bool,
    check: Check,
    /// Counts the rows that reads by several keys skip, if they skip unreadable rows.
    skipped: Option<Skipped>,
    types: PhantomData<fn() -> (K, R)>,
}

impl Client {
    /// The table `name`, with row keys `K` and rows `R`.
    ///
    /// Sends nothing: the first use finds out whether the table exists. The `Deserialize` of the row type tells which of its
    /// fields are families.
    #[must_use]
    pub fn table<K: TableKey, R: DeserializeOwned>(&self, name: &str) -> Table<K, R> {
        self.table_of(name, Shape::of::<R>())
    }

    /// The table `name`, with row keys `K` and rows `R` that are only written, for example because they borrow.
    ///
    /// ```
    /// use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { name: String }
    ///
    /// #[derive(serde::Serialize)]
    /// struct NewUser<'a> {
    ///     name: &'a str,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let client = Client::embedded();
    /// # let users = client.table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let new_users = client.write_only_table::<UserKey, NewUser<'_>>("users");
    /// new_users.put(&UserKey { id: 7 }, &NewUser { name: "Corrie" }).await?;
    /// # assert_eq!(users.get(&UserKey { id: 7 }).await?.unwrap().name, "Corrie");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Without `Deserialize`, a field reveals that it is a family only once it has a value. So an absent `Option` counts as a
    /// column: `put` does not delete a family that is `None`, and [`Table::create`] declares the table's own family alone.
    #[must_use]
    pub fn write_only_table<K: TableKey, R>(&self, name: &str) -> Table<K, R> {
        self.table_of(name, Shape::unknown())
    }

    fn table_of<K, R>(&self, name: &str, shape: Shape) -> Table<K, R> {
        Table {
            client: self.clone(),
            name: name.into(),
            family: DEFAULT_FAMILY.into(),
            every_version: shape.has_versions(),
            shape: Arc::new(shape),
            projection: Projection::Everything,
            check: Check::pending(),
            skipped: None,
            types: PhantomData,
        }
    }
}

impl<K: TableKey, R> Table<K, R> {
    /// The same table with its columns in this family, not in [`DEFAULT_FAMILY`].
    #[must_use]
    pub fn family(self, name: &str) -> Self {
        Self { family: name.into(), check: self.check.again(), ..self }
    }

    /// The same table with other [settings](crate::client::Settings), for one kind of work or for one call.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use keyderive::{Client, RowKey, Table};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
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

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same table with another row type; requests stay the same.
    fn with_rows<S>(self) -> Table<K, S> {
        let Self { client, name, family, shape, projection, every_version, check, skipped, .. } = self;
        Table { client, name, family, shape, projection, every_version, check, skipped, types: PhantomData }
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

    fn read(&self, stored: &row::RawRow) -> Result<R, Error>
    where
        R: DeserializeOwned,
    {
        row::from_row(stored, &self.family, &self.shape)
            .map_err(|error| Error::row(&self.name, stored.key(), error))
    }
}

impl<K, R> Clone for Table<K, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: Arc::clone(&self.name),
            family: Arc::clone(&self.family),
            shape: Arc::clone(&self.shape),
            projection: self.projection.clone(),
            every_version: self.every_version,
            check: self.check.clone(),
            skipped: self.skipped.clone(),
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
