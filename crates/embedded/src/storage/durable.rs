//! Tables and rows in one file, which outlives the process.
//!
//! # The file
//!
//! A database of `redb`, to whose header we append a [checksum](sealed). Its tables, in version 1 of the format:
//!
//! | table | key | value |
//! |---|---|---|
//! | `keyderive` | `format` | the version, 4 bytes |
//! | `keyderive` | `time` | the latest server time of a cell, 8 bytes, if there is one |
//! | `tables` | the name of a Bigtable table | its definition |
//! | `rows/` and that name | a row key | the row's cells |
//! | `tokens/` and a minute since the epoch | the digest of an idempotency token that was applied then | nothing |
//!
//! Each value is a [record](format), which begins with a checksum.
//!
//! # Damage
//!
//! redb verifies the checksums of its pages only when it opens a file. It detects earlier damage then, and the file is
//! rejected. The checksums of the records detect later damage.
//!
//! # A disk that is full or fails
//!
//! Uncommitted changes are lost, and their callers get an error. The next read or write reopens the file at the last
//! commit that is known to be on the disk; [sealed] says how. While the disk is full, reads still work.
//!
//! # Panics
//!
//! redb may panic on an invalid page. Panics are caught where redb is called. After a panic, redb may be in an
//! inconsistent state, so nothing calls it any more: every method fails, and the database is not even dropped, since that
//! would write. The file is unlocked, and reopening it finds what was committed. A program built with `panic = "abort"`
//! ends instead.

mod format;
mod sealed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::mem;
use std::ops::Bound;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use redb::backends::FileBackend;
use redb::{
    CommitError, Database, ReadableDatabase as _, ReadableTable, StorageBackend, StorageError, TableError,
    TransactionError, WriteTransaction,
};
use tonic::{Code, Status};

pub use self::format::OpenError;
use self::format::{Contents, Damage, Records};
use self::sealed::{FailedWrite, SharedFile};
use super::{CellReader, Definition, EncodedRows, Storage, names};
use crate::interval::Interval;
use crate::tokens::{Token, TokenChanges, Tokens};

/// Tables and rows in one file.
pub(crate) struct FileStorage {
    path: String,
    file: Arc<SharedFile>,
    /// `None` while the disk fails, and after `close`.
    database: RwLock<Option<Database>>,
    /// Whether the disk has failed, so that the database must be reopened.
    has_failed: AtomicBool,
    is_closed: AtomicBool,
    /// The committed definitions.
    tables: RwLock<BTreeMap<String, Arc<Definition>>>,
    changes: Mutex<Changes>,
    /// The tokens that were in the file when it was opened, until they are asked for.
    tokens: Mutex<Tokens>,
    /// The error of every call after a failure that reopening cannot repair.
    broken: OnceLock<Status>,
    panicked: AtomicBool,
}

/// The uncommitted changes.
#[derive(Default)]
struct Changes {
    transaction: Option<WriteTransaction>,
    /// New definitions of tables; `None` for deleted tables.
    tables: Vec<(String, Option<Arc<Definition>>)>,
    /// Why changes since the last commit are lost.
    lost: Option<Status>,
    /// The latest server time in the file.
    latest_micros: i64,
    /// A write that failed, which is retried before any other.
    failed_write: Option<FailedWrite>,
}

