//! Scans of a dynamic table: some columns, stored rows, pages, and what a scan does and costs.

use std::fmt;

use super::{DynTableScan, EncodedKey, read};
use crate::client::Error;
use crate::dynamic::{DynKey, DynRow};
use crate::plan::Explain;
use crate::row::RawRow;
use crate::table::{Analysis, Handle, Page, Rows, Skipped};

impl DynTableScan {
    /// Reads only these columns, each named `name`, `family:name`, or by a family that is a struct or a map.
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let kinds = events.scan(layout.key().scan()).select(["kind"])?.collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server sends only these columns, and of an optional family all, since any of its columns says that it is there. Rows without any of
    /// the selected columns are read too, as unreadable ones if one of these is required.
    ///
    /// A name is that of a column, `name` or `family:name`, or of a family, whose columns are all read.
    ///
    /// # Errors
    /// If the row type has no such column or family.
    pub fn select<N: AsRef<str>>(self, columns: impl IntoIterator<Item = N>) -> Result<Self, Error> {
        let handle = &self.scan.table.handle;
        let columns: Vec<N> = columns.into_iter().collect();
        let paths: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
        let selected = handle.visible.base().of_columns(handle.visible.family(), &paths);
        let schema = selected.map_err(|error| Error::row(&handle.name, b"", error))?;
        let visible = handle.visible.selected_as(schema);
        let table = self.scan.table.with_handle(Handle { visible, ..handle.clone() });
        Ok(Self { scan: self.scan.with_table(table), ..self })
    }

    /// Keeps only rows whose key satisfies `keep`, as [`Scan::filter_key`](crate::Scan::filter_key) does: the server still sends the others.
    pub fn filter_key(self, keep: impl Fn(&DynKey) -> bool + Send + Sync + 'static) -> Self {
        Self { scan: self.scan.filter_key(keep), ..self }
    }

    /// Reads all stored cells: every version of every column, even if a `ttl` hides it.
    pub fn raw(self) -> Self {
        let handle = self.scan.table.handle.clone();
        let table = self.scan.table.with_handle(Handle { visible: handle.visible.stored(), ..handle });
        Self { scan: self.scan.with_table(table), ..self }
    }

    /// Runs the scan, and returns rows as stored, which [`DynStoredRows::read`] decodes: for tools that show unreadable rows with the
    /// reason.
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let mut rows = events.scan(layout.key().scan()).stored();
    /// while let Some(row) = rows.next().await {
    ///     let (key, stored) = row?;
    ///     match rows.read(&stored) {
    ///         Ok(row) => println!("{key}\n{row}"),
    ///         Err(error) => println!("{key}: {error}\n{stored:?}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the stream cancels its requests.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stored(self) -> DynStoredRows {
        let handle = self.scan.table.handle.clone();
        let table = self.scan.table.with_handle(handle.clone());
        DynStoredRows { handle, rows: self.scan.with_table::<RawRow>(table).stream() }
    }

    /// Describes what the scan will do, without running it: [`Scan::explain`](crate::Scan::explain).
    ///
    /// # Errors
    /// Those of [`Scan::explain`](crate::Scan::explain).
    pub fn explain(&self) -> Result<Explain, Error> {
        self.scan.explain()
    }

    /// Runs the scan, drops its rows, and describes what it did and cost:
    /// [`Scan::explain_analyze`](crate::Scan::explain_analyze).
    ///
    /// # Errors
    /// Those of [`Scan::explain_analyze`](crate::Scan::explain_analyze).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn explain_analyze(self) -> Result<Analysis, Error> {
        self.scan.explain_analyze().await
    }

    /// Reads the next `rows` rows, and a token for the page after them: [`Scan::page`](crate::Scan::page).
    ///
    /// # Errors
    /// Those of [`Scan::page`](crate::Scan::page).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read. The same call reads the same page.
    pub async fn page(self, rows: u64) -> Result<Page<(DynKey, DynRow)>, Error> {
        self.scan.page(rows).await
    }

    /// The token of a [page](Self::page) that ends with the row with this stored key: for a tool that reads rows one by one, and goes
    /// on later.
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let scan = || events.scan(layout.key().scan());
    /// let (mut rows, mut token) = (scan().limit(1000).stored(), None);
    /// while let Some(row) = rows.next().await {
    ///     let (_, row) = row?;
    ///     token = Some(scan().token_after(row.key())?);
    /// }
    /// if let Some(token) = token {
    ///     let rest = scan().after(&token).collect().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When no key can hold a value of the scan.
    pub fn token_after(&self, key: &[u8]) -> Result<String, Error> {
        self.scan.token_after(key)
    }
}

/// The rows of a scan of a [`DynTable`](crate::DynTable) as they are stored, from [`DynTableScan::stored`].
#[must_use = "a stream reads nothing until it is polled"]
pub struct DynStoredRows {
    handle: Handle,
    rows: Rows<EncodedKey, RawRow>,
}

impl DynStoredRows {
    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// Those of [`Scan::stream`](crate::Scan::stream).
    ///
    /// # Cancel safety
    /// A dropped future loses no row.
    pub async fn next(&mut self) -> Option<Result<(DynKey, RawRow), Error>> {
        let row = self.rows.next().await?;
        Some(row.map(|(key, row)| (key, self.handle.unmarked(&row).unwrap_or(row))))
    }

    /// Decodes a row of the scan as the row type.
    ///
    /// # Errors
    /// [`InvalidRow`](crate::ErrorKind::InvalidRow) if a required column is missing, or a cell does not have the column's type.
    pub fn read(&self, row: &RawRow) -> Result<DynRow, Error> {
        read(&self.handle, row)
    }

    /// The foreign rows that the scan has skipped so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.rows.skipped()
    }
}

impl fmt::Debug for DynStoredRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}
