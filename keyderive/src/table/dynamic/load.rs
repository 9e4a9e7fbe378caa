//! Loads of many rows into a dynamic table.

use futures_core::Stream;

use super::DynTable;
use crate::client::{Entry, Error};
use crate::dynamic::{DynKey, DynRow};
use crate::row::RowWriter;
use crate::table::UntypedTable;
use crate::table::load::{Load, LoadItem, LoadTarget, RowParts};

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
    /// A row with a key of another layout or with another schema fails; with [`add_sums`](Load::add_sums), every row fails.
    pub fn load<'a, S>(&self, rows: S) -> Load<'a, Self, S>
    where
        S: Stream<Item: LoadItem<(DynKey, DynRow)>>,
    {
        Load::new(self.clone(), rows)
    }
}

impl LoadTarget for DynTable {
    type Item = (DynKey, DynRow);

    fn handle(&self) -> &UntypedTable {
        &self.table.handle
    }

    fn without_retry_budget(self) -> Self {
        Self { table: self.table.with(|settings| settings.retry_budget = false), ..self }
    }

    fn encode_item(
        &self,
        (key, row): &(DynKey, DynRow),
        parts: RowParts,
        entry: &mut Entry,
    ) -> Result<(), Error> {
        self.check_row(row)?;
        let key = self.checked(key.as_ref())?;
        let RowParts::Columns { merges } = parts else {
            let fault = "a load by data writes columns alone; leave `.add_sums()` out, and add to aggregates by `DynTable::add`";
            return Err(Error::definition(self.name(), fault));
        };
        let family = self.table.handle.visible.family();
        self.table.encode_row_by(entry, &key, |sink| row.write(&mut RowWriter::new(sink, family, merges)))?;
        entry.check(&self.table.handle.name)
    }

    fn encode_item_key(&self, (key, _): &(DynKey, DynRow)) -> Option<Vec<u8>> {
        Some(key.as_ref().to_vec())
    }
}
