//! The file under redb, with a checksum of its header.
//!
//! In the first 320 bytes, the header, redb stores which of two commits is the last one and where everything else is.
//! It verifies little of that: one flipped bit can bring back the commit before the last one. So each write of the
//! header appends 16 bytes, in the same call and the same sector: the tag `keyderiv` and the FarmHash fingerprint of
//! the header. A file whose header does not match its fingerprint is rejected.
//!
//! # A disk that fails
//!
//! A failed write has not changed committed data: redb writes to free pages first, and then the header. After a failed
//! sync, the state of the disk is unknown: reads may return data that the kernel will never write. So the
//! header may name a commit that was reported as failed, now or after the next power failure. Therefore `restore_header`
//! writes and syncs the header of the last successful sync before anything is read again. This undoes the failed commit
//! and keeps all commits before it, since redb does not reuse their pages before a later commit.

use std::fmt;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use redb::{BackendError, StorageBackend};

use keyderive_farmhash::fingerprint64;

/// The size of redb's header.
const HEADER_BYTES: usize = 320;
const TAG: [u8; 8] = *b"keyderiv";
const SEALED_BYTES: usize = HEADER_BYTES + 16;

/// The first bytes of the header, which redb writes last when it creates a file.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// redb sets the length of a new file before it writes the header. A file of zeros up to this size is one whose
/// creation did not get further.
const MAX_UNFINISHED_BYTES: u64 = 16 << 20;

/// How many bytes of a failed write are retried.
const MAX_RETRIED_BYTES: usize = 1 << 20;

/// A file that several databases open, one after the other.
#[derive(Debug)]
pub(super) struct SharedFile {
    file: Arc<dyn StorageBackend>,
    is_locked: AtomicBool,
    state: Mutex<HeaderState>,
}

#[derive(Debug, Default)]
struct HeaderState {
    /// The sealed header that was written last, and the one of the last successful sync.
    written: Option<[u8; SEALED_BYTES]>,
    synced: Option<[u8; SEALED_BYTES]>,
    failed: Option<FailedWrite>,
}

/// A failed write. When retrying it succeeds, the disk has room again.
#[derive(Debug)]
pub(super) struct FailedWrite {
    offset: u64,
    beginning: Vec<u8>,
}

impl SharedFile {
    pub(super) fn new(file: Arc<dyn StorageBackend>) -> Arc<Self> {
        Arc::new(Self { file, is_locked: AtomicBool::new(false), state: Mutex::default() })
    }

    /// Restores the header of the last successful sync.
    pub(super) fn restore_header(&self) -> io::Result<()> {
        let mut state = self.state();
        if let Some(header) = state.synced {
            self.file.write(0, &header)?;
            state.written = Some(header);
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Takes the write that failed since the last sync, if one did.
    pub(super) fn take_failed_write(&self) -> Option<FailedWrite> {
        self.state().failed.take()
    }

    /// Retries a failed write, before any other write, while its pages are still free.
    pub(super) fn retry_write(&self, failed: &FailedWrite) -> io::Result<()> {
        self.file.write(failed.offset, &failed.beginning)?;
        self.file.sync_data()
    }

    /// Unlocks the file for other processes.
    pub(super) fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn state(&self) -> MutexGuard<'_, HeaderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A storage backend of redb that seals the header.
#[derive(Debug)]
pub(super) struct ChecksummedFile {
    shared: Arc<SharedFile>,
    file: Arc<dyn StorageBackend>,
    /// Whether a process ended while it created the file.
    unfinished: OnceLock<bool>,
    /// Whether redb has set the length of the file; from then on `len` returns the real length.
    has_set_len: AtomicBool,
}

/// Why a header is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidHeader {
    /// It is not from keyderive.
    Foreign,
    Damaged,
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "it is not a file of keyderive, or its header is damaged",
            Self::Damaged => "its header is damaged",
        })
    }
}

impl std::error::Error for InvalidHeader {}

impl From<InvalidHeader> for io::Error {
    fn from(broken: InvalidHeader) -> Self {
        Self::new(io::ErrorKind::InvalidData, broken)
    }
}

impl ChecksummedFile {
    pub(super) fn new(shared: Arc<SharedFile>) -> Self {
        let file = Arc::clone(&shared.file);
        Self { shared, file, unfinished: OnceLock::new(), has_set_len: AtomicBool::new(false) }
    }

