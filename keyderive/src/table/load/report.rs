//! What a load has done, and where it can be resumed: progress, reports, errors, checkpoints.

use std::collections::{BTreeSet, VecDeque};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::InputError;
use crate::client::Error;
use crate::key::ShownKey;
use crate::table::Handle;

/// The most failed rows that a report lists.
pub(super) const MAX_LISTED: usize = 1000;

/// How far a load is, for [`Load::on_progress`](super::Load::on_progress); [`LoadReport::all_written`] returns the final one.
///
/// All numbers count this run alone, including its retries of rows that failed in an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Items that a resumed load skipped, since they precede its checkpoint.
    pub left_out: u64,
    /// Rows that were read to be written. Together with `left_out`, it is how much of the input was read.
    pub read: u64,
    /// Rows that were written.
    pub written: u64,
    /// Rows that existed, which a load [`if_absent`](super::Load::if_absent) left as they were.
    pub kept: u64,
    /// Rows that were not written.
    pub failed: u64,
    /// The size of the written rows in their requests.
    pub bytes: u64,
    /// How many requests were made, not counting retries.
    pub requests: u64,
    /// How long the load has run.
    pub elapsed: Duration,
}

/// What a load did with its input.
///
/// A load that returns it without an error processed every row of its input: each is written, or among the
/// [`failed`](Self::failed) ones. [`all_written`](Self::all_written) makes failed rows an error.
#[must_use = "rows that were not written are in the report; `.all_written()?` makes them an error"]
#[derive(Debug)]
pub struct LoadReport {
    pub(super) table: Arc<str>,
    pub(super) progress: Progress,
    pub(super) failed: Vec<FailedRow>,
    pub(super) checkpoint: Checkpoint,
}

/// A row of a load's input that was not written, and why.
#[derive(Debug)]
pub struct FailedRow {
    pub(super) index: u64,
    pub(super) key: Option<Bytes>,
    pub(super) error: Error,
}

/// A load that ended before its input did; or, from [`LoadReport::all_written`], one in which rows failed.
///
/// [`report`](Self::report) says what was done, and its [checkpoint](LoadReport::checkpoint) is where to resume the load.
#[derive(Debug)]
pub struct LoadError {
    pub(super) report: Box<LoadReport>,
    pub(super) reason: Reason,
}

/// Why a load is an error.
#[derive(Debug)]
pub(super) enum Reason {
    /// The table or the checkpoint failed before the first row.
    NotStarted(Error),
    /// A request failed, and every other would.
    Failed(Error),
    /// An item of the input is an error.
    Input(InputError),
    /// More rows failed than are allowed.
    TooManyFailed { allowed: u64 },
    /// The load processed all rows, and some failed.
    RowsFailed,
}

impl LoadReport {
    /// How many rows were read to be written, without those that a resumed load skipped.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.progress.read
    }

    /// How many rows were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.progress.written
    }

    /// How many rows existed, which a load [`if_absent`](super::Load::if_absent) left as they were.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.progress.kept
    }

    /// The size of the written rows in their requests.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.progress.bytes
    }

    /// How many requests were made, not counting retries.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.progress.requests
    }

    /// How long the load took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.progress.elapsed
    }

    /// The first 1000 rows that failed, in the order of their failures.
    #[must_use]
    pub fn failed(&self) -> &[FailedRow] {
        &self.failed
    }

    /// How many rows failed, including those beyond the first 1000 of [`failed`](Self::failed).
    #[must_use]
    pub fn failed_count(&self) -> u64 {
        self.progress.failed
    }

    /// How far the load has come. After a complete load it is after the last item. It holds the places of at most 1000
    /// failed rows; if more failed, it is before the first of the others. A load resumed from it retries the failed rows.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The numbers of a load without failed rows.
    ///
    /// # Errors
    /// When rows failed; [`LoadError::report`] lists them.
    pub fn all_written(self) -> Result<Progress, LoadError> {
        match self.progress.failed {
            0 => Ok(self.progress),
            _ => Err(LoadError { report: Box::new(self), reason: Reason::RowsFailed }),
        }
    }
}

impl FailedRow {
    /// The row's place in the whole input, counted from 0.
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
        match key {
            Some(_) => write!(f, ": {}", error.without_own_key()),
            None => write!(f, ": {error}"),
        }
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { written, kept, failed, bytes, requests, elapsed, .. } = self.progress;
        write!(
            f,
            "{} of {} written to table `{}` by {} in {:.1} s, {failed} failed",
            counted(written, "row"),
            counted(bytes, "byte"),
            self.table,
            counted(requests, "request"),
            elapsed.as_secs_f64(),
        )?;
        match kept {
            0 => Ok(()),
            _ => write!(f, ", {kept} existed and were kept"),
        }
    }
}

