//! Which rows of a transfer are done without a gap, how many there were, and why a transfer ends before its source.

use std::collections::{BTreeSet, VecDeque};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::additions::{Additions, MayBeCounted};
use super::look_ahead::LoadBatch;
use super::progress::{Progress, Reporter};
use crate::client::Error;
use crate::key::ShownKey;
use crate::plan::KeyRange;

/// The most failed rows that are listed.
const MAX_LISTED: usize = 1000;

/// Why a transfer ends before its source.
#[derive(Debug)]
pub(crate) enum TransferError {
    /// A request failed, and every other would; or a row of a table cannot be moved.
    Failed(Error),
    /// An item of the input is an error. The rows before it are written.
    Input(Box<dyn StdError + Send + Sync>),
    /// More rows failed than are allowed.
    TooManyFailed { allowed: u64 },
    /// The table has more rows than may be moved.
    AboveLimit { limit: u64 },
    /// A row has the new key of one before it.
    Collision { old_key: Bytes, new_key: Bytes },
    /// The caller ended it. The rows before are written.
    Stopped,
    /// The checkpoint could not be stored.
    NotStored { path: PathBuf, error: io::Error },
    /// Rows that an earlier run may have sent may be counted twice.
    MayBeCounted(MayBeCounted),
}

/// A row of a load's input that was not written, and why.
#[derive(Debug)]
pub struct FailedRow {
    index: u64,
    key: Option<Bytes>,
    error: Error,
}

impl FailedRow {
    /// Its place in the whole input, counted from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The row key; none if it could not be encoded.
    #[must_use]
    pub fn key(&self) -> Option<&Bytes> {
        self.key.as_ref()
    }

    /// Why the row was not written.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl fmt::Display for FailedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, key, error } = self;
        write!(f, "row {index} of the input, counted from 0")?;
        if let Some(key) = key {
            write!(f, ", with the key {}", ShownKey(key))?;
        }
        f.write_str(": ")?;
        match key {
            Some(_) => error.without_own_key().fmt(f),
            None => error.fmt(f),
        }
    }
}

/// Stores how far a transfer is.
pub(crate) type Store<'a> = Box<dyn FnMut(&Done) -> Result<(), TransferError> + Send + 'a>;

/// How often that is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Every {
    /// After this many further rows are done without a gap.
    Rows(u64),
    Time(Duration),
    /// By the first of both.
    RowsOrTime(u64, Duration),
}

/// Tracks the rows of a transfer, and calls back with its progress and its checkpoints.
pub(crate) struct Tracker<'a> {
    pub(crate) reporter: Reporter<'a>,
    pub(crate) done: Done,
    /// The first rows that failed, in the order of their failures.
    pub(crate) failed: Vec<FailedRow>,
    /// How many rows may fail; without it, none.
    max_failures: Option<u64>,
    store: Option<Store<'a>>,
    every: Every,
    stored_rows: u64,
    stored_at: Instant,
}

impl<'a> Tracker<'a> {
    pub(crate) fn new(
        mut reporter: Reporter<'a>,
        done: Done,
        max_failures: Option<u64>,
        every: Every,
        store: Option<Store<'a>>,
    ) -> Self {
        reporter.begin_parts(if done.is_stream { 0 } else { done.parts.len() });
        let (stored_rows, stored_at) = (done.rows, Instant::now());
        Self { reporter, done, failed: Vec::new(), max_failures, store, every, stored_rows, stored_at }
    }

    pub(crate) fn progress(&mut self) -> &mut Progress {
        &mut self.reporter.progress
    }

    /// Counts a new item of a stream; returns its index.
    pub(super) fn read_item(&mut self) -> u64 {
        self.progress().read += 1;
        self.done.parts.first_mut().map_or(0, |all| all.low_water.begin())
    }

    /// [`read_item`](Self::read_item), of an item that is two entries.
    pub(super) fn read_item_in_two(&mut self) -> u64 {
        let index = self.read_item();
        self.done.additions.iter_mut().for_each(|additions| additions.split(index));
        index
    }

