//! What a load writes to, and the items that it reads.

use std::borrow::Borrow;
use std::error::Error as StdError;
use std::fmt;

use crate::client::{Entry, Error};
use crate::key::TableKey;
use crate::row::Row;
use crate::table::{Table, UntypedTable};

/// Which parts of a row are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowParts {
    /// All but the aggregates; replaces the existing row unless it `merges`.
    Columns { merges: bool },
    /// The columns, and what the row adds to aggregates.
    All { merges: bool },
    /// The columns alone, of a load that writes `All` else.
    ValuesOnly { merges: bool },
    /// What it adds to aggregates.
    Additions,
}

impl RowParts {
    /// The same without additions.
    pub(super) fn without_additions(self) -> Self {
        match self {
            Self::All { merges } => Self::ValuesOnly { merges },
            parts => parts,
        }
    }
}

/// A table that a load writes to: a [`Table`], or a [`DynTable`](crate::table::DynTable).
pub(crate) trait LoadTarget: fmt::Debug + Send + Sync {
    /// A key and a row.
    type Item;

    fn handle(&self) -> &UntypedTable;

    /// The same table, whose calls are retried as long as the settings allow.
    fn without_retry_budget(self) -> Self;

    /// Encodes parts of a row. The entry has no mutation if the row has none of these parts.
    ///
    /// # Errors
    /// If the key or the row cannot be encoded, or is above a limit. The entry may have the key.
    fn encode_item(&self, item: &Self::Item, parts: RowParts, entry: &mut Entry) -> Result<(), Error>;

    /// The encoded key of a row, if it has one.
    fn encode_item_key(&self, item: &Self::Item) -> Option<Vec<u8>>;
}

impl<K: TableKey, R: Row> LoadTarget for Table<K, R> {
    type Item = (K, R);

    fn handle(&self) -> &UntypedTable {
        &self.handle
    }

    fn without_retry_budget(self) -> Self {
        self.with(|settings| settings.retry_budget = false)
    }

    fn encode_item(&self, (key, row): &(K, R), parts: RowParts, entry: &mut Entry) -> Result<(), Error> {
        match parts {
            RowParts::Columns { merges } => self.encode_row(entry, key, row, merges)?,
            RowParts::All { merges } => self.encode_row_and_additions(entry, key, row, merges)?,
            RowParts::ValuesOnly { merges } => {
                self.encode_without_additions(entry, key, row, merges)?;
            }
            RowParts::Additions => self.encode_additions(entry, key, row)?,
        }
        match parts {
            RowParts::ValuesOnly { .. } | RowParts::Additions if entry.mutations.is_empty() => Ok(()),
            _ => entry.check(&self.handle.name),
        }
    }

    fn encode_item_key(&self, (key, _): &(K, R)) -> Option<Vec<u8>> {
        self.handle.key.encode(key).ok()
    }
}

/// An error of a load's input.
pub(super) type InputError = Box<dyn StdError + Send + Sync>;

/// An item that a load reads: a key and a row.
///
/// It is `(K, R)`, `&(K, R)`, or a [`Result`] of one of them, so that a load can take the rows of a parser directly. An item
/// that is an error ends the load, after all rows before it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an item of a load of `{T}`",
    label = "expected `{T}`, `&{T}`, or a `Result` of one of them"
)]
pub trait LoadItem<T>: sealed::Sealed {
    /// The item, or a reference to it.
    #[doc(hidden)]
    type Item: Borrow<T>;

    /// The key and the row.
    ///
    /// # Errors
    /// That of the input.
    #[doc(hidden)]
    fn into_item(self) -> Result<Self::Item, InputError>;
}

mod sealed {
    pub trait Sealed {}

    impl<K, R> Sealed for (K, R) {}
    impl<K, R> Sealed for &(K, R) {}
    impl<T, E> Sealed for Result<T, E> {}
}

impl<K, R> LoadItem<(K, R)> for (K, R) {
    type Item = Self;

    fn into_item(self) -> Result<Self, InputError> {
        Ok(self)
    }
}

impl<K, R> LoadItem<(K, R)> for &(K, R) {
    type Item = Self;

    fn into_item(self) -> Result<Self, InputError> {
        Ok(self)
    }
}

impl<T, I: Borrow<T>, E: Into<InputError>> LoadItem<T> for Result<I, E> {
    type Item = I;

    fn into_item(self) -> Result<I, InputError> {
        self.map_err(Into::into)
    }
}