impl LoadError {
    /// What was done before the load ended.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// What was done before the load ended, by value.
    pub fn into_report(self) -> LoadReport {
        *self.report
    }

    /// How far the load had come.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.report.checkpoint
    }

    /// The failure of a request, of the table or of the checkpoint, if that ended the load.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.reason {
            Reason::NotStarted(error) | Reason::Failed(error) => Some(error),
            Reason::Input(_) | Reason::TooManyFailed { .. } | Reason::RowsFailed => None,
        }
    }

    /// Whether an item of the input was an error, which is then the [`source`](StdError::source). All rows before it were
    /// processed.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self.reason, Reason::Input(_))
    }

    /// Whether more rows failed than [`Load::max_failures`](super::Load::max_failures) allows.
    #[must_use]
    pub fn is_too_many_failures(&self) -> bool {
        matches!(self.reason, Reason::TooManyFailed { .. })
    }
}

/// Why the load ended, the first failed row if rows did, and where to resume.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadReport { table, progress, failed, .. } = &*self.report;
        match &self.reason {
            Reason::NotStarted(error) => write!(f, "the load of table `{table}` did not start: {error}")?,
            Reason::Failed(error) => write!(f, "the load of table `{table}` ended early: {error}")?,
            Reason::Input(error) => {
                write!(f, "the load of table `{table}` ended early: its input failed: {error}")?;
            }
            Reason::TooManyFailed { allowed } => write!(
                f,
                "the load of table `{table}` ended early: {} not written, more than the {allowed} that `max_failures` \
                 allows",
                were(progress.failed, "row"),
            )?,
            Reason::RowsFailed => {
                let verb = if progress.failed == 1 { "was" } else { "were" };
                let read = counted(progress.read, "row");
                write!(f, "{} of {read} {verb} not written to table `{table}`", progress.failed)?;
            }
        }
        if let (Some(first), Reason::TooManyFailed { .. } | Reason::RowsFailed) =
            (failed.first(), &self.reason)
        {
            write!(f, "; the first is {first}")?;
        }
        self.write_remedy(f)
    }
}

impl LoadError {
    /// Where to resume, unless the cause says so itself.
    fn write_remedy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checkpoint = &self.report.checkpoint;
        let (items, failed) = (checkpoint.items(), checkpoint.failed().len() as u64);
        match &self.reason {
            Reason::NotStarted(error) | Reason::Failed(error) if error.is_not_found() && items > 0 => {
                return f.write_str(
                    "; a table that is created again lacks the rows before the checkpoint: create it, and load it from \
                     the beginning: leave `.resume(…)` out",
                );
            }
            Reason::NotStarted(_) => return Ok(()),
            Reason::RowsFailed => {
                return f.write_str("; a load resumed from the report's checkpoint retries them");
            }
            Reason::Failed(_) | Reason::Input(_) | Reason::TooManyFailed { .. } => {}
        }
        match items {
            0 => return f.write_str("; the checkpoint is at the beginning of the input"),
            1 => f.write_str("; the first item is processed, and the checkpoint is after it")?,
            _ => {
                write!(f, "; the first {items} items are processed, and the checkpoint is after them")?;
            }
        }
        match failed {
            0 => Ok(()),
            _ => write!(f, "; a resumed load retries the {} that failed", counted(failed, "row")),
        }
    }
}

/// A count with its noun.
pub(in crate::table) fn counted(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{count} {noun}{}", if count == 1 { "" } else { "s" }))
}

/// A count with its noun and verb.
fn were(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{} {}", counted(count, noun), if count == 1 { "was" } else { "were" }))
}

impl StdError for LoadError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.reason {
            Reason::NotStarted(error) | Reason::Failed(error) => Some(error),
            Reason::Input(error) => Some(error.as_ref()),
            Reason::TooManyFailed { .. } | Reason::RowsFailed => {
                self.report.failed.first().map(|row| &row.error as _)
            }
        }
    }
}

/// The version of the stored form. Later releases read it too.
const FORMAT: u32 = 1;