    /// [`retry`](Self::retry) of a failed row that is two entries.
    pub(super) fn retry_in_two(&mut self, index: u64) {
        self.retry(index, true);
        self.done.additions.iter_mut().for_each(|additions| additions.split(index));
    }

    /// Whether an earlier run may have sent the next item.
    pub(crate) fn repeats(&self) -> bool {
        self.done.additions.as_ref().is_some_and(|additions| additions.repeats(self.done.next()))
    }

    /// Whether an entry is the first of a row's two, or the second after a first that failed.
    fn is_part(&mut self, index: u64, has_failed: bool) -> bool {
        self.done.additions.as_mut().is_some_and(|additions| additions.is_part(index, has_failed))
    }

    /// Counts an item before the checkpoint.
    pub(crate) fn skip_item(&mut self) {
        self.progress().left_out += 1;
    }

    /// Counts a failed item before the checkpoint that needs no retry, since a later one with its key was written.
    pub(crate) fn supersede(&mut self, index: u64) {
        self.progress().left_out += 1;
        self.done.additions.iter_mut().for_each(|additions| additions.settle(index));
        self.settle(index, LowWater::settle);
    }

    /// Counts the next row of a part; returns its number.
    pub(super) fn read_row(&mut self, part: usize, key: &[u8]) -> u64 {
        self.progress().read += 1;
        self.done.begin_row(part, key, false)
    }

    /// Counts the next row of a part, which is not moved.
    pub(super) fn leave_out(&mut self, part: usize, key: &[u8]) {
        self.progress().read += 1;
        self.progress().left_out += 1;
        let index = self.done.begin_row(part, key, true);
        self.settle(index, LowWater::settle);
    }

    /// Counts a part as read.
    pub(super) fn end_part(&mut self, part: usize) {
        let Some(part) = self.done.parts.get_mut(part) else { return };
        part.is_read = true;
        self.reporter.progress.partitions_done += u64::from(part.is_done());
    }

    fn settle(&mut self, index: u64, change: fn(&mut LowWater, u64)) {
        self.progress().partitions_done += u64::from(self.done.settle(index, change));
    }

    pub(super) fn sent(&mut self, requests: usize) {
        self.progress().requests += requests as u64;
    }

    /// Counts a row that existed and was kept.
    pub(super) fn kept(&mut self, index: u64) {
        self.progress().kept += 1;
        self.settle(index, LowWater::settle);
    }

    /// Counts a written row.
    pub(super) fn written(&mut self, index: u64, bytes: usize) {
        if self.is_part(index, false) {
            return;
        }
        self.progress().written += 1;
        self.progress().bytes += bytes as u64;
        self.done.additions.iter_mut().for_each(|additions| additions.settle(index));
        self.settle(index, LowWater::settle);
    }

    /// Counts an item that cannot be written; returns an error if that ends the transfer.
    pub(crate) fn item_failed(&mut self, key: Option<Bytes>, error: Error) -> Result<(), TransferError> {
        let index = self.read_item();
        self.failed(index, key, error)
    }

    /// Counts a failed row; returns an error if that ends the transfer.
    pub(crate) fn failed(
        &mut self,
        index: u64,
        key: Option<Bytes>,
        error: Error,
    ) -> Result<(), TransferError> {
        if self.is_part(index, true) {
            return Ok(());
        }
        let Some(allowed) = self.max_failures else {
            return Err(TransferError::Failed(key.map_or(error.clone(), |key| Error::entry(&key, error))));
        };
        self.progress().failed += 1;
        self.done.additions.iter_mut().for_each(|additions| additions.fail(index, &error));
        self.settle(index, LowWater::fail);
        if self.failed.len() < MAX_LISTED {
            self.failed.push(FailedRow { index, key, error });
        }
        match self.progress().failed > allowed {
            true => Err(TransferError::TooManyFailed { allowed }),
            false => Ok(()),
        }
    }

