//! Scans of a dynamic table: of some columns, and of stored rows.

use super::read;
use crate::client::Error;
use crate::dynamic::{DynKey, DynRow};
use crate::row::RawRow;
use crate::table::{Rows, Scan};

impl Scan<DynKey, DynRow> {
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
        let (name, visible) = (&self.table.handle.name, &self.table.handle.visible);
        let columns: Vec<N> = columns.into_iter().collect();
        let paths: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
        let selected = visible.base().of_columns(visible.family(), &paths);
        let visible = visible.selected_as(selected.map_err(|error| Error::row(name, b"", error))?);
        Ok(self.with_visible(visible))
    }

    /// Reads the cells of the rows that the scan reads as they are stored, which [`Rows::read`] decodes: for tools that show unreadable rows
    /// with the reason. [`raw`](Self::raw) reads all cells.
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let mut rows = events.scan(layout.key().scan()).stored().stream();
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
    pub fn stored(self) -> Scan<DynKey, RawRow> {
        self.with_rows()
    }
}

impl Rows<DynKey, RawRow> {
    /// Decodes a row of the scan as the table's row type.
    ///
    /// # Errors
    /// [`InvalidRow`](crate::ErrorKind::InvalidRow) if a required column is missing, or a cell does not have the column's type.
    pub fn read(&mut self, row: &RawRow) -> Result<DynRow, Error> {
        read(&self.kept.handle, &mut self.kept.by_data, row)
    }
}
