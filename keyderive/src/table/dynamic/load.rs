//! Loads of many rows into a dynamic table.

use futures_core::Stream;

use super::{DynTable, EncodedKey};
use crate::client::{Entry, Error};
use crate::dynamic::{DynKey, DynRow};
use crate::table::Handle;
use crate::table::load::{Load, LoadItem, LoadTables, TableSet, load_tables};

impl DynTable {
    /// Loads the rows of a stream, as [`put`](Self::put) writes them: [`Table::load`](crate::Table::load), with its order, checkpoints and
    /// failures.
    ///
    /// ```
    /// # use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), Box<dyn std::error::Error>> {
    /// let users = client.dynamic_table(&layout);
    /// let mut rows = Vec::new();
    /// for (id, name) in [("1", "Alice"), ("2", "Bob")] {
    ///     let key = layout.key().decode(&layout.key().encode([("id", id)])?)?;
    ///     let mut row = users.new_row();
    ///     row.set("name", name)?;
    ///     rows.push((key, row));
    /// }
    /// let report = users.load(futures_util::stream::iter(rows)).await?;
    /// assert_eq!(report.written(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A row whose key is of another layout, or that is of another schema, is a failed one.
    pub fn load<'a, S>(&self, rows: S) -> Load<'a, Self, S>
    where
        S: Stream<Item: LoadItem<(DynKey, DynRow)>>,
    {
        load_tables(self.clone(), rows)
    }
}

impl LoadTables for DynTable {
    type Item = (DynKey, DynRow);
}

impl TableSet<(DynKey, DynRow)> for DynTable {
    fn handles(&self) -> Vec<&Handle> {
        vec![&self.table.handle]
    }

    fn without_retry_budget(self) -> Self {
        Self { table: self.table.with(|settings| settings.retry_budget = false), ..self }
    }

    fn encode_item(
        &self,
        _: usize,
        (key, row): &(DynKey, DynRow),
        merges: bool,
        entry: &mut Entry,
    ) -> Result<(), Error> {
        self.check_row(row)?;
        let key: EncodedKey = self.checked(key.as_ref())?;
        self.table.encode_row_by(entry, &key, merges, |out| row.write(out))?;
        entry.check(&self.table.handle.name)
    }

    fn encode_item_key(&self, _: usize, (key, _): &(DynKey, DynRow)) -> Option<Vec<u8>> {
        Some(key.as_ref().to_vec())
    }
}