    /// Reports the progress and stores a checkpoint, if due.
    pub(crate) fn report_if_due(&mut self) -> Result<(), TransferError> {
        self.reporter.report_if_due();
        let has_rows = |rows| self.done.rows().saturating_sub(self.stored_rows) >= rows;
        let is_due = match self.every {
            Every::Rows(rows) => has_rows(rows),
            Every::Time(time) => self.stored_at.elapsed() >= time,
            Every::RowsOrTime(rows, time) => has_rows(rows) || self.stored_at.elapsed() >= time,
        };
        if is_due { self.store() } else { Ok(()) }
    }

    /// When the next checkpoint or report is due, if the time says so.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let store_at = match self.every {
            Every::Time(time) | Every::RowsOrTime(_, time) => Some(self.stored_at + time),
            Every::Rows(_) => None,
        };
        [store_at, self.reporter.report_at()].into_iter().flatten().min()
    }

    /// Stores a checkpoint.
    pub(super) fn store(&mut self) -> Result<(), TransferError> {
        (self.stored_rows, self.stored_at) = (self.done.rows(), Instant::now());
        self.store_now()
    }

    fn store_now(&mut self) -> Result<(), TransferError> {
        let next = self.done.next();
        self.done.additions.iter_mut().for_each(|additions| additions.reserve(next));
        self.store.as_mut().map_or(Ok(()), |store| store(&self.done))
    }

    /// Notes that no request is in flight, and none will be sent.
    pub(crate) fn end(&mut self) {
        self.done.additions.iter_mut().for_each(Additions::end);
    }

    /// How many items may be read now. Stores a checkpoint first if none says that they may be sent.
    pub(crate) fn room(&mut self) -> Result<u64, TransferError> {
        let next = self.done.next();
        match &self.done.additions {
            None => return Ok(u64::MAX),
            Some(additions) if additions.room(next) > 0 => {}
            Some(_) => self.store_now()?,
        }
        Ok(self.done.additions.as_ref().map_or(u64::MAX, |additions| additions.room(next)))
    }

    /// Gives the rows of a request their tokens, if the load adds sums.
    pub(super) fn send(&mut self, batch: &mut LoadBatch) -> Result<(), TransferError> {
        let rows = self.done.rows();
        let Some(additions) = &mut self.done.additions else { return Ok(()) };
        additions.send(batch, rows).map_err(TransferError::MayBeCounted)
    }

    /// Whether the load continues without a row that failed so.
    pub(super) fn gives_up(&self, error: &Error) -> bool {
        self.done.additions.as_ref().is_some_and(|additions| additions.is_given_up(error))
    }

    /// Counts a row before the checkpoint that is sent again: one that failed, or was written, which counts as failed until it is written
    /// again.
    pub(crate) fn retry(&mut self, index: u64, has_failed: bool) {
        self.progress().read += 1;
        if !has_failed && let Some(all) = self.done.parts.first_mut() {
            all.low_water.failed.insert(index);
        }
        self.done.additions.iter_mut().for_each(|additions| additions.retry(index, has_failed));
    }
}

/// Which rows of a stream, or of the parts of a table, are done.
pub(crate) struct Done {
    parts: Vec<TrackedPart>,
    is_stream: bool,
    /// The rows that are done without a gap in their parts, those before a checkpoint too.
    rows: u64,
    /// Those of them that were left out.
    left_out: u64,
    /// What a load adds to sums.
    pub(crate) additions: Option<Additions>,
}

/// A part of a table, or all of a stream.
struct TrackedPart {
    low_water: LowWater,
    /// The rows after the mark. Those of a stream have no keys here.
    rows: VecDeque<TrackedRow>,
    /// What was left of it at the beginning.
    window: KeyRange,
    /// The key up to which all rows are done.
    done_to: Option<Box<[u8]>>,
    /// Whether all rows were read.
    is_read: bool,
}

struct TrackedRow {
    key: Box<[u8]>,
    is_left_out: bool,
}

