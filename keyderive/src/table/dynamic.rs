//! The calls of tables whose layout is known only at run time, on top of those of typed tables.

mod copy;
mod cursor;
mod keys;
mod load;
mod scan;
mod sizes;

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use super::{Handle, OnForeign, OnUnreadable, ReadRow, Scan, Skipped, Table};
use crate::client::{Client, Error, ReadStats};
use crate::dynamic::{DynKey, DynRow, KeyLayout, TableLayout, Value, decode_key};
use crate::key::{DecodeError, EncodeError, RawKey, RowKey, Schema, TableKey};
use crate::plan::{IntoPlan, Plan};
use crate::row::{Any, Entry, RawRow, Row, RowSchema, Visible};

pub use self::cursor::DynCursor;
pub use self::keys::DynKeys;
pub use self::scan::DynStoredRows;

/// An encoded row key, as the key of a typed table: its layout is that of the table's [`Handle`], and not of the type.
struct EncodedKey(Bytes);

/// Of no key: plans of a dynamic table have the table's schema.
static NO_SCHEMA: Schema = Schema::new("EncodedKey", b'#', None, None, &[]);

impl RowKey for EncodedKey {
    type Decoded<'a> = RawKey;
    type Scan = ();
    const SCHEMA: &'static Schema = &NO_SCHEMA;

    fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn decode(key: &[u8]) -> Result<RawKey, DecodeError> {
        Ok(RawKey::new(key))
    }

    fn scan() {}
}

impl TableKey for EncodedKey {
    type Stored = DynKey;

    /// Of no table: each has its schema.
    fn stored(key: &[u8]) -> Result<DynKey, DecodeError> {
        decode_key(&NO_SCHEMA, key)
    }

    fn stored_by(schema: &'static Schema, key: &[u8]) -> Result<DynKey, DecodeError> {
        decode_key(schema, key)
    }
}

impl ReadRow<EncodedKey> for DynRow {
    type Item = (DynKey, Self);

    fn read(table: &Handle, key: DynKey, row: &RawRow) -> Result<(DynKey, Self), Error> {
        Ok((key, read(table, row)?))
    }
}

/// Reads a stored row by the schema of the table.
fn read(table: &Handle, row: &RawRow) -> Result<DynRow, Error> {
    let (visible, unmarked) = (&table.visible, table.unmarked(row));
    DynRow::read_part(visible.schema(), visible.base(), visible.family(), unmarked.as_ref().unwrap_or(row))
        .map_err(|error| Error::row(&table.name, row.key(), error))
}

/// A table whose layout is known only at run time, for tools: reads and writes as a typed [`Table`] does.
///
/// ```
/// use keyderive::dynamic::Value;
/// use keyderive::layouts::Layouts;
/// use keyderive::{Client, Row, RowKey};
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user")]
/// struct EventKey {
///     user: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// #[derive(Row)]
/// struct Event {
///     kind: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::embedded();
/// let typed = client.table::<EventKey, Event>("events");
/// typed.create_if_absent().await?;
/// typed.put(&EventKey { user: "alice".into(), at: 5 }, &Event { kind: "login".into() }).await?;
///
/// // Another program, which has the file of layouts and not the structs.
/// let json = Layouts::new().table::<EventKey, Event>("events").to_json();
/// let layout = Layouts::from_json(&json)?.table_layout("events")?;
/// let events = client.dynamic_table(&layout);
///
/// let rows = events.scan(layout.key().scan().fix("user", "alice")?).collect().await?;
/// let (key, row) = &rows[0];
/// assert_eq!(key.to_string(), r#"EventKey { user: "alice", at: 5 }"#);
/// assert_eq!(row.column("kind").and_then(|kind| kind.value().newest()), Some(&Value::from("login")));
/// # Ok(())
/// # }
/// ```
///
/// Like a typed table, it first checks the table's layout: calls fail if the table is stamped with another fingerprint.
///
/// Rows have the row type of its [`TableLayout`]; without one, all stored cells are foreign. Each call has the
/// [guarantees](crate::guide::promises) of the typed call of the same name, which does the work.
#[derive(Clone, Debug)]
pub struct DynTable {
    table: Table<EncodedKey, DynRow>,
    key: KeyLayout,
    has_row_type: bool,
}

