//! The file as a whole: made, opened, brought to this version of the format.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase as _, ReadableTable, TableDefinition,
    TableHandle as _, WriteTransaction,
};

use super::fault::Fault;
use super::record::{self, Records};
use super::sealed::{BrokenSeal, Known, Sealed};
use crate::storage::Definition;

/// The version of the format that this release reads and writes.
const VERSION: u32 = 1;

/// What brings a file from the version of its place in the list to the next.
const MIGRATIONS: [Migration; VERSION as usize] = [bind_rows_to_their_keys];

type Migration = fn(&WriteTransaction) -> Result<(), Fault>;

/// How much memory redb takes for pages that it has read, and for those that it has not written yet.
const CACHE_BYTES: usize = 128 << 20;

/// How many rows a migration holds at once.
const BATCH_ROWS: usize = 256;

const ABOUT_NAME: &str = "keyderive";
const VERSION_KEY: &str = "format";
const TIME_KEY: &str = "time";
const DEFINITIONS_NAME: &str = "tables";

type Strings<'a> = TableDefinition<'a, &'static str, &'static [u8]>;
type Rows<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;

const ABOUT: Strings<'static> = Strings::new(ABOUT_NAME);
pub(super) const DEFINITIONS: Strings<'static> = Strings::new(DEFINITIONS_NAME);

/// The name of the rows of `table` in the file.
pub(super) fn rows_name(table: &str) -> String {
    format!("rows/{table}")
}

pub(super) fn rows(name: &str) -> Rows<'_> {
    Rows::new(name)
}

pub(super) fn definitions() -> Records {
    Records::of(DEFINITIONS_NAME)
}

/// What a file holds, apart from rows.
pub(super) struct Contents {
    /// The definitions of its tables, by name.
    pub(super) tables: BTreeMap<String, Arc<Definition>>,
    /// The latest time that its cells may have got from the server; zero in a file of a release that did not keep it.
    pub(super) latest_micros: i64,
}

/// Why a file is not opened. Its text follows the name of the file: "the file `events.keyderive` is in use by …".
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the file open, or another Bigtable of this one.
    InUse,
    /// A later release wrote the file, in this version of its format.
    Newer(u32),
    /// Another program wrote the file.
    Foreign(String),
    /// The file is not what was written.
    Damaged(String),
    /// The operating system refuses.
    System(String),
    /// No tokio runtime is running.
    NoRuntime,
}

impl std::error::Error for OpenError {}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => f.write_str(
                "is in use by another process, or by another Bigtable of this one; close that one, or share it",
            ),
            Self::Newer(version) => write!(
                f,
                "has version {version} of the format, and this release of keyderive reads versions up to {VERSION}; use the release that wrote it, or a later one"
            ),
            Self::Foreign(what) => write!(f, "cannot be used: {what}; name another file, or one that does not exist"),
            Self::Damaged(what) => {
                write!(f, "is damaged, and nothing of it is used: {what}; restore it from a backup")
            }
            Self::System(what) => write!(f, "cannot be opened: {what}"),
            Self::NoRuntime => f.write_str("is opened inside a tokio runtime, and none is running"),
        }
    }
}

impl From<DatabaseError> for OpenError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Self::InUse,
            DatabaseError::Storage(error) => Fault::from(error).into(),
            error => Self::Damaged(error.to_string()),
        }
    }
}

impl From<Fault> for OpenError {
    fn from(fault: Fault) -> Self {
        match &fault {
            Fault::Redb(redb::Error::Io(error)) => {
                let seal = error.get_ref().and_then(|error| error.downcast_ref::<BrokenSeal>());
                match seal {
                    Some(BrokenSeal::Foreign) => Self::Foreign(error.to_string()),
                    Some(BrokenSeal::Damaged) => Self::Damaged(error.to_string()),
                    None if fault.is_damage() => Self::Damaged(error.to_string()),
                    None => Self::System(error.to_string()),
                }
            }
            fault if fault.is_damage() => Self::Damaged(fault.to_string()),
            fault => Self::System(fault.to_string()),
        }
    }
}

/// Opens what a file holds, or makes it where it is empty.
///
/// All of it is read, and its checksums are compared: redb does not look at those of a page that it reads later.
pub(super) fn open(file: Arc<Known>) -> Result<(Database, Contents), OpenError> {
    let database = Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_check_integrity_on_open(true)
        .create_with_backend(Sealed::new(file))?;
    migrate(&database)?;
    let contents = load(&database)?;
    Ok((database, contents))
}

/// A transaction that ends with two waits for the disk, so that what it has committed is never taken for one that
/// was cut off: damage to it is then an error, and not a reason to go back to the commit before.
pub(super) fn begin(database: &Database) -> Result<WriteTransaction, Fault> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// Brings the file to this version: as a whole, or not at all.
fn migrate(database: &Database) -> Result<(), OpenError> {
    let transaction = begin(database)?;
    let found = match version(&transaction)? {
        Some(VERSION) => return Ok(()),
        Some(found) => found,
        None if transaction.list_tables().map_err(Fault::from)?.next().is_some() => {
            return Err(OpenError::Foreign("it has tables of another program".to_owned()));
        }
        None => VERSION,
    };
    let place = usize::try_from(found).unwrap_or(usize::MAX);
    let steps = MIGRATIONS.get(place..).ok_or(OpenError::Newer(found))?;
    steps.iter().try_for_each(|step| step(&transaction))?;
    set_version(&transaction, VERSION)?;
    transaction.commit().map_err(Fault::from)?;
    Ok(())
}