/// How many bits of a row's number are its number in its part. The others are the number of the part.
const BITS: u32 = 40;

impl Done {
    /// The first items of a stream, with those that failed.
    pub(crate) fn stream(items: u64, failed: &[u64]) -> Self {
        let all = TrackedPart::new(LowWater::after(items, failed), KeyRange::new(Vec::new(), None));
        Self { parts: vec![all], is_stream: true, rows: items, left_out: 0, additions: None }
    }

    /// All of a table but these ranges, and how many rows of them were moved and left out.
    pub(crate) fn all_but(left: Vec<KeyRange>, moved: u64, left_out: u64) -> Self {
        let parts =
            left.into_iter().map(|window| TrackedPart::new(LowWater::after(0, &[]), window)).collect();
        Self { parts, is_stream: false, rows: moved + left_out, left_out, additions: None }
    }

    /// How many rows are done without a gap in their part.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of the next row of a stream.
    fn next(&self) -> u64 {
        self.parts.first().map_or(0, |all| all.low_water.next)
    }

    /// How many of them were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How many of them were moved.
    pub(crate) fn moved(&self) -> u64 {
        self.rows - self.left_out
    }

    /// The failed items of a stream among them, in order.
    pub(crate) fn failed(&self) -> Vec<u64> {
        self.parts.first().map_or_else(Vec::new, |all| all.low_water.failed().collect())
    }

    /// The ranges of a table that are left.
    pub(crate) fn left(&self) -> Vec<KeyRange> {
        self.parts.iter().filter(|part| !part.is_done()).map(TrackedPart::left).collect()
    }

    /// The ranges of a table that were left at the beginning.
    pub(crate) fn windows(&self) -> Vec<KeyRange> {
        self.parts.iter().map(|part| part.window.clone()).collect()
    }

    fn begin_row(&mut self, part: usize, key: &[u8], is_left_out: bool) -> u64 {
        let Some(tracked) = self.parts.get_mut(part) else { return 0 };
        tracked.rows.push_back(TrackedRow { key: key.into(), is_left_out });
        (part as u64) << BITS | tracked.low_water.begin()
    }

    /// The key of a row of a table that was begun and is not done.
    pub(super) fn key(&self, index: u64) -> &[u8] {
        let (part, number) = self.part_and_number(index);
        let row = self.parts.get(part).and_then(|part| {
            let place = number.checked_sub(part.low_water.items())?;
            part.rows.get(usize::try_from(place).ok()?)
        });
        row.map_or(&[], |row| &row.key)
    }

    /// Settles a row; returns whether its part has been read whole and is done now.
    fn settle(&mut self, index: u64, change: fn(&mut LowWater, u64)) -> bool {
        let (part, number) = self.part_and_number(index);
        let Some(part) = self.parts.get_mut(part) else { return false };
        let before = part.low_water.items();
        change(&mut part.low_water, number);
        let further = part.low_water.items().saturating_sub(before);
        self.rows += further;
        for _ in 0..further {
            let Some(row) = part.rows.pop_front() else { break };
            self.left_out += u64::from(row.is_left_out);
            part.done_to = Some(row.key);
        }
        further > 0 && part.is_done()
    }

    /// The place of a row: all of a stream is one part.
    fn part_and_number(&self, index: u64) -> (usize, u64) {
        match self.is_stream {
            true => (0, index),
            // Saturates; no list is so long.
            false => (usize::try_from(index >> BITS).unwrap_or(usize::MAX), index & ((1 << BITS) - 1)),
        }
    }
}

impl TrackedPart {
    fn new(low_water: LowWater, window: KeyRange) -> Self {
        Self { low_water, rows: VecDeque::new(), window, done_to: None, is_read: false }
    }

    fn is_done(&self) -> bool {
        self.is_read && self.rows.is_empty()
    }

