//! The format of the file: how it is created and opened, and how a record is encoded.
//!
//! A record is the stored form of a row or a definition. It begins with a checksum of 8 bytes: the FarmHash fingerprint
//! of three fingerprints of 8 bytes each, of the table's name, of the record's key, and of the record's other bytes. So a
//! reader detects a changed record, and one that is stored under another key.
//!
//! The other bytes of a row are its cells, as in `storage/cells.rs`. The other bytes of a definition are the
//! `CreateTableRequest` that creates the table. Numbers are big-endian.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use keyderive_farmhash::fingerprint64;
use keyderive_proto::admin::create_table_request::Split;
use keyderive_proto::admin::{CreateTableRequest, Table};
use prost::Message as _;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase as _, ReadableTable, TableDefinition,
    TableHandle as _, WriteTransaction,
};

use super::FileError;
use super::sealed::{ChecksummedFile, InvalidHeader, SharedFile};
use crate::check::Granularity;
use crate::storage::Definition;
use crate::tokens::{Token, TokenChanges, Tokens};

/// The version of the format that this release reads and writes.
const VERSION: u32 = 1;

/// The memory of redb's page cache and write buffer.
const CACHE_BYTES: usize = 128 << 20;

const METADATA_NAME: &str = "keyderive";
const VERSION_KEY: &str = "format";
const TIME_KEY: &str = "time";
const DEFINITIONS_NAME: &str = "tables";

type Strings<'a> = TableDefinition<'a, &'static str, &'static [u8]>;
type Rows<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;

const METADATA: Strings<'static> = Strings::new(METADATA_NAME);
pub(super) const DEFINITIONS: Strings<'static> = Strings::new(DEFINITIONS_NAME);

/// The name of the redb table that holds the rows of `table`.
pub(super) fn rows_name(table: &str) -> String {
    format!("rows/{table}")
}

pub(super) fn rows(name: &str) -> Rows<'_> {
    Rows::new(name)
}

pub(super) fn definitions() -> Records {
    Records::of(DEFINITIONS_NAME)
}

/// The contents of a file, apart from rows.
pub(super) struct Contents {
    /// Definitions by table name.
    pub(super) tables: BTreeMap<String, Arc<Definition>>,
    /// The latest time that the server's clock has shown; zero if the file has none.
    pub(super) latest_micros: i64,
    pub(super) tokens: Tokens,
}

/// Why opening a file failed. Its text follows the name of the file: "the file `events.keyderive` is in use by …".
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the file open, or another Bigtable of this process.
    InUse,
    /// A later release wrote the file, in this version of the format.
    Newer(u32),
    /// Another program wrote the file.
    Foreign(String),
    /// The file is damaged.
    Damaged(String),
    /// The operating system returned an error.
    System(String),
    /// No tokio runtime is running.
    NoRuntime,
}

impl std::error::Error for OpenError {}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => f.write_str(
                "is in use by another process or another `Bigtable` of this process; close that, clone its `Bigtable` in this \
                 process, or let one process serve the file to all on a port, with `keyderive serve --file` or \
                 `Bigtable::serve`, and connect the others with `Client::emulator`",
            ),
            Self::Newer(version) => write!(
                f,
                "has version {version} of the format, and this release of keyderive reads version {VERSION}; use the release that wrote it, or a later one"
            ),
            Self::Foreign(what) => {
                write!(f, "cannot be used: {what}; name another file, or one that does not exist")
            }
            Self::Damaged(what) => {
                write!(f, "is damaged and was not opened: {what}; restore it from a backup")
            }
            Self::System(what) => write!(f, "cannot be opened: {what}"),
            Self::NoRuntime => f.write_str("must be opened inside a tokio runtime, and none is running"),
        }
    }
}

impl From<DatabaseError> for OpenError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Self::InUse,
            DatabaseError::Storage(error) => FileError::from(error).into(),
            error => Self::Damaged(error.to_string()),
        }
    }
}

