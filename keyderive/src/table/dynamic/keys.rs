//! The keys of a dynamic table's rows, and deletions by them, for tools.

use std::fmt;
use std::future::poll_fn;

use super::{DynCursor, DynTable, DynTableScan};
use crate::client::Error;
use crate::dynamic::DynKey;
use crate::table::Skipped;

impl DynTable {
    /// Deletes many rows by their encoded keys, in requests of about 1 MiB, one after the other: [`Table::delete_all`].
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let mut keys = events.scan(layout.key().scan().fix("user", "alice")?).keys_only();
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
}

impl DynTableScan {
    /// Reads only the keys of the rows, as [`Scan::keys_only`](crate::Scan::keys_only) does: the server sends no values.
    pub fn keys_only(self) -> DynKeys {
        DynKeys(self.cursor_of_keys())
    }
}

/// The keys of a scan of a [`DynTable`], from [`DynTableScan::keys_only`].
#[must_use = "a stream reads nothing until it is polled"]
pub struct DynKeys(DynCursor);

impl DynKeys {
    /// The key of the next row; `None` at the end.
    ///
    /// # Errors
    /// Those of [`Scan::stream`](crate::Scan::stream).
    ///
    /// # Cancel safety
    /// A dropped future loses no row.
    pub async fn next(&mut self) -> Option<Result<DynKey, Error>> {
        poll_fn(|cx| self.0.poll_key(cx)).await
    }

    /// The foreign rows that the scan has skipped so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.0.skipped()
    }
}

impl fmt::Debug for DynKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