    /// What is left of it.
    fn left(&self) -> KeyRange {
        match &self.done_to {
            None => self.window.clone(),
            // The key and a zero byte is the first key after it.
            Some(key) => KeyRange::new([key, &[0][..]].concat(), self.window.end().map(<[u8]>::to_vec)),
        }
    }
}

/// The most failed rows that a checkpoint keeps for a retry: the default of `max_failures`, and some kilobytes.
const MAX_FAILED: usize = 1000;

/// Tracks which items are processed, for the low-water mark: all items before it are written or kept as failed.
///
/// It holds a bit for each item after the mark, and up to [`MAX_FAILED`] failed items.
struct LowWater {
    /// The unprocessed items: a bit for each.
    outstanding: VecDeque<u64>,
    /// The index of the first of these words.
    first_word: u64,
    /// The first failed items.
    failed: BTreeSet<u64>,
    /// The first failed item that is not kept.
    first_dropped: Option<u64>,
    /// The index of the next item.
    next: u64,
}

impl LowWater {
    /// Starts after this many items, with those that failed.
    fn after(items: u64, failed: &[u64]) -> Self {
        let failed = failed.iter().copied().collect();
        let (first_word, _) = word_and_bit(items);
        Self { outstanding: VecDeque::new(), first_word, failed, first_dropped: None, next: items }
    }

    /// Adds the next item; returns its index.
    fn begin(&mut self) -> u64 {
        let index = self.next;
        let (word, bit) = word_and_bit(index);
        if self.outstanding.is_empty() {
            // All items before it are processed.
            self.first_word = word;
        }
        match self.outstanding.back_mut() {
            // The item before is in the same word.
            Some(last) if bit > 1 => *last |= bit,
            _ => self.outstanding.push_back(bit),
        }
        self.next += 1;
        index
    }

    /// Marks an item as done: its row is written, or existed and was kept, or gave way to a later row with its key.
    fn settle(&mut self, index: u64) {
        self.clear(index);
        if !self.failed.is_empty() {
            self.failed.remove(&index);
        }
    }

    fn clear(&mut self, index: u64) {
        let (word, bit) = word_and_bit(index);
        let bits = word.checked_sub(self.first_word).and_then(|word| usize::try_from(word).ok());
        if let Some(bits) = bits.and_then(|word| self.outstanding.get_mut(word)) {
            *bits &= !bit;
        }
        while self.outstanding.front() == Some(&0) {
            self.outstanding.pop_front();
            self.first_word += 1;
        }
    }

    /// Marks an item as failed. Beyond [`MAX_FAILED`] the first ones are kept, and the mark stays before the others.
    fn fail(&mut self, index: u64) {
        self.clear(index);
        self.failed.insert(index);
        if self.failed.len() > MAX_FAILED
            && let Some(dropped) = self.failed.pop_last()
        {
            self.first_dropped = Some(self.first_dropped.map_or(dropped, |first| first.min(dropped)));
        }
    }

    /// The low-water mark: how many items are processed without a gap.
    #[inline]
    fn items(&self) -> u64 {
        let first = self
            .outstanding
            .front()
            .map_or(self.next, |bits| self.first_word * WORD + u64::from(bits.trailing_zeros()));
        self.first_dropped.map_or(first, |dropped| dropped.min(first))
    }

    /// The kept failed items before the mark, in order.
    fn failed(&self) -> impl Iterator<Item = u64> {
        self.failed.range(..self.items()).copied()
    }
}

const WORD: u64 = u64::BITS as u64;

