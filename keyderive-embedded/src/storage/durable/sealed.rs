//! The file below redb, with a seal on its head.
//!
//! redb keeps in the first 320 bytes which of two commits is the last one, and where all else is, and trusts most of
//! that: one flipped bit there serves the commit before the last one. So each write of the head writes 16 bytes more,
//! the word `keyderiv` and the FarmHash fingerprint of the head, in the same call and the same sector; and no head
//! is read whose seal is broken.
//!
//! # A disk that fails
//!
//! A write that failed, for want of room or for another reason, has changed nothing that is committed: redb writes to
//! free pages, and then the head. After a wait for the disk that failed, nobody knows what the disk has: the kernel may
//! show what was written, and have given up writing it. So the head can name a commit of which nobody was told that it
//! succeeded, now or after the next failure of power. Before anything is read again, the head that the disk was last
//! known to have is written once more, so that it is on its way to the disk again, and waited for. Then the commit that
//! failed never was, and all before it are there: their pages are not written to before a commit after them.

use std::fmt;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use redb::{BackendError, StorageBackend};

use keyderive_farmhash::fingerprint64;

/// What redb writes of its first page.
const HEAD_BYTES: usize = 320;
const TAG: [u8; 8] = *b"keyderiv";
const SEALED_BYTES: usize = HEAD_BYTES + 16;

/// What redb writes first into the head, and last when it makes a file.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// What a file has at most of which redb has written nothing but its length.
const MAX_UNFINISHED_BYTES: u64 = 16 << 20;

/// How much of a write that failed is tried again.
const MAX_RETRIED_BYTES: usize = 1 << 20;

/// What is known of a file by all databases over it, of which there is one at a time.
#[derive(Debug)]
pub(super) struct SharedFile {
    file: Arc<dyn StorageBackend>,
    is_locked: AtomicBool,
    state: Mutex<HeadState>,
}

#[derive(Debug, Default)]
struct HeadState {
    /// The head, with its seal, as it was written last, and as the disk was last known to have it.
    written: Option<[u8; SEALED_BYTES]>,
    synced: Option<[u8; SEALED_BYTES]>,
    failed: Option<FailedWrite>,
}

/// A write that failed. Its success shows that there is room again.
#[derive(Debug)]
pub(super) struct FailedWrite {
    offset: u64,
    beginning: Vec<u8>,
}

impl SharedFile {
    pub(super) fn new(file: Arc<dyn StorageBackend>) -> Arc<Self> {
        Arc::new(Self { file, is_locked: AtomicBool::new(false), state: Mutex::default() })
    }

    /// Has the disk have the head that it was last known to have.
    pub(super) fn restore_head(&self) -> io::Result<()> {
        let mut state = self.state();
        if let Some(head) = state.synced {
            self.file.write(0, &head)?;
            state.written = Some(head);
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Takes the write that failed since the disk was last waited for, where one did.
    pub(super) fn take_failed_write(&self) -> Option<FailedWrite> {
        self.state().failed.take()
    }

    /// Writes once more what failed, while nothing else is written: its pages are free.
    pub(super) fn retry_write(&self, failed: &FailedWrite) -> io::Result<()> {
        self.file.write(failed.offset, &failed.beginning)?;
        self.file.sync_data()
    }

    /// Lets another process have the file.
    pub(super) fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn state(&self) -> MutexGuard<'_, HeadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A storage of redb whose head is sealed.
#[derive(Debug)]
pub(super) struct SealedFile {
    shared: Arc<SharedFile>,
    file: Arc<dyn StorageBackend>,
    /// Whether a process ended while it made the file.
    unfinished: OnceLock<bool>,
    recreated: AtomicBool,
}

/// What is wrong with a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenSeal {
    /// It is not one of keyderive.
    Foreign,
    Damaged,
}

impl fmt::Display for BrokenSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "it is no file of keyderive, or its head is damaged",
            Self::Damaged => "its head is damaged",
        })
    }
}

impl std::error::Error for BrokenSeal {}

impl From<BrokenSeal> for io::Error {
    fn from(broken: BrokenSeal) -> Self {
        Self::new(io::ErrorKind::InvalidData, broken)
    }
}

impl SealedFile {
    pub(super) fn new(shared: Arc<SharedFile>) -> Self {
        let file = Arc::clone(&shared.file);
        Self { shared, file, unfinished: OnceLock::new(), recreated: AtomicBool::new(false) }
    }

    /// The head, where its seal is whole.
    fn head(&self) -> io::Result<[u8; HEAD_BYTES]> {
        let mut sealed = [0; SEALED_BYTES];
        self.file.read(0, &mut sealed)?;
        let head = unseal(&sealed)?;
        let mut state = self.shared.state();
        if state.written.is_none() {
            (state.written, state.synced) = (Some(sealed), Some(sealed));
        }
        Ok(head)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let written = self.file.write(offset, data);
        if written.is_err() && offset != 0 {
            let beginning = data[..data.len().min(MAX_RETRIED_BYTES)].to_vec();
            self.shared.state().failed = Some(FailedWrite { offset, beginning });
        }
        written
    }

    /// Whether the file is one that redb had not finished making: its head is not there yet, or lacks the magic.
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

fn unseal(sealed: &[u8; SEALED_BYTES]) -> Result<[u8; HEAD_BYTES], BrokenSeal> {
    let mut head = [0; HEAD_BYTES];
    head.copy_from_slice(&sealed[..HEAD_BYTES]);
    let (tag, checksum) = sealed[HEAD_BYTES..].split_at(TAG.len());
    if tag != TAG {
        Err(BrokenSeal::Foreign)
    } else if checksum != fingerprint64(&head).to_be_bytes() {
        Err(BrokenSeal::Damaged)
    } else {
        Ok(head)
    }
}

impl StorageBackend for SealedFile {
    /// No length for a file that is unfinished, which redb then makes anew.
    fn len(&self) -> io::Result<u64> {
        let bytes = self.file.len()?;
        if (1..SEALED_BYTES as u64).contains(&bytes) {
            return Err(BrokenSeal::Foreign.into());
        }
        if self.recreated.load(Ordering::Relaxed) {
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
        let head = self.head()?;
        let head = head.get(..out.len()).ok_or_else(|| unexpected(out.len()))?;
        out.copy_from_slice(head);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.recreated.store(true, Ordering::Relaxed);
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let written = self.shared.state().written;
        self.file.sync_data()?;
        let mut state = self.shared.state();
        // What redb writes ahead of need may fail, and is written again before this: its pages may be free no more.
        (state.synced, state.failed) = (written, None);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset != 0 {
            return self.write_at(offset, data);
        }
        if data.len() != HEAD_BYTES {
            return Err(unexpected(data.len()));
        }
        let mut sealed = [0; SEALED_BYTES];
        let (head, seal) = sealed.split_at_mut(HEAD_BYTES);
        let (tag, checksum) = seal.split_at_mut(TAG.len());
        head.copy_from_slice(data);
        tag.copy_from_slice(&TAG);
        checksum.copy_from_slice(&fingerprint64(data).to_be_bytes());
        // Written or not, it may be there after a failure.
        self.shared.state().written = Some(sealed);
        self.file.write(0, &sealed)
    }

    /// Not here, since another database over the file may follow at once.
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

/// A redb whose head is another than the one that is sealed here.
fn unexpected(bytes: usize) -> io::Error {
    io::Error::other(format!("redb has a head of {bytes} bytes, and one of {HEAD_BYTES} is known"))
}