/// How far a load has come: the first [`items`](Self::items) items of its input are processed, each written or among the
/// [`failed`](Self::failed) ones. [`Load::resume`](super::Load::resume) retries the failed ones and continues after the items.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyderive::load::Checkpoint;
///
/// # let users = Client::embedded().table::<UserKey, User>("users");
/// # users.create_if_absent().await?;
/// let report = users.load_iter((0..1000).map(|id| (UserKey { id }, User { age: 42 }))).await?;
/// let stored = serde_json::to_string(report.checkpoint())?;
/// let checkpoint: Checkpoint = serde_json::from_str(&stored)?;
/// assert_eq!(checkpoint.items(), 1000);
/// # Ok(())
/// # }
/// ```
///
/// Serialize it by serde: some 250 bytes of JSON, and a few more for each failed row. It holds the version of its form, the
/// number of items, the places of the failed rows, the name of the table and the fingerprint of the key type. A release that
/// does not know the version rejects it.
///
/// # Which tables accept it
///
/// A load into another table or instance, or by another key type, rejects the checkpoint. The tables of an embedded
/// Bigtable have a number too, so a table that was deleted and created again, or is in another
/// [`Client::embedded`](crate::Client::embedded), rejects a checkpoint that has items. The service and the emulator
/// have no such number: there, a table created again under its name accepts the checkpoint of the one before, and so does
/// another emulator. Load such a table from the beginning.
///
/// The caller must resume with the same input, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Checkpoint {
    items: u64,
    failed: Vec<u64>,
    table: TableIdentity,
}

/// Which table a checkpoint is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::table) struct TableIdentity {
    /// The full name, with the instance.
    table: String,
    /// Distinguishes tables of one name, in an embedded Bigtable.
    #[serde(with = "hex_id")]
    table_id: Option<u64>,
    fingerprint: String,
}

/// The number of a table in hexadecimal, since some JSON readers take numbers as floats.
mod hex_id {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        id.map(|id| format!("{id:016x}")).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let read_id = |id: String| {
            u64::from_str_radix(&id, 16).map_err(|_| {
                D::Error::custom(format!("the checkpoint is damaged: `{id}` is not the number of a table"))
            })
        };
        Option::<String>::deserialize(deserializer)?.map(read_id).transpose()
    }
}

impl TableIdentity {
    /// Its number is known once a request has shown that the table exists.
    pub(in crate::table) fn of(table: &Handle) -> Self {
        Self {
            table: table.client.table_name(&table.name),
            table_id: table.client.table_id(&table.name),
            fingerprint: table.key.schema().fingerprint().to_string(),
        }
    }

    /// How a table with another name or key type differs, in words.
    pub(in crate::table) fn difference(&self, table: &Handle) -> Option<String> {
        let here = Self::of(table);
        let differs = |what: &str, found: &str, expected: &str| {
            Some(format!("expected {what} `{expected}`, found `{found}`"))
        };
        if self.table != here.table {
            return differs("the table", &self.table, &here.table);
        }
        if self.fingerprint != here.fingerprint {
            let what = format!("the fingerprint of `{}`", table.key.schema().key_type());
            return differs(&what, &self.fingerprint, &here.fingerprint);
        }
        None
    }

    /// Whether it is of the table that has this name now.
    pub(in crate::table) fn is_of_this(&self, table: &Handle) -> bool {
        self.table_id == table.client.table_id(&table.name)
    }
}

/// A checkpoint as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    items: u64,
    failed: Vec<u64>,
    #[serde(flatten)]
    table: TableIdentity,
}

impl From<Checkpoint> for Stored {
    fn from(checkpoint: Checkpoint) -> Self {
        let Checkpoint { items, failed, table } = checkpoint;
        Self { format: FORMAT, items, failed, table }
    }
}

impl TryFrom<Stored> for Checkpoint {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let Stored { format, items, failed, table } = stored;
        if format != FORMAT {
            return Err(format!(
                "the checkpoint has the form {format}, and this release of keyderive reads the form {FORMAT}; resume with \
                 the release that stored it"
            ));
        }
        if let Some(place) = failed.iter().find(|place| **place >= items) {
            return Err(format!(
                "the checkpoint is damaged: item {place} failed, and only {items} were processed"
            ));
        }
        // Sorted and distinct, as we store them.
        let failed = failed.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        Ok(Self { items, failed, table })
    }
}

impl Checkpoint {
    /// The checkpoint before the first item.
    pub(super) fn begin(table: &Handle) -> Self {
        Self { items: 0, failed: Vec::new(), table: TableIdentity::of(table) }
    }

