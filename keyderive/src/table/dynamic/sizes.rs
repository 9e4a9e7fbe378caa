//! What the service reports about the tablets of a dynamic table.

use super::DynTable;
use crate::client::Error;
use crate::dynamic::DynKey;
use crate::table::{HotTablets, TableSizes};

impl DynTable {
    /// The approximate stored bytes of each range of the table: [`Table::sizes`](crate::Table::sizes).
    ///
    /// # Errors
    /// Those of [`Table::sizes`](crate::Table::sizes).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn sizes(&self) -> Result<TableSizes<DynKey>, Error> {
        self.table.sizes().await
    }

    /// The table's tablets that kept the nodes busiest in the last 24 hours: [`Table::hot_tablets`](crate::Table::hot_tablets).
    ///
    /// # Errors
    /// Those of [`Table::hot_tablets`](crate::Table::hot_tablets).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn hot_tablets(&self) -> Result<HotTablets<DynKey>, Error> {
        self.table.hot_tablets().await
    }
}
