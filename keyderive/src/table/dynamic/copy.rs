//! Copies and comparisons of dynamic tables, whose keys are mapped by the names of their fields.

use super::DynTable;
use crate::client::Error;
use crate::dynamic::KeyMapping;
use crate::table::copy::CopyTo;
use crate::table::diff::Diff;
use crate::table::transfer::Mapping;

impl DynTable {
    /// Copies all rows to another table, under the keys that a mapping gives them, and compares both tables:
    /// [`Table::copy_to`](crate::Table::copy_to). The tables may be of two clients.
    ///
    /// ```
    /// # use keyderive::dynamic::{KeyMapping, TableLayout};
    /// # async fn sample(
    /// #     client: keyderive::Client, old: TableLayout, new: TableLayout,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let mapping = KeyMapping::new(old.key(), new.key(), "user=user_id")?;
    /// let (old, new) = (client.dynamic_table(&old), client.dynamic_table(&new));
    /// println!("{}", old.copy_to(&new, &mapping)?.check().await?);
    /// println!("{}", old.copy_to(&new, &mapping)?.await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the mapping is for other layouts than those of the tables. [`CopyTo`] lists the others.
    pub fn copy_to<'a>(&self, new: &Self, mapping: &KeyMapping) -> Result<CopyTo<'a>, Error> {
        Ok(CopyTo::new(self.mapping(new, mapping)?))
    }

    /// Compares this table, the old one, with a new one, in which each row has the key that a mapping gives it:
    /// [`Table::diff`](crate::Table::diff). The tables may be of two clients.
    ///
    /// # Errors
    /// If the mapping is for other layouts than those of the tables. [`Diff`] lists the others.
    pub fn diff<'a>(&self, new: &Self, mapping: &KeyMapping) -> Result<Diff<'a>, Error> {
        Ok(Diff::new(self.mapping(new, mapping)?))
    }

    fn mapping(&self, new: &Self, mapping: &KeyMapping) -> Result<Mapping<'static>, Error> {
        let checked = mapping.check_layouts([(self.name(), &self.key), (new.name(), &new.key)]);
        checked.map_err(|(table, fault)| Error::definition(table, fault))?;
        Ok(Mapping::of_names(self.table.handle.clone(), new.table.handle.clone(), mapping))
    }
}