impl Client {
    /// The table of a layout that is known only at run time.
    ///
    /// Sends nothing. [`DynTable`] has an example.
    #[must_use]
    pub fn dynamic_table(&self, layout: &TableLayout) -> DynTable {
        let key = layout.key().clone();
        let visible = match layout.row_type() {
            Some(row) => Visible::everything(row, layout.family()),
            // No family has to be there.
            None => Visible::everything(<() as Row>::SCHEMA, ""),
        };
        let handle = Handle::new(self, layout.name(), key.key_type(), visible);
        DynTable { table: Table::of_handle(handle), key, has_row_type: layout.row_type().is_some() }
    }
}

impl DynTable {
    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.table.name()
    }

    /// The layout of its row keys.
    #[must_use]
    pub fn key(&self) -> &KeyLayout {
        &self.key
    }

    /// The row type that its rows are read as; `None` if its [`TableLayout`] has none, or several of which none was chosen.
    #[must_use]
    pub fn row_type(&self) -> Option<&'static RowSchema> {
        self.has_row_type.then(|| self.row())
    }

    /// An empty row of its row type, whose columns a program [sets](DynRow::set) before it [puts](Self::put) the row.
    #[must_use]
    pub fn new_row(&self) -> DynRow {
        DynRow::new(self.row()).in_family(self.table.handle.visible.family())
    }

    /// Reads the row with this encoded key, if it exists: one point read.
    ///
    /// # Errors
    /// If the bytes are no key of the layout, the read fails, or the stored columns are not those of the row type.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<DynRow>, Error> {
        let stored = self.table.read_stored(&self.checked(key.as_ref())?).await?;
        stored.map(|stored| read(&self.table.handle, &stored)).transpose()
    }

    /// Reads the row with this encoded key with all its stored cells, whatever its row type.
    ///
    /// # Errors
    /// If the bytes are no key of the layout, or the read fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get_raw(&self, key: impl AsRef<[u8]>) -> Result<Option<RawRow>, Error> {
        self.table.get_raw(&self.checked(key.as_ref())?).await
    }

    /// Scans the rows of a plan, in the order of their fields.
    pub fn scan(&self, plan: impl IntoPlan<DynKey>) -> DynTableScan {
        let scan = Scan::new(self.table.clone(), plan.into_plan().map(Plan::retyped), ());
        DynTableScan { scan, key: self.key.clone() }
    }

    /// Counts the rows of a plan, without reading their values.
    ///
    /// # Errors
    /// Those of [`Table::count`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn count(&self, plan: impl IntoPlan<DynKey>) -> Result<u64, Error> {
        self.scan(plan).count().await
    }

    /// Splits the table into partitions of about equal size: plans that together cover every row exactly once.
    ///
    /// # Errors
    /// Those of [`Table::partitions`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the request.
    pub async fn partitions(&self) -> Result<Vec<Plan<DynKey>>, Error> {
        let whole: Plan<EncodedKey> = Plan::full(self.key.schema());
        Ok(self.table.partitions_of(whole).await?.into_iter().map(Plan::retyped).collect())
    }

    /// Writes a row: makes the stored row equal to this one, in the columns of the row type, in one atomic request.
    ///
    /// # Errors
    /// Those of [`Table::put`], and if the bytes are no key of the layout, or the row is of another schema.
    ///
    /// # Cancel safety
    /// As [`Table::put`]: a dropped future may or may not have written.
    pub async fn put(&self, key: impl AsRef<[u8]>, row: &DynRow) -> Result<(), Error> {
        let key = self.checked(key.as_ref())?;
        self.check_row(row)?;
        self.table.write_by(&key, false, |out| row.write(out)).await
    }

    /// Sets some columns of a row, each by its name, in one atomic request; a missing row is created. Text for a column of another type
    /// is parsed, as [`parse_cell`](crate::dynamic::parse_cell) does.
    ///
    /// ```
    /// # use keyderive::DynTable;
    /// # async fn sample(users: DynTable, key: &[u8]) -> Result<(), keyderive::Error> {
    /// users.update(key, [("name", "Corrie"), ("cf:city", "Chur")]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Table::update`], and if the bytes are no key of the layout.
    ///
    /// # Cancel safety
    /// As [`put`](Self::put).
    pub async fn update<N: AsRef<str>, V: Into<Value>>(
        &self,
        key: impl AsRef<[u8]>,
        columns: impl IntoIterator<Item = (N, V)>,
    ) -> Result<(), Error> {
        let key = self.checked(key.as_ref())?;
        self.check_row_type()?;
        let mut update = self.table.update(&key);
        for (name, value) in columns {
            update = update.set(self.column(&key, name.as_ref())?, value.into());
        }
        update.await
    }

    /// Adds to aggregates of a row, each by its name, in one atomic request; a missing row is created.
    ///
    /// ```
    /// # use keyderive::DynTable;
    /// # async fn sample(pages: DynTable, key: &[u8]) -> Result<(), keyderive::Error> {
    /// pages.add(key, [("sums:views", 1), ("sums:bytes", 5120)]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A sum grows by the amount; a minimum or maximum becomes it if it is less or greater.
    ///
    /// # Errors
    /// Those of [`Update::add`](crate::Update::add), and if the bytes are no key of the layout.
    ///
    /// # Cancel safety
    /// As [`put`](Self::put).
    pub async fn add<N: AsRef<str>>(
        &self,
        key: impl AsRef<[u8]>,
        columns: impl IntoIterator<Item = (N, i64)>,
    ) -> Result<(), Error> {
        let key = self.checked(key.as_ref())?;
        self.check_row_type()?;
        let mut update = self.table.update(&key);
        for (name, amount) in columns {
            update = update.add(self.column(&key, name.as_ref())?, amount);
        }
        update.await
    }

    /// Deletes the row with this key, with all that it stores.
    ///
    /// # Errors
    /// Those of [`Table::delete`], and if the bytes are no key of the layout.
    ///
    /// # Cancel safety
    /// As [`put`](Self::put).
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        self.table.delete(&self.checked(key.as_ref())?).await
    }

    /// Deletes the rows of a plan; returns how many.
    ///
    /// # Errors
    /// Those of [`Table::delete_rows`].
    ///
    /// # Cancel safety
    /// As [`Table::delete_rows`]: a dropped future has deleted some of the rows.
    pub async fn delete_rows(&self, plan: impl IntoPlan<DynKey>) -> Result<u64, Error> {
        let plan = plan.into_plan().map_err(|error| Error::plan(self.name(), error))?;
        self.table.delete_rows(plan.retyped::<EncodedKey>()).await
    }

    /// Rows of no type would be empty ones, which the program that has the type cannot read.
    fn check_row_type(&self) -> Result<(), Error> {
        if self.has_row_type {
            return Ok(());
        }
        let fault = "no row type is chosen: the layout has none, or several, of which `TableLayout::with_row_type` takes one";
        Err(Error::definition(self.name(), fault))
    }

    /// The row is one of the table's row type.
    fn check_row(&self, row: &DynRow) -> Result<(), Error> {
        self.check_row_type()?;
        // Rows that `new_row` made have the schema itself.
        if ptr::eq(row.schema(), self.row()) || row.schema() == self.row() {
            return Ok(());
        }
        let (own, other) = (self.row().name(), row.schema().name());
        let fault =
            format!("rows of this table are `{own}`, and this one is a `{other}`; begin with `new_row`");
        Err(Error::definition(self.name(), fault))
    }

    /// The column that text names.
    fn column(&self, key: &EncodedKey, name: &str) -> Result<Entry<DynRow, Option<Any>>, Error> {
        self.new_row().entry(name).map_err(|error| Error::row(self.name(), &key.0, error))
    }

    fn row(&self) -> &'static RowSchema {
        self.table.handle.visible.schema()
    }

    /// The key, if it is one of the layout.
    fn checked(&self, key: &[u8]) -> Result<EncodedKey, Error> {
        if let Err(error) = self.key.decode(key) {
            return Err(Error::key(
                self.name(),
                self.key.fault(format!("these bytes are no key of it: {error}")),
            ));
        }
        Ok(EncodedKey(Bytes::copy_from_slice(key)))
    }
}

