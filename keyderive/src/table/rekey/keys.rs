//! The keys of a row in both tables.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;

use super::state::Side;
use crate::client::{Client, Error, Route};
use crate::dynamic::{FieldPairs, KeyLayout, KeyMapping, MappingError};
use crate::key::{RekeyedFields, RowKey, ShownKey, TableKey};
use crate::row::{OwnedRow, RawRow};
use crate::table::Table;

/// The keys that a row has in the two tables.
pub(super) trait PairKeys: Send + Sync {
    /// The key in the old table of a row with this key in the new one.
    fn old_of(&self, new: &[u8]) -> Result<Bytes, Error>;

    /// The key in the new table of a row of the old one.
    fn new_of(&self, old: &[u8], row: &RawRow) -> Result<Bytes, Error>;

    /// Fails if the mapping is not known, so that no key can be computed.
    fn check_known(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether [`new_of`](Self::new_of) needs the row.
    fn reads_rows(&self) -> bool;

    /// Which fields of both keys are declared to have the same values.
    fn fields(&self) -> Option<&FieldPairs> {
        None
    }

    /// A stored key of one of the tables as text for people: decoded, if it can be.
    fn show(&self, side: Side, key: &[u8]) -> Option<String>;
}

/// A key type of a pair of tables: without hashed fields, since keys are decoded, and each table's keys are made from the
/// other's.
pub trait PairKey: RowKey + TableKey<Stored = Self> + fmt::Debug + Sized + 'static {}

impl<K: RowKey + TableKey<Stored = K> + fmt::Debug + 'static> PairKey for K {}

/// Makes the keys of each table from the other's.
pub(super) trait Conversions: Send + Sync {
    fn old_of(&self, tables: &[Route; 2], new: &[u8]) -> Result<Bytes, Error>;

    fn new_of(&self, tables: &[Route; 2], old: &[u8]) -> Result<Bytes, Error>;

    /// Which fields are declared to have the same values.
    fn fields(&self) -> Option<FieldPairs>;

    fn show(&self, side: Side, key: &[u8]) -> Option<String>;
}

/// Keys that are made from each other; each is checked to lead back.
pub(super) struct Converted<C> {
    tables: [Route; 2],
    conversions: C,
    fields: Option<FieldPairs>,
}

impl<C: Conversions> Converted<C> {
    pub(super) fn new(tables: [Route; 2], conversions: C) -> Self {
        let fields = conversions.fields();
        Self { tables, conversions, fields }
    }
}

impl<C: Conversions> PairKeys for Converted<C> {
    fn old_of(&self, new: &[u8]) -> Result<Bytes, Error> {
        let [old_table, new_table] = &self.tables;
        let old = self.conversions.old_of(&self.tables, new)?;
        // Otherwise two rows of the new table would be one of the old.
        let back = self.conversions.new_of(&self.tables, &old)?;
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
        let new = self.conversions.new_of(&self.tables, old)?;
        let back = self.conversions.old_of(&self.tables, &new)?;
        if back == old {
            return Ok(new);
        }
        Err(not_inverse(&self.tables, old, &new, &back))
    }

    fn reads_rows(&self) -> bool {
        false
    }

    fn fields(&self) -> Option<&FieldPairs> {
        self.fields.as_ref()
    }

    fn show(&self, side: Side, key: &[u8]) -> Option<String> {
        self.conversions.show(side, key)
    }
}

/// The conversions of two key types.
pub(super) struct Typed<Old, New>(PhantomData<fn() -> (Old, New)>);

impl<Old, New> Default for Typed<Old, New> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<Old, New> Conversions for Typed<Old, New>
where
    Old: PairKey + for<'a> From<&'a New>,
    New: PairKey + From<Old>,
{
    fn old_of(&self, tables: &[Route; 2], new: &[u8]) -> Result<Bytes, Error> {
        old_key::<Old, New>(tables, new)
    }

    fn new_of(&self, [old_table, new_table]: &[Route; 2], old: &[u8]) -> Result<Bytes, Error> {
        encode(&New::from(decode::<Old>(old_table, old)?), new_table)
    }

    fn fields(&self) -> Option<FieldPairs> {
        let declared = New::REKEYED_FROM.filter(RekeyedFields::is_of::<Old>)?;
        FieldPairs::declared(&declared, New::SCHEMA)
    }

    fn show(&self, side: Side, key: &[u8]) -> Option<String> {
        show::<Old, New>(side, key)
    }
}

/// Fields by their names.
impl Conversions for KeyMapping {
    fn old_of(&self, [old_table, new_table]: &[Route; 2], new: &[u8]) -> Result<Bytes, Error> {
        let mut old = Vec::new();
        self.append_old_key(new, &mut old).map_err(|error| of_mapping(error, new_table, old_table))?;
        Ok(old.into())
    }

    fn new_of(&self, [old_table, new_table]: &[Route; 2], old: &[u8]) -> Result<Bytes, Error> {
        let mut new = Vec::new();
        self.append_new_key(old, &mut new).map_err(|error| of_mapping(error, old_table, new_table))?;
        Ok(new.into())
    }

    fn fields(&self) -> Option<FieldPairs> {
        self.pairs()
    }

    fn show(&self, side: Side, key: &[u8]) -> Option<String> {
        let layout = match side {
            Side::Old => self.old_layout(),
            Side::New => self.new_layout(),
        };
        layout.decode(key).ok().map(|key| key.to_string())
    }
}

fn of_mapping(error: MappingError, from: &str, to: &str) -> Error {
    match error {
        MappingError::Foreign(error) => Error::foreign(from, error),
        MappingError::Key(error) => Error::key(to, error),
    }
}

/// The keys of a re-keying whose mapping is not known here.
pub(super) struct Unknown {
    pub(super) tables: [Route; 2],
    pub(super) layouts: [KeyLayout; 2],
}

impl PairKeys for Unknown {
    fn old_of(&self, _: &[u8]) -> Result<Bytes, Error> {
        Err(unknown(&self.tables))
    }

    fn new_of(&self, _: &[u8], _: &RawRow) -> Result<Bytes, Error> {
        Err(unknown(&self.tables))
    }

    fn check_known(&self) -> Result<(), Error> {
        Err(unknown(&self.tables))
    }

    fn reads_rows(&self) -> bool {
        false
    }

    fn show(&self, side: Side, key: &[u8]) -> Option<String> {
        let [old, new] = &self.layouts;
        let layout = if side == Side::Old { old } else { new };
        layout.decode(key).ok().map(|key| key.to_string())
    }
}

fn unknown([old_table, _]: &[Route; 2]) -> Error {
    Error::definition(
        old_table,
        "the mapping of its keys is not known here, and this needs it: give the mapping of fields, or, where new keys are made of rows or by \
         conversions of your own, run it in a program that has them",
    )
}

/// Makes a new key from an old one and its row.
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
        Side::Old => Old::stored(&Old::codecs(Old::SCHEMA), key).ok().map(|key| format!("{key:?}")),
        Side::New => New::stored(&New::codecs(New::SCHEMA), key).ok().map(|key| format!("{key:?}")),
    }
}

fn encode<K: PairKey>(key: &K, table: &str) -> Result<Bytes, Error> {
    key.encode().map(Bytes::from).map_err(|error| Error::key(table, error))
}

pub(super) fn decode<K: PairKey>(table: &str, key: &[u8]) -> Result<K, Error> {
    K::stored(&K::codecs(K::SCHEMA), key).map_err(|error| Error::foreign(table, error))
}
