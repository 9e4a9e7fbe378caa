//! The layouts of a table, from a file or from types.

use super::KeyLayout;
use crate::key::Schema;
use crate::layouts::{Layouts, LayoutsError};

/// The layout of the keys of a table: one key type of a table of [`Layouts`].
#[derive(Clone, Debug)]
pub struct TableLayout {
    name: String,
    key: KeyLayout,
}

impl TableLayout {
    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layout of its row keys.
    #[must_use]
    pub fn key(&self) -> &KeyLayout {
        &self.key
    }
}

impl Layouts {
    /// The layout of a table whose rows have one key type.
    ///
    /// ```
    /// use keyderive::layouts::Layouts;
    /// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
    /// # #[derive(keyderive::Row)] struct User { name: String }
    /// # let json = Layouts::new().table::<UserKey, User>("users").to_json();
    ///
    /// let layouts = Layouts::from_json(&json)?; // such as the text of `layouts.json`
    /// let users = layouts.table_layout("users")?;
    /// assert_eq!(users.key().encode([("id", 7)]).unwrap(), b"00000000000000000007");
    ///
    /// let error = layouts.table_layout("user").unwrap_err().to_string();
    /// assert_eq!(error, "there is no table `user`; the tables are `users`");
    /// # Ok::<(), keyderive::layouts::LayoutsError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such table, or it has several key types: [`table_layouts`](Self::table_layouts) returns all.
    pub fn table_layout(&self, name: &str) -> Result<TableLayout, LayoutsError> {
        let mut layouts = self.table_layouts(name)?;
        match layouts.pop() {
            Some(only) if layouts.is_empty() => Ok(only),
            last => {
                let all = layouts.iter().chain(&last).map(|layout| layout.key.schema());
                let all = all.map(|schema| format!("`{}`", schema.key_type())).collect::<Vec<_>>().join(", ");
                Err(LayoutsError::rules(vec![format!(
                    "table `{name}` has several key types, {all}; take one of `table_layouts`"
                )]))
            }
        }
    }

    /// The layouts of a table, one for each key type, in the order of their tags.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn table_layouts(&self, name: &str) -> Result<Vec<TableLayout>, LayoutsError> {
        let keys = self.keys_of(name).ok_or_else(|| {
            let names: Vec<_> = self.names().map(|name| format!("`{name}`")).collect();
            LayoutsError::rules(vec![format!(
                "there is no table `{name}`; the tables are {}",
                names.join(", ")
            )])
        })?;
        let layouts = keys.map(|(key_type, key)| {
            let schema = Schema::from_json(&key.to_string(), Some(key_type))?;
            Ok(TableLayout { name: name.to_owned(), key: KeyLayout::checked(schema)? })
        });
        layouts.collect::<Result<_, _>>().map_err(LayoutsError::rules)
    }
}
