//! A disk that loses what was not synced when its power fails, and that is full for a while.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;
use redb::StorageBackend;

/// A disk writes each sector whole, or not.
const SECTOR: usize = 512;

/// A disk with one file.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    rng: Rng,
    /// What a power failure leaves.
    kept: Vec<u8>,
    /// What reads return.
    content: Vec<u8>,
    /// The sectors that were written since the last sync.
    unsynced: BTreeSet<usize>,
    /// How often the power has failed.
    failures: u64,
    /// During which of the next syncs the power fails.
    fails_at: Option<u32>,
    /// Which of the next writes and syncs fail since the disk is full.
    full: Range<u32>,
}

/// The file, as a process opened it: until the power fails.
#[derive(Debug)]
pub(crate) struct File {
    disk: Disk,
    opened: u64,
}

impl Disk {
    pub(crate) fn new(rng: Rng) -> Self {
        let (kept, content, unsynced) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self(Arc::new(Mutex::new(State {
            rng,
            kept,
            content,
            unsynced,
            failures: 0,
            fails_at: None,
            full: 0..0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn open(&self) -> File {
        File { disk: self.clone(), opened: self.failures() }
    }

    /// How often the power has failed.
    pub(crate) fn failures(&self) -> u64 {
        self.state().failures
    }

    /// Fails the power.
    pub(crate) fn fail(&self) {
        self.state().fail();
    }

    /// Fails the power during the sync after so many others.
    pub(crate) fn fail_at_sync(&self, after: u32) {
        self.state().fails_at = Some(after);
    }

    /// Fails these of the next writes and syncs, which count from 0.
    pub(crate) fn fill(&self, calls: Range<u32>) {
        self.state().full = calls;
    }

    /// Ends all faults.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        (state.fails_at, state.full) = (None, 0..0);
    }
}

impl State {
    /// Writes these of the unsynced sectors to the disk, and the length of the file.
    fn keep(&mut self, is_kept: impl Fn(&mut Rng) -> bool) {
        self.kept.resize(self.content.len(), 0);
        for sector in std::mem::take(&mut self.unsynced) {
            let begin = sector * SECTOR;
            let end = (begin + SECTOR).min(self.content.len());
            if begin < end && is_kept(&mut self.rng) {
                self.kept[begin..end].copy_from_slice(&self.content[begin..end]);
            }
        }
    }

    /// Any of the sectors may have reached the disk before.
    fn fail(&mut self) {
        self.keep(Rng::bool);
        self.content.clone_from(&self.kept);
        self.failures += 1;
        self.fails_at = None;
    }

    fn meet_fault(&mut self) -> io::Result<()> {
        let is_full = self.full.contains(&0);
        self.full = self.full.start.saturating_sub(1)..self.full.end.saturating_sub(1);
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl File {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if self.opened == state.failures { Ok(state) } else { Err(io::Error::other("the power has failed")) }
    }
}

impl StorageBackend for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state()?.content.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state()?;
        let begin = usize::try_from(offset).unwrap();
        let read = state.content.get(begin..begin + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(read);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state()?;
        state.meet_fault()?;
        state.content.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state()?;
        match state.fails_at {
            Some(0) => {
                state.fail();
                return Err(io::Error::other("the power has failed"));
            }
            Some(after) => state.fails_at = Some(after - 1),
            None => {}
        }
        if let Err(error) = state.meet_fault() {
            // Reads return what the sync has lost as long as the power lasts.
            state.keep(Rng::bool);
            return Err(error);
        }
        state.keep(|_| true);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state()?;
        state.meet_fault()?;
        let begin = usize::try_from(offset).unwrap();
        let end = begin + data.len();
        state.content.get_mut(begin..end).ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
        state.unsynced.extend(begin / SECTOR..end.div_ceil(SECTOR));
        Ok(())
    }
}