    /// The checkpoint of the same load after this many items, of which some failed.
    pub(super) fn at(&self, items: u64, failed: Vec<u64>) -> Self {
        Self { items, failed, ..self.clone() }
    }

    /// How many items from the start of the input are processed: each is written, or among the [`failed`](Self::failed) ones.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The places in the input, counted from 0 and in order, of the failed rows that a resumed load retries: the first 1000.
    /// The checkpoint stays before the next one that fails, so it forgets none.
    #[must_use]
    pub fn failed(&self) -> &[u64] {
        &self.failed
    }

    /// Rejects a table with another name or key type.
    pub(super) fn check(&self, table: &Handle) -> Result<(), Error> {
        match self.table.difference(table) {
            None => Ok(()),
            Some(difference) => Err(Error::mismatch(
                &table.name,
                format!(
                    "the checkpoint is of another load: {difference}; resume it there, or load this table from the \
                     beginning: leave `.resume(…)` out"
                ),
            )),
        }
    }

    /// Binds the checkpoint to the table that has this name now; fails if its rows went to another one.
    pub(super) fn bound_to(&self, table: &Handle) -> Result<Self, Error> {
        if self.items > 0 && !self.table.is_of_this(table) {
            return Err(Error::mismatch(
                &table.name,
                "the checkpoint is of another table of this name: this one was created since, or is in another Bigtable, \
                 and lacks the rows before the checkpoint; load it from the beginning: leave `.resume(…)` out",
            ));
        }
        Ok(Self { table: TableIdentity::of(table), ..self.clone() })
    }
}

/// The most failed rows that a checkpoint keeps for a retry: the default of `max_failures`, and some kilobytes.
const MAX_FAILED: usize = 1000;

/// Tracks which items are processed, for the low-water mark: all items before it are written or kept as failed.
///
/// It holds a bit for each item after the mark, and up to [`MAX_FAILED`] failed items.
pub(super) struct LowWater {
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
    /// Starts after this many items, of which some failed.
    pub(super) fn after(items: u64, failed: &[u64]) -> Self {
        let failed = failed.iter().copied().collect();
        let (first_word, _) = word_and_bit(items);
        Self { outstanding: VecDeque::new(), first_word, failed, first_dropped: None, next: items }
    }

    /// Adds the next item; returns its index.
    pub(super) fn begin(&mut self) -> u64 {
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
    pub(super) fn settle(&mut self, index: u64) {
        self.clear(index);
        self.failed.remove(&index);
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
    pub(super) fn fail(&mut self, index: u64) {
        self.clear(index);
        self.failed.insert(index);
        if self.failed.len() > MAX_FAILED
            && let Some(dropped) = self.failed.pop_last()
        {
            self.first_dropped = Some(self.first_dropped.map_or(dropped, |first| first.min(dropped)));
        }
    }

    /// The low-water mark: how many items are processed without a gap.
    pub(super) fn items(&self) -> u64 {
        let first = self.outstanding.front();
        let first = first.map(|bits| self.first_word * WORD + u64::from(bits.trailing_zeros()));
        [first, self.first_dropped].into_iter().flatten().min().unwrap_or(self.next)
    }

    /// The kept failed items before the mark, in order.
    pub(super) fn failed(&self) -> impl Iterator<Item = u64> {
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

    const STORED: &str = r#"{"format":1,"items":100,"failed":[3,7],"table":"projects/p/instances/i/tables/t","table_id":"00000000000000ff","fingerprint":"6c1705375cfbd9b0"}"#;

    #[test]
    fn the_stored_form_stays() {
        let checkpoint: Checkpoint = serde_json::from_str(STORED).unwrap();
        assert_eq!((checkpoint.items(), checkpoint.failed()), (100, &[3, 7][..]));
        assert_eq!(serde_json::to_string(&checkpoint).unwrap(), STORED);
    }

    #[test]
    fn damaged_checkpoints_are_rejected() {
        let rejected = |from: &str, to: &str| {
            serde_json::from_str::<Checkpoint>(&STORED.replace(from, to)).unwrap_err().to_string()
        };
        let later = rejected(r#""format":1"#, r#""format":2"#);
        assert!(
            later.starts_with("the checkpoint has the form 2, and this release of keyderive reads"),
            "{later}"
        );
        assert!(rejected("[3,7]", "[3,100]").contains("item 100 failed, and only 100 were processed"));
        assert!(rejected("00000000000000ff", "x").contains("`x` is not the number of a table"));
        assert!(rejected(r#""failed":[3,7],"#, "").contains("missing field `failed`"));
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
