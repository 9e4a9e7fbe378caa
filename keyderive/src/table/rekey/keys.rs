//! The keys of a row in both tables.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;

use super::control::Side;
use super::pair::PairKeys;
use crate::client::{Client, Error, Route};
use crate::key::{ShownKey, TableKey};
use crate::row::{OwnedRow, RawRow};
use crate::table::Table;

/// A key type of a pair of tables: without hashed fields, since keys are decoded, and those of each table are made from the other's.
pub trait PairKey: TableKey<Stored = Self> + fmt::Debug + Sized {}

impl<K: TableKey<Stored = K> + fmt::Debug> PairKey for K {}

/// Keys that are made from each other.
pub(super) struct Converted<Old, New> {
    tables: [Route; 2],
    keys: PhantomData<fn() -> (Old, New)>,
}

impl<Old, New> Converted<Old, New> {
    pub(super) fn new(tables: [Route; 2]) -> Self {
        Self { tables, keys: PhantomData }
    }
}

impl<Old, New> PairKeys for Converted<Old, New>
where
    Old: PairKey + for<'a> From<&'a New>,
    New: PairKey + From<Old>,
{
    fn old_of(&self, new: &[u8]) -> Result<Bytes, Error> {
        let [old_table, new_table] = &self.tables;
        let old = old_key::<Old, New>(&self.tables, new)?;
        // Otherwise two rows of the new table would be one of the old.
        let back = encode(&New::from(decode::<Old>(old_table, &old)?), new_table)?;
        if back == new {
            return Ok(old);
        }
        Err(Error::definition(
            new_table,
            format!(
                "the key {} has no place in the table `{}`: its key there is {}, which gives {}; both conversions must be \
                 inverse to each other",
                ShownKey(new),
                &**old_table,
                ShownKey(&old),
                ShownKey(&back),
            ),
        ))
    }

    fn new_of(&self, old: &[u8], _: &RawRow) -> Result<Bytes, Error> {
        let [old_table, new_table] = &self.tables;
        let new = encode(&New::from(decode::<Old>(old_table, old)?), new_table)?;
        let back = old_key::<Old, New>(&self.tables, &new)?;
        if back == old {
            return Ok(new);
        }
        Err(not_inverse(&self.tables, old, &new, &back))
    }

    fn reads_rows(&self) -> bool {
        false
    }

    fn show(&self, side: Side, key: &[u8]) -> Option<String> {
        show::<Old, New>(side, key)
    }
}

/// What makes a new key of an old one and its row.
pub(super) type KeyOfRow<Old, New, R> = Arc<dyn Fn(&Old, &R) -> New + Send + Sync>;

/// New keys that need the row.
pub(super) struct OfRows<Old, New: PairKey, R> {
    tables: [Route; 2],
    /// Decodes rows.
    rows: Table<New, R>,
    new_of: KeyOfRow<Old, New, R>,
}

impl<Old, New: PairKey, R: crate::row::Row> OfRows<Old, New, R> {
    pub(super) fn new(client: &Client, tables: [Route; 2], new_of: KeyOfRow<Old, New, R>) -> Self {
        let rows = client.table::<New, R>(&tables[0]);
        Self { tables, rows, new_of }
    }
}

impl<Old, New, R> PairKeys for OfRows<Old, New, R>
where
    Old: PairKey + for<'a> From<&'a New>,
    New: PairKey,
    R: OwnedRow + 'static,
{
    fn old_of(&self, new: &[u8]) -> Result<Bytes, Error> {
        old_key::<Old, New>(&self.tables, new)
    }

    fn new_of(&self, old: &[u8], row: &RawRow) -> Result<Bytes, Error> {
        let [old_table, new_table] = &self.tables;
        let key = decode::<Old>(old_table, old)?;
        let new = encode(&(self.new_of)(&key, &self.rows.handle.decode(row)?), new_table)?;
        let back = old_key::<Old, New>(&self.tables, &new)?;
        if back == old {
            return Ok(new);
        }
        Err(not_inverse(&self.tables, old, &new, &back))
    }

    fn reads_rows(&self) -> bool {
        true
    }

    fn show(&self, side: Side, key: &[u8]) -> Option<String> {
        show::<Old, New>(side, key)
    }
}

fn not_inverse([old_table, new_table]: &[Route; 2], old: &[u8], new: &[u8], back: &[u8]) -> Error {
    Error::definition(
        old_table,
        format!(
            "the row {} cannot be re-keyed: its key in `{}` is {}, which belongs to the row {}; both conversions must be \
             inverse to each other",
            ShownKey(old),
            &**new_table,
            ShownKey(new),
            ShownKey(back),
        ),
    )
}

fn old_key<Old, New>([old_table, new_table]: &[Route; 2], new: &[u8]) -> Result<Bytes, Error>
where
    Old: PairKey + for<'a> From<&'a New>,
    New: PairKey,
{
    encode(&Old::from(&decode::<New>(new_table, new)?), old_table)
}

fn show<Old: PairKey, New: PairKey>(side: Side, key: &[u8]) -> Option<String> {
    match side {
        Side::Old => Old::stored(key).ok().map(|key| format!("{key:?}")),
        Side::New => New::stored(key).ok().map(|key| format!("{key:?}")),
    }
}

fn encode<K: PairKey>(key: &K, table: &str) -> Result<Bytes, Error> {
    key.encode().map(Bytes::from).map_err(|error| Error::key(table, error))
}

pub(super) fn decode<K: PairKey>(table: &str, key: &[u8]) -> Result<K, Error> {
    K::stored(key).map_err(|error| Error::foreign(table, error))
}