impl From<FileError> for OpenError {
    fn from(error: FileError) -> Self {
        let text = match &error {
            FileError::Redb(redb::Error::Io(io)) => {
                match io.get_ref().and_then(|inner| inner.downcast_ref::<InvalidHeader>()) {
                    Some(InvalidHeader::Foreign) => return Self::Foreign(io.to_string()),
                    Some(InvalidHeader::Damaged) => return Self::Damaged(io.to_string()),
                    None => io.to_string(),
                }
            }
            error => error.to_string(),
        };
        if error.is_damage() { Self::Damaged(text) } else { Self::System(text) }
    }
}

/// Opens a file, or initializes an empty one.
///
/// It reads the whole file and verifies its checksums, since redb does not verify pages that it reads later.
pub(super) fn open(file: Arc<SharedFile>) -> Result<(Database, Contents), OpenError> {
    let database = Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_check_integrity_on_open(true)
        .create_with_backend(ChecksummedFile::new(file))?;
    initialize(&database)?;
    let contents = load(&database)?;
    Ok((database, contents))
}

/// Begins a transaction with two-phase commit. Without it, redb takes a damaged last commit for an unfinished one and
/// silently returns to the commit before; with it, damage is an error.
pub(super) fn begin(database: &Database) -> Result<WriteTransaction, FileError> {
    let mut transaction = database.begin_write()?;
    transaction.set_two_phase_commit(true);
    Ok(transaction)
}

/// Initializes an empty file, and checks the version of any other.
fn initialize(database: &Database) -> Result<(), OpenError> {
    let transaction = begin(database)?;
    match version(&transaction)? {
        Some(VERSION) => return Ok(()),
        Some(found) => return Err(OpenError::Newer(found)),
        None if transaction.list_tables().map_err(FileError::from)?.next().is_some() => {
            return Err(OpenError::Foreign("it has tables of another program".to_owned()));
        }
        None => {}
    }
    set_version(&transaction, VERSION)?;
    transaction.commit().map_err(FileError::from)?;
    Ok(())
}

fn version(transaction: &WriteTransaction) -> Result<Option<u32>, FileError> {
    let is_there = transaction.list_tables()?.any(|table| table.name() == METADATA_NAME);
    if !is_there {
        return Ok(None);
    }
    let version = metadata(&transaction.open_table(METADATA)?, VERSION_KEY)?;
    Ok(version.map(u32::from_be_bytes))
}

/// Reads a number from the metadata.
fn metadata<const N: usize>(
    metadata: &impl ReadableTable<&'static str, &'static [u8]>,
    key: &str,
) -> Result<Option<[u8; N]>, FileError> {
    let Some(record) = metadata.get(key)? else { return Ok(None) };
    let damaged = |damage| FileError::record(METADATA_NAME, key.as_bytes(), damage);
    let body = Records::of(METADATA_NAME).open(key.as_bytes(), record.value()).map_err(damaged)?;
    body.try_into().map(Some).map_err(|_| damaged(Damage::Content))
}

pub(super) fn set_latest_micros(transaction: &WriteTransaction, micros: i64) -> Result<(), FileError> {
    let record = Records::of(METADATA_NAME).seal(TIME_KEY.as_bytes(), &micros.to_be_bytes());
    transaction.open_table(METADATA)?.insert(TIME_KEY, record.as_slice())?;
    Ok(())
}

fn set_version(transaction: &WriteTransaction, version: u32) -> Result<(), FileError> {
    let record = Records::of(METADATA_NAME).seal(VERSION_KEY.as_bytes(), &version.to_be_bytes());
    transaction.open_table(METADATA)?.insert(VERSION_KEY, record.as_slice())?;
    transaction.open_table(DEFINITIONS)?;
    Ok(())
}

