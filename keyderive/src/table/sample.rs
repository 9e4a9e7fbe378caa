//! Samples of a table's rows, to compare what is stored with the types of a program.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;

use super::handle::WriteScope;
use super::{OneTable, Reads, Table, UntypedTable};
use crate::client::{Error, ReadRows};
use crate::key::TableKey;
use crate::plan::KeyRange;
use crate::row::{RawRow, Row, RowCells, RowError, RowFilter};

/// At how many places of a table rows are read, and how many at each.
const PLACES: usize = 32;
const ROWS: u64 = 16;

/// How many columns the text of an error names.
const SHOWN: usize = 8;

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// Reads a sample of the stored rows as the row type, and fails if one cannot be read; returns how many were read.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// #[derive(RowKey)]
    /// struct UserKey {
    ///     id: u64,
    /// }
    ///
    /// #[derive(Row)]
    /// struct OlderUser {
    ///     name: String,
    /// }
    ///
    /// #[derive(Row)]
    /// struct User {
    ///     name: String,
    ///     age: u32, // a required column, which older rows lack
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let client = Client::embedded();
    /// let older = client.table::<UserKey, OlderUser>("users");
    /// older.create_if_absent().await?;
    /// older.put(&UserKey { id: 7 }, &OlderUser { name: "Corrie".into() }).await?;
    /// assert_eq!(older.verify_rows().await?, 1);
    ///
    /// let error = client.table::<UserKey, User>("users").verify_rows().await.unwrap_err();
    /// assert!(error.is_table_mismatch());
    /// assert!(error.to_string().contains("column `cf:age` is missing"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Use it in a test or a deployment, before a program with another row type runs. The sample has up to 512 rows from all parts
    /// of the table, and skips rows whose keys are not of this key type. Rows outside the sample may still fail. It
    /// cannot tell an optional column that was [renamed](Table#renamed-columns) from one that no row has.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if other programs [store values](crate::guide::tables#registry) that the row type reads
    /// otherwise, or if rows cannot be read: for each column that fails, in how many rows, and
    /// why in the first. When a request fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn verify_rows(&self) -> Result<u64, Error>
    where
        R: Row,
        S: OneTable,
    {
        self.bound().ensure_fits(WriteScope::Nothing).await?;
        let mut failed: BTreeMap<String, (u64, RowError, Vec<u8>)> = BTreeMap::new();
        let (codecs, mut read) = (K::codecs(self.handle.key.schema()), 0);
        let foreign_or_read = |row: &RawRow| {
            if K::stored(&codecs, row.key()).is_err() {
                return Ok(());
            }
            read += 1;
            if let Err(error) = R::decode(RowCells::new(row, self.handle.visible.family())) {
                let known = failed.entry(error.column());
                known.or_insert_with(|| (0, error, row.key().to_vec())).0 += 1;
            }
            Ok(())
        };
        self.handle.sample(self.handle.read_filter(), foreign_or_read).await?;
        if failed.is_empty() {
            return Ok(read);
        }
        let rows: u64 = failed.values().map(|(rows, ..)| rows).sum();
        let mut text = format!("{rows} of {read} rows of a sample cannot be read as `{}`", R::SCHEMA.name());
        for (rows, error, key) in failed.values().take(SHOWN) {
            let key = key.escape_ascii();
            text.push_str(&format!("; in {rows}, such as `{key}`, the {error}"));
        }
        if let Some(more @ 1..) = failed.len().checked_sub(SHOWN) {
            text.push_str(&format!("; and {more} more columns"));
        }
        Err(Error::mismatch(&self.handle.name, text))
    }
}

impl UntypedTable {
    /// Calls `check` on rows from all parts of the table. With a tag, they are those with keys of this tag.
    pub(super) async fn sample(
        &self,
        filter: RowFilter,
        mut check: impl FnMut(&RawRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let starts = self.partition_starts().await?;
        let places: Vec<_> = starts.iter().step_by(starts.len().div_ceil(PLACES).max(1)).collect();
        for (at, start) in places.iter().enumerate() {
            // Up to the next place, so that no row is read twice.
            let end = places.get(at + 1).map(|end| end.to_vec());
            let ranges = self.ranges_within(KeyRange::new(start.to_vec(), end));
            if ranges.is_empty() {
                continue;
            }
            let request =
                ReadRows { ranges, limit: Some(ROWS), filter: Some(filter.clone()), ..ReadRows::default() };
            let mut rows = self.client.read_rows(&self.name, request);
            while let Some(row) = rows.try_next().await? {
                check(&row)?;
            }
        }
        Ok(())
    }
}
