//! The layouts of a table, from a file or from types.

use super::{KeyLayout, LayoutError};
use crate::key::RowKey;
use crate::row::{DEFAULT_FAMILY, Row, RowSchema};

/// The layout of the keys of a table: one key type of a table of [`Layouts`](crate::layouts::Layouts).
#[derive(Clone, Debug)]
pub struct TableLayout {
    name: String,
    key: KeyLayout,
    rows: Vec<&'static RowSchema>,
    /// Which of them its rows are read as.
    row: Option<usize>,
}

impl TableLayout {
    /// The layout of a table with keys `K` and rows `R`, for a program that has the types, but uses the calls of this module.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # use keyderive::dynamic::TableLayout;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String }
    /// let users = Client::embedded().dynamic_table(&TableLayout::of::<UserKey, User>("users"));
    /// assert_eq!(users.row_type(), Some(User::SCHEMA));
    /// ```
    #[must_use]
    pub fn of<K: RowKey, R: Row>(name: &str) -> Self {
        Self::new(name, KeyLayout::of::<K>(), vec![R::SCHEMA])
    }

    pub(crate) fn new(name: &str, key: KeyLayout, rows: Vec<&'static RowSchema>) -> Self {
        let row = (rows.len() == 1).then_some(0);
        Self { name: name.to_owned(), key, rows, row }
    }

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
    pub fn row_types(&self) -> &[&'static RowSchema] {
        &self.rows
    }

    /// The row type that its rows are read as: the only one, or the one of [`with_row_type`](Self::with_row_type).
    #[must_use]
    pub fn row_type(&self) -> Option<&'static RowSchema> {
        self.row.and_then(|at| self.rows.get(at).copied())
    }

    /// The family of the columns that its row type declares no other family for: [`DEFAULT_FAMILY`] if the row type is a map, unless it comes
    /// from the registry, which records the family.
    #[must_use]
    pub fn family(&self) -> &'static str {
        self.row_type().and_then(RowSchema::own_family).unwrap_or(DEFAULT_FAMILY)
    }

    /// The same table with its rows read as this row type, one of several, by its name or its fingerprint.
    ///
    /// # Errors
    /// If there is no such row type, or there are several of this name, such as those of two releases.
    pub fn with_row_type(self, name: &str) -> Result<Self, LayoutError> {
        let is_it = |row: &&'static RowSchema| row.name() == name || row.fingerprint().to_string() == name;
        let found: Vec<_> = (0..self.rows.len()).filter(|at| is_it(&self.rows[*at])).collect();
        match found[..] {
            [at] => Ok(Self { row: Some(at), ..self }),
            [_, ..] => {
                let all = found.iter().map(|at| format!("`{}`", self.rows[*at].fingerprint()));
                let all = all.collect::<Vec<_>>().join(", ");
                let fault = format!(
                    "table `{}` has several row types `{name}`; name one by its fingerprint: {all}",
                    self.name
                );
                Err(LayoutError::new(vec![fault]))
            }
            [] => {
                let names: Vec<_> = self.rows.iter().map(|row| format!("`{}`", row.name())).collect();
                let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let fault = format!("table `{}` has no row type `{name}`; it has {has}", self.name);
                Err(LayoutError::new(vec![fault]))
            }
        }
    }
}
