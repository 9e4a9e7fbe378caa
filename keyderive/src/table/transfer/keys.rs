//! Which key a row of one table has in another.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::client::Error;
use crate::dynamic::{DynKey, KeyMapping, MappingError};
use crate::key::TableKey;
use crate::row::RawRow;
use crate::table::scan::ComparedSchema;
use crate::table::{RowRef, Table, UntypedTable};

/// The keys that the rows of one table have in another.
pub(crate) trait NewKeys: Send + Sync {
    /// Appends the key of a stored row in the other table to `out`, or nothing on an error; returns false if the row is left out.
    ///
    /// # Errors
    /// For a row whose key is not of the table's key type, or that has no key in the other table. They name the row.
    fn append_key(&self, row: &RawRow, out: &mut Vec<u8>) -> Result<bool, Error>;
}

impl<F: Fn(&RawRow, &mut Vec<u8>) -> Result<bool, Error> + Send + Sync> NewKeys for F {
    fn append_key(&self, row: &RawRow, out: &mut Vec<u8>) -> Result<bool, Error> {
        self(row, out)
    }
}

/// A stored key as text for people: decoded, if it can be.
pub(crate) type ShowKey = Arc<dyn Fn(&[u8]) -> Option<String> + Send + Sync>;

/// Two tables, and the keys that the rows of the old one have in the new one.
#[derive(Clone)]
pub(crate) struct Mapping<'a> {
    pub(crate) old: UntypedTable,
    pub(crate) new: UntypedTable,
    pub(crate) keys: Arc<dyn NewKeys + 'a>,
    pub(crate) show_old: ShowKey,
    pub(crate) show_new: ShowKey,
}

impl<'a> Mapping<'a> {
    /// The mapping of a closure, whose types end here.
    pub(crate) fn of_closure<K, R, S, N, Q, U, T>(
        old: &Table<K, R, S>,
        new: &Table<N, Q, U>,
        closure: impl Fn(K::Stored, RowRef<'_>) -> T + Send + Sync + 'a,
    ) -> Self
    where
        K: TableKey<Stored: fmt::Debug>,
        N: TableKey<Stored: fmt::Debug>,
        T: NewKey<N>,
    {
        let (old, new) = (old.handle.clone(), new.handle.clone());
        // Every stored cell is read, whatever the row type of the table.
        let from = UntypedTable { visible: old.visible.clone().stored(), ..old.clone() };
        let (to, compared) = (new.name.clone(), ComparedSchema::default());
        let codecs = K::codecs(from.key.schema());
        let append_key = move |row: &RawRow, out: &mut Vec<u8>| {
            let key = K::stored(&codecs, row.key()).map_err(|error| Error::foreign(&from.name, error))?;
            let failed = |error| Error::new_key(&from.name, row.key(), error);
            let key =
                closure(key, RowRef::new(row, &from, &compared, None)).into_new_key().map_err(failed)?;
            let Some(key) = key else { return Ok(false) };
            let encoded = key.encode_stored(out).map_err(|error| Error::key(&to, error));
            encoded.map(|()| true).map_err(|error| failed(Box::new(error)))
        };
        let keys = Arc::new(append_key);
        let (show_old, show_new) = (show::<K>(&old), show::<N>(&new));
        Self { old, new, keys, show_old, show_new }
    }
}

impl Mapping<'static> {
    /// The mapping of fields by their names.
    pub(crate) fn of_names(old: UntypedTable, new: UntypedTable, mapping: &KeyMapping) -> Self {
        let (from, to, mapping) = (old.name.clone(), new.name.clone(), mapping.clone());
        let append_key = move |row: &RawRow, out: &mut Vec<u8>| {
            mapping.append_new_key(row.key(), out).map(|()| true).map_err(|error| match error {
                MappingError::Foreign(error) => Error::foreign(&from, error),
                MappingError::Key(error) => {
                    Error::new_key(&from, row.key(), Box::new(Error::key(&to, error)))
                }
            })
        };
        let [show_old, show_new] = [&old, &new].map(show::<DynKey>);
        Self { old, new, keys: Arc::new(append_key), show_old, show_new }
    }
}

fn show<K: TableKey<Stored: fmt::Debug>>(table: &UntypedTable) -> ShowKey {
    let codecs = K::codecs(table.key.schema());
    Arc::new(move |key| K::stored(&codecs, key).ok().map(|key| format!("{key:?}")))
}

impl fmt::Debug for Mapping<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping")
            .field("old", &self.old.name)
            .field("new", &self.new.name)
            .finish_non_exhaustive()
    }
}

/// An error of a closure.
type ClosureError = Box<dyn StdError + Send + Sync>;

/// What the closure of a copy or of a diff gives for a row: its key in the other table, an [`Option`] of it, where `None`
/// leaves the row out, or a [`Result`] of one of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of a table with keys `{N}`",
    label = "expected `{N}`, `Option<{N}>`, or a `Result` of one of them"
)]
pub trait NewKey<N> {
    /// The key; none to leave the row out.
    ///
    /// # Errors
    /// That of the closure.
    #[doc(hidden)]
    fn into_new_key(self) -> Result<Option<N>, ClosureError>;
}

impl<N: TableKey> NewKey<N> for N {
    fn into_new_key(self) -> Result<Option<N>, ClosureError> {
        Ok(Some(self))
    }
}

impl<N: TableKey> NewKey<N> for Option<N> {
    fn into_new_key(self) -> Result<Self, ClosureError> {
        Ok(self)
    }
}

impl<N: TableKey, T: NewKey<N>, E: Into<ClosureError>> NewKey<N> for Result<T, E> {
    fn into_new_key(self) -> Result<Option<N>, ClosureError> {
        self.map_err(Into::into)?.into_new_key()
    }
}