/// The word of an item, and its bit in it.
fn word_and_bit(index: u64) -> (u64, u64) {
    (index / WORD, 1 << (index % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_part_begins_after_its_rows_without_a_gap() {
        let range = |start: &[u8], end: Option<&[u8]>| KeyRange::new(start, end.map(<[u8]>::to_vec));
        let mut done = Done::all_but(vec![range(b"", Some(b"m")), range(b"m", None)], 7, 1);
        let [a, b, c] = [b"a", b"b", b"c"].map(|key| done.begin_row(0, key, key == b"b"));
        let x = done.begin_row(1, b"x", false);
        assert_eq!((done.key(c), done.key(x)), (&b"c"[..], &b"x"[..]));
        done.parts.iter_mut().for_each(|part| part.is_read = true);
        assert!(!done.settle(c, LowWater::settle) && !done.settle(b, LowWater::settle));
        assert_eq!((done.rows(), done.left()), (8, done.windows()));
        assert!(done.settle(x, LowWater::settle));
        assert_eq!((done.rows(), done.left()), (9, vec![range(b"", Some(b"m"))]));
        assert!(done.settle(a, LowWater::settle));
        assert_eq!((done.moved(), done.left_out(), done.left()), (10, 2, vec![]));
        // Two of three.
        let mut done = Done::all_but(vec![range(b"", None)], 0, 0);
        let [a, b, _] = [b"a", b"b", b"c"].map(|key| done.begin_row(0, key, false));
        assert!(!done.settle(b, LowWater::settle) && !done.settle(a, LowWater::settle));
        assert_eq!((done.rows(), done.left()), (2, vec![range(b"b\0", None)]));
    }

    fn failed(low: &LowWater) -> Vec<u64> {
        low.failed().collect()
    }

    #[test]
    fn a_gap_holds_the_mark() {
        let mut low = LowWater::after(10, &[]);
        assert_eq!(low.items(), 10);
        assert_eq!([low.begin(), low.begin(), low.begin()], [10, 11, 12]);
        low.settle(12);
        low.settle(11);
        assert_eq!(low.items(), 10);
        low.settle(10);
        assert_eq!(low.items(), 13);
    }

    #[test]
    fn failed_items_are_kept_until_they_are_written() {
        let mut low = LowWater::after(10, &[3, 7]);
        assert_eq!([low.begin(), low.begin(), low.begin()], [10, 11, 12]);
        low.fail(12);
        // It is not before the mark yet.
        assert_eq!((low.items(), failed(&low)), (10, vec![3, 7]));
        low.settle(10);
        low.fail(11);
        assert_eq!((low.items(), failed(&low)), (13, vec![3, 7, 11, 12]));
        low.settle(7);
        low.fail(3);
        assert_eq!((low.items(), failed(&low)), (13, vec![3, 11, 12]));
    }

    #[test]
    fn the_mark_stays_before_dropped_failures() {
        let count = MAX_FAILED as u64;
        let mut low = LowWater::after(0, &[]);
        for _ in 0..count + 10 {
            low.begin();
        }
        // All but the first ten fail, the last one first.
        for index in (10..count + 10).rev() {
            low.fail(index);
        }
        assert_eq!((low.items(), low.failed().count()), (0, 0));
        (0..8).for_each(|index| low.settle(index));
        low.fail(8);
        low.fail(9);
        assert_eq!((low.items(), low.failed().count()), (count + 8, MAX_FAILED));
        // The mark never moves back.
        low.settle(8);
        low.begin();
        low.fail(count + 10);
        assert_eq!((low.items(), low.failed().count()), (count + 8, MAX_FAILED - 1));
    }

    #[test]
    fn the_mark_is_before_the_first_unprocessed_item() {
        let mut rng = fastrand::Rng::with_seed(0x6d61_726b);
        for _ in 0..300 {
            let begin = rng.u64(..200);
            let (mut low, mut next) = (LowWater::after(begin, &[]), begin);
            let mut outstanding = BTreeSet::new();
            // Fewer and more than a word's bits.
            let most = rng.usize(1..200);
            for _ in 0..rng.usize(..1_000) {
                if outstanding.len() < most && rng.u8(..3) > 0 {
                    assert_eq!(low.begin(), next);
                    outstanding.insert(next);
                    next += 1;
                } else if let Some(index) = rng.choice(&outstanding).copied() {
                    outstanding.remove(&index);
                    low.settle(index);
                }
                assert_eq!(low.items(), *outstanding.first().unwrap_or(&next));
            }
        }
    }
}