    /// Reads the header and verifies its seal.
    fn header(&self) -> io::Result<[u8; HEADER_BYTES]> {
        let mut sealed = [0; SEALED_BYTES];
        self.file.read(0, &mut sealed)?;
        let header = unseal(&sealed)?;
        let mut state = self.shared.state();
        if state.written.is_none() {
            (state.written, state.synced) = (Some(sealed), Some(sealed));
        }
        Ok(header)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let written = self.file.write(offset, data);
        if written.is_err() && offset != 0 {
            let beginning = data[..data.len().min(MAX_RETRIED_BYTES)].to_vec();
            self.shared.state().failed = Some(FailedWrite { offset, beginning });
        }
        written
    }

    /// Whether redb did not finish creating the file: its header is missing, or lacks the magic.
    fn is_unfinished(&self, bytes: u64) -> io::Result<bool> {
        if bytes == 0 {
            return Ok(false);
        }
        let mut sealed = [0; SEALED_BYTES];
        self.file.read(0, &mut sealed)?;
        if sealed[..MAGIC.len()].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        Ok(unseal(&sealed).is_ok() || (bytes <= MAX_UNFINISHED_BYTES && self.is_zero(bytes)?))
    }

    fn is_zero(&self, bytes: u64) -> io::Result<bool> {
        let mut buffer = [0; 1 << 16];
        let mut offset = 0;
        while offset < bytes {
            let left = usize::try_from(bytes - offset).unwrap_or(usize::MAX).min(buffer.len());
            self.file.read(offset, &mut buffer[..left])?;
            if buffer[..left].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            offset += left as u64;
        }
        Ok(true)
    }
}

fn unseal(sealed: &[u8; SEALED_BYTES]) -> Result<[u8; HEADER_BYTES], InvalidHeader> {
    let mut header = [0; HEADER_BYTES];
    header.copy_from_slice(&sealed[..HEADER_BYTES]);
    let (tag, checksum) = sealed[HEADER_BYTES..].split_at(TAG.len());
    if tag != TAG {
        Err(InvalidHeader::Foreign)
    } else if checksum != fingerprint64(&header).to_be_bytes() {
        Err(InvalidHeader::Damaged)
    } else {
        Ok(header)
    }
}

impl StorageBackend for ChecksummedFile {
    /// Zero for an unfinished file, so that redb creates it again.
    fn len(&self) -> io::Result<u64> {
        let bytes = self.file.len()?;
        if (1..SEALED_BYTES as u64).contains(&bytes) {
            return Err(InvalidHeader::Foreign.into());
        }
        if self.has_set_len.load(Ordering::Relaxed) {
            return Ok(bytes);
        }
        let unfinished = match self.unfinished.get() {
            Some(unfinished) => *unfinished,
            None => {
                let unfinished = self.is_unfinished(bytes)?;
                *self.unfinished.get_or_init(|| unfinished)
            }
        };
        Ok(if unfinished { 0 } else { bytes })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset != 0 {
            return self.file.read(offset, out);
        }
        let header = self.header()?;
        let header = header.get(..out.len()).ok_or_else(|| unexpected_header(out.len()))?;
        out.copy_from_slice(header);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.has_set_len.store(true, Ordering::Relaxed);
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let written = self.shared.state().written;
        self.file.sync_data()?;
        let mut state = self.shared.state();
        // redb has written the data of the failed write again before this sync, and its pages may be in use.
        (state.synced, state.failed) = (written, None);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset != 0 {
            return self.write_at(offset, data);
        }
        if data.len() != HEADER_BYTES {
            return Err(unexpected_header(data.len()));
        }
        let mut sealed = [0; SEALED_BYTES];
        let (header, seal) = sealed.split_at_mut(HEADER_BYTES);
        let (tag, checksum) = seal.split_at_mut(TAG.len());
        header.copy_from_slice(data);
        tag.copy_from_slice(&TAG);
        checksum.copy_from_slice(&fingerprint64(data).to_be_bytes());
        // Even if the write fails, the disk may have it.
        self.shared.state().written = Some(sealed);
        self.file.write(0, &sealed)
    }

    /// Does nothing, since another database may open the file; `SharedFile::close` unlocks it.
    fn close(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        if self.shared.is_locked.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let is_locked = self.file.try_lock_range(start, end)?;
        self.shared.is_locked.store(is_locked, Ordering::Relaxed);
        Ok(is_locked)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

/// The error for a version of redb with another header.
fn unexpected_header(bytes: usize) -> io::Error {
    io::Error::other(format!("redb has a header of {bytes} bytes instead of {HEADER_BYTES}"))
}