fn load(database: &Database) -> Result<Contents, FileError> {
    let transaction = database.begin_read()?;
    let mut tables = BTreeMap::new();
    for entry in transaction.open_table(DEFINITIONS)?.iter()? {
        let (name, record) = entry?;
        let name = name.value();
        let definition = definitions().open(name.as_bytes(), record.value()).and_then(decode_definition);
        let definition =
            definition.map_err(|damage| FileError::record(DEFINITIONS_NAME, name.as_bytes(), damage))?;
        tables.insert(name.to_owned(), Arc::new(definition));
    }
    let latest = metadata(&transaction.open_table(METADATA)?, TIME_KEY)?;
    let mut tokens = Tokens::default();
    for table in transaction.list_tables()? {
        let Some(minute) = minute_of(table.name()) else { continue };
        let records = Records::of(table.name());
        for entry in transaction.open_table(rows(table.name()))?.iter()? {
            let (token, record) = entry?;
            let damaged = |damage| FileError::record(table.name(), token.value(), damage);
            records.open(token.value(), record.value()).map_err(damaged)?;
            tokens.restore(minute, token.value().try_into().map_err(|_| damaged(Damage::Content))?);
        }
    }
    Ok(Contents { tables, latest_micros: latest.map_or(0, i64::from_be_bytes), tokens })
}

const TOKENS_PREFIX: &str = "tokens/";

/// The name of the redb table that holds the tokens of a minute.
pub(super) fn tokens_name(minute: i64) -> String {
    format!("{TOKENS_PREFIX}{minute}")
}

fn minute_of(name: &str) -> Option<i64> {
    name.strip_prefix(TOKENS_PREFIX)?.parse().ok()
}

pub(super) fn change_tokens(
    transaction: &WriteTransaction,
    changes: &TokenChanges<'_>,
) -> Result<(), FileError> {
    for minute in &changes.expired {
        transaction.delete_table(rows(&tokens_name(*minute)))?;
    }
    let Some((minute, added)) = changes.added else { return Ok(()) };
    let name = tokens_name(minute);
    let records = Records::of(&name);
    let mut tokens = transaction.open_table(rows(&name))?;
    // In order, so that the same writes make the same file.
    for token in added.iter().collect::<BTreeSet<_>>() {
        tokens.insert(token.as_bytes(), records.seal(token.as_bytes(), &[]).as_slice())?;
    }
    Ok(())
}

pub(super) fn has_token(
    tokens: &impl ReadableTable<&'static [u8], &'static [u8]>,
    token: &Token,
) -> Result<bool, FileError> {
    Ok(tokens.get(token.as_bytes())?.is_some())
}

const CHECKSUM_BYTES: usize = size_of::<u64>();

/// The records of one table of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    table: u64,
}

/// Why a record is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    Checksum,
    Content,
}

impl Records {
    pub(super) fn of(table: &str) -> Self {
        Self { table: fingerprint64(table.as_bytes()) }
    }

    /// Encodes `body` as the record of `key`.
    pub(super) fn seal(self, key: &[u8], body: &[u8]) -> Vec<u8> {
        let mut record = vec![0; Self::sealed_len(body)];
        self.encode_into(&mut record, key, body);
        record
    }

    /// The size of the record of `body`.
    pub(super) fn sealed_len(body: &[u8]) -> usize {
        CHECKSUM_BYTES + body.len()
    }

    /// Encodes `body` as the record of `key` into `record`, whose length must match.
    pub(super) fn encode_into(self, record: &mut [u8], key: &[u8], body: &[u8]) {
        let (checksum, rest) = record.split_at_mut(CHECKSUM_BYTES);
        checksum.copy_from_slice(&self.checksum(key, body).to_be_bytes());
        rest.copy_from_slice(body);
    }

    /// Verifies the record of `key`, and returns its body.
    pub(super) fn open<'a>(self, key: &[u8], record: &'a [u8]) -> Result<&'a [u8], Damage> {
        let (checksum, body) = record.split_first_chunk().ok_or(Damage::Checksum)?;
        if u64::from_be_bytes(*checksum) != self.checksum(key, body) {
            return Err(Damage::Checksum);
        }
        Ok(body)
    }

    fn checksum(self, key: &[u8], body: &[u8]) -> u64 {
        let mut parts = [0; 3 * CHECKSUM_BYTES];
        let of = [self.table, fingerprint64(key), fingerprint64(body)];
        for (part, fingerprint) in parts.chunks_exact_mut(CHECKSUM_BYTES).zip(of) {
            part.copy_from_slice(&fingerprint.to_be_bytes());
        }
        fingerprint64(&parts)
    }
}

