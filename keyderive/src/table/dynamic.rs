//! The calls of tables whose layout is known only at run time, on top of those of typed tables.

mod copy;
mod cursor;
mod load;
mod scan;
mod sizes;

use std::ptr;

use super::{RowType, Scan, Table, UntypedTable};
use crate::client::{Client, Error};
use crate::dynamic::{DynKey, DynReader, DynRow, KeyLayout, TableLayout, Value};
use crate::plan::{IntoPlan, Plan};
use crate::row::{Any, Entry, RawRow, Row, RowSchema, VisibleCells};

pub use self::cursor::DynCursor;

impl RowType<DynKey> for DynRow {
    type Item = (DynKey, Self);
    type Columns = Self;

    fn read(table: &UntypedTable, by_data: &mut Option<Box<DynReader>>, row: &RawRow) -> Result<Self, Error> {
        read(table, by_data, row)
    }

    fn item(key: DynKey, columns: Self) -> Self::Item {
        (key, columns)
    }
}

/// Reads a stored row by the schema of the table.
fn read(table: &UntypedTable, by_data: &mut Option<Box<DynReader>>, row: &RawRow) -> Result<DynRow, Error> {
    let UntypedTable { name, visible, .. } = table;
    let new = || Box::new(DynReader::new(visible.schema(), visible.base(), visible.family()));
    let (reader, unmarked) = (by_data.get_or_insert_with(new), table.unmarked(row));
    reader.read(unmarked.as_ref().unwrap_or(row)).map_err(|error| Error::row(name, row.key(), error))
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
    table: Table<DynKey, DynRow>,
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
            Some(row) => VisibleCells::everything(row, layout.family()),
            // No family has to be there.
            None => VisibleCells::everything(<() as Row>::SCHEMA, ""),
        };
        let handle = UntypedTable::new(self, layout.name(), key.key_type(), visible);
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
        stored.map(|stored| read(&self.table.handle, &mut None, &stored)).transpose()
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
    pub fn scan(&self, plan: impl IntoPlan<DynKey>) -> Scan<DynKey, DynRow> {
        self.table.scan(plan)
    }

    /// Counts the rows of a plan, without reading their values.
    ///
    /// # Errors
    /// Those of [`Table::count`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn count(&self, plan: impl IntoPlan<DynKey>) -> Result<u64, Error> {
        self.table.count(plan).await
    }

    /// Splits the table into partitions of about equal size: plans that together cover every row exactly once.
    ///
    /// # Errors
    /// Those of [`Table::partitions`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the request.
    pub async fn partitions(&self) -> Result<Vec<Plan<DynKey>>, Error> {
        self.table.partitions().await
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
    /// # use keyderive::table::DynTable;
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
    /// # use keyderive::table::DynTable;
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
        self.table.delete_rows(plan).await
    }

    /// Deletes many rows by their encoded keys, in requests of about 1 MiB, one after the other: [`Table::delete_all`].
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let mut keys = events.scan(layout.key().scan().fix("user", "alice")?).keys_only().stream();
    /// let mut batch = Vec::new();
    /// while let Some(key) = keys.next().await {
    ///     batch.push(key?);
    /// }
    /// events.delete_all(batch).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// All keys are checked before the first request.
    ///
    /// [`Table::delete_all`]: crate::Table::delete_all
    ///
    /// # Errors
    /// Those of [`Table::delete_all`]. If any bytes are not a key of the layout, it deletes nothing.
    ///
    /// # Cancel safety
    /// As [`Table::delete_all`]: a dropped future has deleted some of the rows.
    pub async fn delete_all<N: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = N>) -> Result<(), Error> {
        let keys = keys.into_iter().map(|key| self.checked(key.as_ref()));
        self.table.delete_all(keys.collect::<Result<Vec<_>, _>>()?).await
    }

    /// Fails if the keys of the table are of another layout: by its stamp, or, if it has none, by a sample of its keys.
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// // The table may be of a program that does not stamp, and the layout of another one.
    /// let events = client.dynamic_table(&layout);
    /// events.verify_keys().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Calls of a table accept one without a stamp. Call this before a tool changes rows that it found by a layout, which nothing else
    /// holds against the table. The sample has up to 512 keys from all parts of the table, and with a tag those of the tag; keys outside
    /// of the sample, and rows that are written meanwhile, may still be of another layout.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the stamp is of another layout, or a key of the sample does not decode. When a
    /// request fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn verify_keys(&self) -> Result<(), Error> {
        self.table.handle.verify_keys().await
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
    fn column(&self, key: &DynKey, name: &str) -> Result<Entry<DynRow, Option<Any>>, Error> {
        self.new_row().entry(name).map_err(|error| Error::row(self.name(), key.as_ref(), error))
    }

    fn row(&self) -> &'static RowSchema {
        self.table.handle.visible.schema()
    }

    /// The key, if it is one of the layout.
    fn checked(&self, key: &[u8]) -> Result<DynKey, Error> {
        self.key.decode(key).map_err(|error| {
            Error::key(self.name(), self.key.fault(format!("these bytes are no key of it: {error}")))
        })
    }
}