/// A scan of a [`DynTable`]: a plan and how to run it.
#[must_use = "a scan reads nothing until it is streamed or collected"]
pub struct DynTableScan {
    scan: Scan<EncodedKey, DynRow>,
    key: KeyLayout,
}

impl DynTableScan {
    /// Reads at most this many rows, the first ones in the scan's order.
    pub fn limit(self, rows: u64) -> Self {
        Self { scan: self.scan.limit(rows), ..self }
    }

    /// Reverses the order.
    pub fn reversed(self) -> Self {
        Self { scan: self.scan.reversed(), ..self }
    }

    /// What to do with foreign rows, whose keys do not decode by the layout. The default is [`OnForeign::Fail`].
    pub fn on_foreign(self, policy: OnForeign) -> Self {
        Self { scan: self.scan.on_foreign(policy), ..self }
    }

    /// What to do with unreadable rows, whose cells do not decode as the row type. The default is [`OnUnreadable::Fail`].
    pub fn on_unreadable(self, policy: OnUnreadable) -> Self {
        Self { scan: self.scan.on_unreadable(policy), ..self }
    }

    /// The rows that the scan has skipped so far, while it runs and after it.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.scan.skipped()
    }

    /// Resumes after the row of a page token: of [`page`](Self::page) or [`token_after`](Self::token_after), or of a typed scan of the
    /// table.
    pub fn after(self, token: &str) -> Self {
        Self { scan: self.scan.after(token), ..self }
    }

    /// Reads rows as they arrive, in no order among buckets, so that no bucket waits for another.
    pub fn unordered(self) -> Self {
        Self { scan: self.scan.unordered(), ..self }
    }

    /// Asks the server what the scan costs, and adds that to `stats`: [`Scan::with_stats`].
    pub fn with_stats(self, stats: &ReadStats) -> Self {
        Self { scan: self.scan.with_stats(stats), ..self }
    }

    /// Runs the scan.
    ///
    /// # Cancel safety
    /// Dropping the stream cancels its requests.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> DynRows {
        DynRows(self.cursor_of_all())
    }

    /// Runs the scan and collects its rows.
    ///
    /// # Errors
    /// The first one of the [stream](Self::stream).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn collect(self) -> Result<Vec<(DynKey, DynRow)>, Error> {
        let mut stream = self.stream();
        let mut rows = Vec::new();
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }

    /// Counts the rows, without reading their values.
    ///
    /// # Errors
    /// Those of [`Scan::count`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn count(self) -> Result<u64, Error> {
        self.scan.count().await
    }
}

impl fmt::Debug for DynTableScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scan.fmt(f)
    }
}

/// The rows of a [`DynTableScan`].
#[must_use = "a stream reads nothing until it is polled"]
pub struct DynRows(DynCursor);

impl DynRows {
    /// The next row; `None` at the end.
    ///
    /// # Cancel safety
    /// A dropped future loses no row.
    pub async fn next(&mut self) -> Option<Result<(DynKey, DynRow), Error>> {
        poll_fn(|cx| self.0.poll_owned(cx)).await
    }
}

impl Stream for DynRows {
    type Item = Result<(DynKey, DynRow), Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_owned(cx)
    }
}

impl fmt::Debug for DynRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
