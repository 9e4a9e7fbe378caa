//! The layouts of a table, from a file or from types.

use super::KeyLayout;
use crate::layouts::{Layouts, LayoutsError};
use crate::row::RowSchema;

/// The layout of the keys of a table: one key type of a table of [`Layouts`].
#[derive(Clone, Debug)]
pub struct TableLayout {
    name: String,
    key: KeyLayout,
    rows: Vec<&'static RowSchema>,
    /// Which of them its rows are read as.
    row: Option<usize>,
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

    /// The row types that programs store under such keys.
    #[must_use]
    pub fn rows(&self) -> &[&'static RowSchema] {
        &self.rows
    }

    /// The row type that its rows are read as: the only one, or the one of [`with_row`](Self::with_row).
    #[must_use]
    pub fn row(&self) -> Option<&'static RowSchema> {
        self.row.and_then(|at| self.rows.get(at).copied())
    }

    /// The same table with its rows read as this row type, one of several.
    ///
    /// # Errors
    /// If there is no row type of this name.
    pub fn with_row(self, name: &str) -> Result<Self, LayoutsError> {
        match self.rows.iter().position(|row| row.name() == name) {
            Some(at) => Ok(Self { row: Some(at), ..self }),
            None => {
                let names: Vec<_> = self.rows.iter().map(|row| format!("`{}`", row.name())).collect();
                let (table, names) = (&self.name, names.join(", "));
                let fault = format!("table `{table}` has no row type `{name}`; it has {names}");
                Err(LayoutsError::rules(vec![fault]))
            }
        }
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
        let layouts = keys.map(|entry| {
            let key = KeyLayout::checked(entry.schema()?)?;
            let rows = entry.row_schemas().collect::<Result<Vec<_>, _>>()?;
            let row = (rows.len() == 1).then_some(0);
            Ok(TableLayout { name: name.to_owned(), key, rows, row })
        });
        layouts.collect::<Result<_, _>>().map_err(LayoutsError::rules)
    }
}