pub(super) fn encode_definition(definition: &Definition) -> Vec<u8> {
    let Definition { id, families, splits, row_key_schema, deletion_protection, granularity } =
        definition.clone();
    let families = families.into_iter().map(|(name, family)| (name.as_ref().to_owned(), family));
    let request = CreateTableRequest {
        table_id: id.map(|id| format!("{id:016x}")).unwrap_or_default(),
        table: Some(Table {
            column_families: families.collect(),
            row_key_schema,
            deletion_protection,
            granularity: granularity.message().into(),
            ..Table::default()
        }),
        initial_splits: splits.into_iter().map(|key| Split { key }).collect(),
        ..CreateTableRequest::default()
    };
    request.encode_to_vec()
}

pub(super) fn decode_definition(body: &[u8]) -> Result<Definition, Damage> {
    let request = CreateTableRequest::decode(body).map_err(|_| Damage::Content)?;
    let table = request.table.ok_or(Damage::Content)?;
    Ok(Definition {
        id: u64::from_str_radix(&request.table_id, 16).ok(),
        families: table.column_families.into_iter().map(|(name, family)| (name.into(), family)).collect(),
        splits: request.initial_splits.into_iter().map(|split| split.key).collect(),
        row_key_schema: table.row_key_schema,
        deletion_protection: table.deletion_protection,
        granularity: Granularity::of_message(table.granularity).ok_or(Damage::Content)?,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use bytes::Bytes;
    use keyderive_tests::fuzz::{Input, fuzz};
    use redb::StorageBackend;

    use super::*;
    use crate::storage::cells::tests::row;
    use crate::storage::{Families, cells};

    /// Sets the version of a file, and removes the time, which a file has only once the server's clock has shown one.
    pub(in super::super) fn set_version_without_time(file: Arc<dyn StorageBackend>, version: u32) {
        let (database, _) = open(SharedFile::new(file)).unwrap();
        let transaction = begin(&database).unwrap();
        set_version(&transaction, version).unwrap();
        transaction.open_table(METADATA).unwrap().remove(TIME_KEY).unwrap();
        transaction.commit().unwrap();
    }

    #[test]
    fn a_flipped_bit_and_another_key_are_detected() {
        let records = Records::of("t");
        let record = records.seal(b"k", &cells::encode(&row(), cells::MAX_BYTES).unwrap());
        assert!(records.open(b"k", &record).is_ok());
        assert_eq!(records.open(b"l", &record), Err(Damage::Checksum));
        assert_eq!(Records::of("u").open(b"k", &record), Err(Damage::Checksum));
        for bit in 0..8 * record.len() {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(records.open(b"k", &flipped), Err(Damage::Checksum));
        }
        for bytes in 0..record.len() {
            assert_eq!(records.open(b"k", &record[..bytes]), Err(Damage::Checksum));
        }
    }

    /// What decodes is encoded as what decodes again, and a cell that is removed leaves the others.
    #[test]
    fn records() {
        fuzz("records", |bytes| {
            let mut input = Input::new(bytes);
            if input.below(4) == 0 {
                if let Ok(definition) = decode_definition(input.rest()) {
                    assert_eq!(decode_definition(&encode_definition(&definition)), Ok(definition));
                }
                return;
            }
            let keep = input.byte();
            let keeps = |place: usize| place >= 8 || keep >> place & 1 == 1;
            let body = Bytes::copy_from_slice(input.rest());
            let Some(cells) = cells::decode(&body, &Families::new()) else {
                assert_eq!(cells::retain(&body, |_| false), None);
                return;
            };
            let encoded = Bytes::from(cells::encode(&cells, cells::MAX_BYTES).unwrap());
            assert_eq!(cells::decode(&encoded, &Families::new()).as_ref(), Some(&cells));
            let mut places = 0..;
            let retained = cells::retain(&body, |_| places.next().is_some_and(keeps));
            let kept = (0..).zip(&cells).filter(|(place, _)| keeps(*place)).map(|(_, cell)| cell.clone());
            let kept: Vec<_> = kept.collect();
            match retained {
                None => assert_eq!(kept, cells),
                Some(retained) => assert_eq!(cells::decode(&retained.into(), &Families::new()), Some(kept)),
            }
        });
    }
}