impl FileStorage {
    /// Opens or creates a file. It is locked until this is closed or dropped.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let system = |error: io::Error| OpenError::System(error.to_string());
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = FileBackend::new(file.map_err(system)?)?;
        let durable = Self::over(Arc::new(file), path.display().to_string())?;
        sync_directory_of(path).map_err(system)?;
        Ok(durable)
    }

    /// Opens or creates what this backend keeps. `path` names it in errors.
    pub(crate) fn over(file: Arc<dyn StorageBackend>, path: String) -> Result<Self, OpenError> {
        let file = SharedFile::new(file);
        let opened = panic::catch_unwind(AssertUnwindSafe(|| format::open(Arc::clone(&file))));
        let (database, Contents { tables, latest_micros, tokens }) = opened.unwrap_or_else(|_| {
            // Unwinding has dropped redb's database, but not its lock.
            let _ = file.close();
            Err(OpenError::Damaged("redb panicked".to_owned()))
        })?;
        Ok(Self {
            path,
            file,
            database: RwLock::new(Some(database)),
            has_failed: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            tables: RwLock::new(tables),
            changes: Mutex::new(Changes { latest_micros, ..Changes::default() }),
            tokens: Mutex::new(tokens),
            broken: OnceLock::new(),
            panicked: AtomicBool::new(false),
        })
    }

    /// A file in memory.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        let opened = Self::over(Arc::new(redb::backends::InMemoryBackend::new()), "in memory".to_owned());
        opened.unwrap_or_else(|error| panic!("the file {error}"))
    }

    /// The database. Reopens it if the disk has failed.
    fn database(&self) -> Result<RwLockReadGuard<'_, Option<Database>>, Status> {
        if self.has_failed.load(Ordering::Acquire) {
            self.reopen()?;
        }
        Ok(self.database.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// After a failure of the disk, replaces the database by one at the last commit that the disk is known to have.
    fn reopen(&self) -> Result<(), Status> {
        // Waits for readers.
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed.load(Ordering::Acquire) {
            return Err(self.closed());
        }
        if !self.has_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut changes = self.changes();
        let opened = self.call_redb(|| {
            // Drop the transaction first, since it keeps its database open.
            if changes.transaction.take().is_some() {
                changes.lost.get_or_insert_with(|| {
                    Status::internal(format!(
                        "this write was not applied, because the disk failed under the file `{}`",
                        self.path
                    ))
                });
            }
            *database = None;
            changes.failed_write = self.file.take_failed_write().or_else(|| changes.failed_write.take());
            self.file.restore_header().map_err(|error| error.to_string())?;
            format::open(Arc::clone(&self.file)).map_err(|error| error.to_string())
        })?;
        let (reopened, contents) = opened.map_err(|what| {
            Status::internal(format!(
                "the file `{}` cannot be read or written until the disk works: {what}; each request retries, and acknowledged \
                 writes are kept",
                self.path
            ))
        })?;
        *self.tables.write().unwrap_or_else(PoisonError::into_inner) = contents.tables;
        changes.latest_micros = contents.latest_micros;
        *database = Some(reopened);
        self.has_failed.store(false, Ordering::Release);
        Ok(())
    }

    /// Runs `work` on the committed database.
    fn read<T>(&self, work: impl FnOnce(&Database) -> Result<T, FileError>) -> Result<T, Status> {
        let database = self.database()?;
        let Some(database) = &*database else { return Err(self.closed()) };
        self.call_redb(|| work(database))?.map_err(|error| {
            self.has_failed.fetch_or(error.is_disk_error(), Ordering::AcqRel);
            error.status(&self.path)
        })
    }

    /// Runs `work` in the transaction of the uncommitted changes.
    fn change<T>(&self, work: impl FnOnce(&WriteTransaction) -> Result<T, FileError>) -> Result<T, Status> {
        let outcome = {
            let database = self.database()?;
            let Some(database) = &*database else { return Err(self.closed()) };
            let mut changes = self.changes();
            if let Some(lost) = &changes.lost {
                return Err(lost.clone());
            }
            self.call_redb(|| {
                if let Some(failed) = &changes.failed_write {
                    self.file.retry_write(failed).map_err(FileError::RetryFailed)?;
                    changes.failed_write = None;
                }
                let transaction = match changes.transaction.take() {
                    Some(transaction) => transaction,
                    None => format::begin(database)?,
                };
                work(changes.transaction.insert(transaction))
            })?
        };
        outcome.map_err(|error| self.handle_error(&error))
    }

    /// Runs `work`, which calls redb, and catches its panics. Fails if redb is broken already, or breaks meanwhile.
    fn call_redb<T>(&self, work: impl FnOnce() -> T) -> Result<T, Status> {
        self.check()?;
        match panic::catch_unwind(AssertUnwindSafe(work)) {
            Ok(outcome) => self.check().map(|()| outcome),
            Err(_) => {
                self.panicked.store(true, Ordering::Relaxed);
                let what = "redb panicked, as it may if the file is damaged";
                Err(self.mark_broken(Code::DataLoss, what))
            }
        }
    }

    /// Handles the error of a write, and returns its status. After an error of redb, its transaction cannot be used, so that
    /// all changes in it are lost.
    fn handle_error(&self, error: &FileError) -> Status {
        if !error.is_redb_error() {
            return error.status(&self.path);
        }
        if !error.is_disk_error() {
            self.mark_broken(error.code(), &error.to_string());
            return error.status(&self.path);
        }
        self.has_failed.store(true, Ordering::Release);
        // Reopen at once: only that shows whether the write was applied.
        let status = match self.reopen() {
            Ok(()) => Status::new(
                error.code(),
                format!(
                    "this write was not applied: {error}, in the file `{}`; acknowledged writes are kept, and the next \
                     write retries the disk",
                    self.path
                ),
            ),
            Err(status) => {
                Status::internal(format!("this write may have been applied: {error}; {}", status.message()))
            }
        };
        self.changes().lost = Some(status.clone());
        status
    }

    fn mark_broken(&self, code: Code, what: &str) -> Status {
        let path = &self.path;
        let status = Status::new(
            code,
            format!(
                "the file `{path}` is no longer used, because {what}; open it again when that is repaired"
            ),
        );
        self.broken.get_or_init(|| status).clone()
    }

    fn check(&self) -> Result<(), Status> {
        self.broken.get().map_or(Ok(()), |status| Err(status.clone()))
    }

    fn closed(&self) -> Status {
        Status::failed_precondition(format!("the file `{}` is closed", self.path))
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for FileStorage {
    fn table(&self, name: &str) -> Result<Option<Arc<Definition>>, Status> {
        self.check()?;
        Ok(self.tables.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    fn tables(&self, prefix: &str, after: &str, count: usize) -> Result<Vec<String>, Status> {
        self.check()?;
        Ok(names(&self.tables.read().unwrap_or_else(PoisonError::into_inner), prefix, after, count))
    }

    fn put_table(&self, name: &str, definition: Definition) -> Result<(), Status> {
        let record = format::definitions().seal(name.as_bytes(), &format::encode_definition(&definition));
        self.change(|transaction| {
            transaction.open_table(format::DEFINITIONS)?.insert(name, record.as_slice())?;
            transaction.open_table(format::rows(&format::rows_name(name)))?;
            Ok(())
        })?;
        self.changes().tables.push((name.to_owned(), Some(Arc::new(definition))));
        Ok(())
    }

    fn delete_table(&self, name: &str) -> Result<(), Status> {
        self.change(|transaction| {
            transaction.open_table(format::DEFINITIONS)?.remove(name)?;
            transaction.delete_table(format::rows(&format::rows_name(name)))?;
            Ok(())
        })?;
        self.changes().tables.push((name.to_owned(), None));
        Ok(())
    }

    fn row(&self, table: &str, key: &[u8]) -> Result<Bytes, Status> {
        let name = format::rows_name(table);
        let changes = self.changes();
        if let Some(transaction) = &changes.transaction {
            let found =
                self.call_redb(|| get_row(&transaction.open_table(format::rows(&name))?, table, key))?;
            drop(changes);
            return found.map_err(|error| self.handle_error(&error));
        }
        drop(changes);
        self.read(|database| match database.begin_read()?.open_table(format::rows(&name)) {
            Ok(rows) => get_row(&rows, table, key),
            Err(TableError::TableDoesNotExist(_)) => Ok(Bytes::new()),
            Err(error) => Err(error.into()),
        })
    }

    fn visit(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        visit: &mut dyn FnMut(&[u8], CellReader<'_>) -> bool,
    ) -> Result<bool, Status> {
        if interval.is_empty() {
            return Ok(true);
        }
        let name = format::rows_name(table);
        let records = Records::of(table);
        self.read(|database| {
            let rows = match database.begin_read()?.open_table(format::rows(&name)) {
                Ok(rows) => rows,
                Err(TableError::TableDoesNotExist(_)) => return Ok(true),
                Err(error) => return Err(error.into()),
            };
            let mut rows = rows.range::<&[u8]>(bounds(interval))?;
            while let Some(entry) = if reversed { rows.next_back() } else { rows.next() } {
                let (key, record) = entry?;
                let (key, record) = (key.value(), record.value());
                let body =
                    records.open(key, record).map_err(|damage| FileError::record(table, key, damage))?;
                if !visit(key, CellReader::new(body)) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn put_rows_and_tokens(
        &self,
        table: &str,
        rows: EncodedRows,
        tokens: &TokenChanges<'_>,
    ) -> Result<(), Status> {
        if rows.is_empty() && tokens.is_empty() {
            return Ok(());
        }
        let name = format::rows_name(table);
        let records = Records::of(table);
        self.change(|transaction| {
            let mut stored = transaction.open_table(format::rows(&name))?;
            for (key, body) in rows {
                if body.is_empty() {
                    stored.remove(&key[..])?;
                    continue;
                }
                let mut record = stored.insert_reserve(&key[..], Records::sealed_len(&body))?;
                records.encode_into(record.as_mut(), &key, &body);
            }
            format::change_tokens(transaction, tokens)
        })
    }

    fn has_token(&self, minute: i64, token: &Token) -> Result<bool, Status> {
        let name = format::tokens_name(minute);
        let changes = self.changes();
        if let Some(transaction) = &changes.transaction {
            let found =
                self.call_redb(|| format::has_token(&transaction.open_table(format::rows(&name))?, token))?;
            drop(changes);
            return found.map_err(|error| self.handle_error(&error));
        }
        drop(changes);
        self.read(|database| match database.begin_read()?.open_table(format::rows(&name)) {
            Ok(tokens) => format::has_token(&tokens, token),
            Err(TableError::TableDoesNotExist(_)) => Ok(false),
            Err(error) => Err(error.into()),
        })
    }

    fn tokens(&self) -> Tokens {
        mem::take(&mut *self.tokens.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<bool, Status> {
        if interval.is_empty() {
            return Ok(true);
        }
        let name = format::rows_name(table);
        self.change(|transaction| {
            if *interval == Interval::all() {
                transaction.delete_table(format::rows(&name))?;
                transaction.open_table(format::rows(&name))?;
                return Ok(true);
            }
            let mut rows = transaction.open_table(format::rows(&name))?;
            rows.retain_in::<&[u8], _>(bounds(interval), |_, _| false)?;
            Ok(true)
        })
    }

    fn flush(&self, latest_micros: i64) -> Result<(), Status> {
        self.check()?;
        let committed = {
            let mut changes = self.changes();
            if let Some(lost) = &changes.lost {
                return Err(lost.clone());
            }
            let tables = mem::take(&mut changes.tables);
            let Some(transaction) = changes.transaction.take() else { return Ok(()) };
            let is_later = latest_micros > changes.latest_micros;
            self.call_redb(|| -> Result<_, FileError> {
                if is_later {
                    format::set_latest_micros(&transaction, latest_micros)?;
                }
                transaction.commit()?;
                changes.latest_micros = latest_micros.max(changes.latest_micros);
                Ok(tables)
            })?
        };
        let tables = committed.map_err(|error| self.handle_error(&error))?;
        let mut committed = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        for (name, definition) in tables {
            match definition {
                Some(definition) => committed.insert(name, definition),
                None => committed.remove(&name),
            };
        }
        Ok(())
    }

    fn commit(&self, latest_micros: i64) -> Result<(), Status> {
        let flushed = self.flush(latest_micros);
        let mut changes = self.changes();
        changes.tables.clear();
        changes.lost.take().map_or(flushed, Err)
    }

    fn latest_micros(&self) -> i64 {
        self.changes().latest_micros
    }

    fn blocks(&self) -> bool {
        true
    }

    fn close(&self) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        // Waits for readers.
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner).take();
        let transaction = mem::take(&mut *self.changes()).transaction;
        let ended = panic::catch_unwind(AssertUnwindSafe(|| {
            if self.panicked.load(Ordering::Relaxed) {
                mem::forget((transaction, database));
            } else {
                drop(transaction);
                drop(database);
            }
            self.file.close()
        }));
        // Committed changes are in the file, and the next open verifies it, so a failure here is harmless.
        drop(ended);
    }
}

impl Drop for FileStorage {
    fn drop(&mut self) {
        self.close();
    }
}

fn bounds(interval: &Interval) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = interval.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(&interval.start), end)
}

/// The encoded cells of one row.
fn get_row(
    rows: &impl ReadableTable<&'static [u8], &'static [u8]>,
    table: &str,
    key: &[u8],
) -> Result<Bytes, FileError> {
    let Some(record) = rows.get(key)? else { return Ok(Bytes::new()) };
    let body = Records::of(table)
        .open(key, record.value())
        .map_err(|damage| FileError::record(table, key, damage))?;
    Ok(Bytes::copy_from_slice(body))
}

/// Makes the name of a new file durable.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// An error of the file or its contents.
#[derive(Debug)]
enum FileError {
    Redb(redb::Error),
    /// The retry of a failed write, which precedes any other write, has failed.
    RetryFailed(io::Error),
    Record {
        table: String,
        key: Bytes,
        damage: Damage,
    },
}

impl FileError {
    fn record(table: &str, key: &[u8], damage: Damage) -> Self {
        Self::Record { table: table.to_owned(), key: Bytes::copy_from_slice(key), damage }
    }

    /// Whether the stored bytes differ from those written.
    fn is_damage(&self) -> bool {
        match self {
            Self::Record { .. } => true,
            Self::RetryFailed(_) => false,
            Self::Redb(redb::Error::Io(error)) => {
                matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
            }
            Self::Redb(error) => matches!(
                error,
                redb::Error::Corrupted(_)
                    | redb::Error::TableTypeMismatch { .. }
                    | redb::Error::TableIsMultimap(_)
                    | redb::Error::TypeDefinitionChanged { .. }
                    | redb::Error::TableDoesNotExist(_)
            ),
        }
    }

    /// Whether redb itself failed, so that its transaction may be inconsistent.
    fn is_redb_error(&self) -> bool {
        matches!(self, Self::Redb(_))
    }

    /// Whether the disk failed, so that this database is unusable, but one opened later may work.
    fn is_disk_error(&self) -> bool {
        matches!(self, Self::Redb(redb::Error::Io(_) | redb::Error::PreviousIo)) && !self.is_damage()
    }

    fn code(&self) -> Code {
        match self {
            _ if self.is_damage() => Code::DataLoss,
            Self::Redb(redb::Error::Io(error)) | Self::RetryFailed(error)
                if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
            {
                Code::ResourceExhausted
            }
            _ => Code::Internal,
        }
    }

    fn status(&self, path: &str) -> Status {
        Status::new(self.code(), format!("{self}, in the file `{path}`"))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redb(error) => write!(f, "{error}"),
            Self::RetryFailed(error) => {
                write!(f, "an earlier write failed, and retrying it failed, too: {error}")
            }
            Self::Record { table, key, damage } => {
                let what = match damage {
                    Damage::Checksum => "its checksum is wrong",
                    Damage::Content => "its checksum is right, but its content cannot be decoded",
                };
                write!(f, "row {key:?} of table `{table}` is damaged: {what}")
            }
        }
    }
}

impl From<TransactionError> for FileError {
    fn from(error: TransactionError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<TableError> for FileError {
    fn from(error: TableError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<StorageError> for FileError {
    fn from(error: StorageError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<CommitError> for FileError {
    fn from(error: CommitError) -> Self {
        Self::Redb(error.into())
    }
}