fn version(transaction: &WriteTransaction) -> Result<Option<u32>, Fault> {
    let is_there = transaction.list_tables()?.any(|table| table.name() == ABOUT_NAME);
    if !is_there {
        return Ok(None);
    }
    let version = about(&transaction.open_table(ABOUT)?, VERSION_KEY)?;
    Ok(version.map(u32::from_be_bytes))
}

/// A number of those that are about the file.
fn about<const N: usize>(
    about: &impl ReadableTable<&'static str, &'static [u8]>,
    key: &str,
) -> Result<Option<[u8; N]>, Fault> {
    let Some(record) = about.get(key)? else { return Ok(None) };
    let damaged = |damage| Fault::record(ABOUT_NAME, key.as_bytes(), damage);
    let body = Records::of(ABOUT_NAME).open(key.as_bytes(), record.value()).map_err(damaged)?;
    body.try_into().map(Some).map_err(|_| damaged(record::Damage::Content))
}

/// Keeps the latest time that cells may have got from the server.
pub(super) fn set_latest_micros(transaction: &WriteTransaction, micros: i64) -> Result<(), Fault> {
    let record = Records::of(ABOUT_NAME).seal(TIME_KEY.as_bytes(), &micros.to_be_bytes());
    transaction.open_table(ABOUT)?.insert(TIME_KEY, record.as_slice())?;
    Ok(())
}

fn set_version(transaction: &WriteTransaction, version: u32) -> Result<(), Fault> {
    let record = Records::of(ABOUT_NAME).seal(VERSION_KEY.as_bytes(), &version.to_be_bytes());
    transaction.open_table(ABOUT)?.insert(VERSION_KEY, record.as_slice())?;
    transaction.open_table(DEFINITIONS)?;
    Ok(())
}

fn load(database: &Database) -> Result<Contents, Fault> {
    let transaction = database.begin_read()?;
    let mut tables = BTreeMap::new();
    for entry in transaction.open_table(DEFINITIONS)?.iter()? {
        let (name, record) = entry?;
        let name = name.value();
        let definition =
            definitions().open(name.as_bytes(), record.value()).and_then(record::decode_definition);
        let definition =
            definition.map_err(|damage| Fault::record(DEFINITIONS_NAME, name.as_bytes(), damage))?;
        tables.insert(name.to_owned(), Arc::new(definition));
    }
    let latest = about(&transaction.open_table(ABOUT)?, TIME_KEY)?;
    Ok(Contents { tables, latest_micros: latest.map_or(0, i64::from_be_bytes) })
}

/// Version 0 had the checksum of a row's record of the cells alone, so that a row that came under the key of another
/// did not show.
fn bind_rows_to_their_keys(transaction: &WriteTransaction) -> Result<(), Fault> {
    let mut tables = Vec::new();
    for entry in transaction.open_table(DEFINITIONS)?.iter()? {
        tables.push(entry?.0.value().to_owned());
    }
    for table in tables {
        let name = rows_name(&table);
        let mut rows = transaction.open_table(rows(&name))?;
        let mut next = Vec::new();
        loop {
            let mut batch = Vec::new();
            for entry in rows.range(next.as_slice()..)?.take(BATCH_ROWS) {
                let (key, record) = entry?;
                let key = key.value();
                let body = record::open_version_0(record.value())
                    .map_err(|damage| Fault::record(&table, key, damage))?;
                batch.push((key.to_vec(), Records::of(&table).seal(key, body)));
            }
            let Some((last, _)) = batch.last() else { break };
            next.clone_from(last);
            next.push(0);
            for (key, record) in batch {
                rows.insert(key.as_slice(), record.as_slice())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    //! Files of other versions.

    use keyderive_farmhash::fingerprint64;
    use redb::StorageBackend;

    use super::*;

    /// Has a file be one of `version`, whose rows are as those of version 0 where it is that.
    pub(in super::super) fn turn_into(file: Arc<dyn StorageBackend>, version: u32) {
        let (database, contents) = open(Known::of(file)).unwrap();
        let transaction = begin(&database).unwrap();
        set_version(&transaction, version).unwrap();
        // Releases of these versions wrote none at first.
        transaction.open_table(ABOUT).unwrap().remove(TIME_KEY).unwrap();
        for table in contents.tables.keys().filter(|_| version == 0) {
            let name = rows_name(table);
            let mut rows = transaction.open_table(rows(&name)).unwrap();
            let all: Vec<(Vec<u8>, Vec<u8>)> = rows
                .iter()
                .unwrap()
                .map(|entry| {
                    entry.map(|(key, record)| (key.value().to_vec(), record.value().to_vec())).unwrap()
                })
                .collect();
            for (key, record) in all {
                let body = Records::of(table).open(&key, &record).unwrap();
                let old = [&fingerprint64(body).to_be_bytes()[..], body].concat();
                rows.insert(key.as_slice(), old.as_slice()).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
}
