//! The loop of a copy: it reads partitions, sends requests in turn, and keeps track of every row.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::Instant;

use super::checkpoint::{self, Checkpoint};
use super::report::{CopyError, CopyReport, Progress, Reason};
use super::{CopyTo, OnProgress, Settings};
use crate::client::{Entries, Entry, Error, Family, Granularity, MAX_MUTATIONS, TableInfo};
use crate::key::{ShownKey, TableKey};
use crate::plan::KeyRange;
use crate::row::{Mutation, RawRow};
use crate::table::diff;
use crate::table::load::look_ahead::{LoadBatch, LookAhead, Request};
use crate::table::load::run::{PROGRESS_EVERY, fails_every_row};
use crate::table::stored::{KeyMap, StoredRows, first_row, read_parts};
use crate::table::verify::is_reserved;

/// The most bytes of a request with one row.
const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

pub(super) async fn run<K: TableKey, R, N: TableKey, S>(
    copy: CopyTo<'_, K, R, N, S>,
) -> Result<CopyReport, CopyError> {
    let CopyTo { mut map, settings, checkpoint, on_progress } = copy;
    // A copy waits out an outage.
    map.old = map.old.with(|settings| settings.retry_budget = false);
    map.new = map.new.with(|settings| settings.retry_budget = false);
    let mut tracker = Tracker::new(&map, checkpoint, settings.checkpoint_every, on_progress);
    let Begun { starts, aggregates, checkpoint } = match begin(&map, &settings, tracker.path.as_deref()).await
    {
        Ok(begun) => begun,
        Err(error) => return tracker.end(Some(Reason::NotStarted(error))),
    };
    if let Err(reason) = tracker.begin(checkpoint) {
        return tracker.end(Some(reason));
    }
    let rows = read_parts(&map.old.handle, tracker.windows(), settings.parallel, None);
    let mut copier = Copier {
        ahead: LookAhead::new(starts.into_iter().map(Bytes::from).collect(), settings.limits),
        map: &map,
        settings,
        aggregates,
        tracker,
        scratch: Entry::default(),
        requests: JoinSet::new(),
        input_ended: false,
        reason: None,
    };
    copier.run(rows).await;
    let Copier { mut tracker, reason, .. } = copier;
    let reason = match (reason, tracker.store()) {
        (None, Err(reason)) => Some(reason),
        (reason, _) => reason,
    };
    if reason.is_some() || !settings.verifies {
        return tracker.end(reason);
    }
    let on_progress: diff::OnProgress<'_> = Box::new(|progress| {
        tracker.report.progress.compared = progress.compared;
        tracker.report_progress();
    });
    let diff = diff::run(map.clone(), settings.diff, Some(on_progress)).await;
    let reason = match diff {
        Ok(diff) => {
            let is_equal = diff.is_equal();
            tracker.report.diff = Some(diff);
            (!is_equal).then_some(Reason::Differs)
        }
        Err(error) => Some(Reason::NotCompared(error)),
    };
    tracker.end(reason)
}

/// What a copy begins with.
struct Begun {
    /// Where the partitions of the new table begin.
    starts: Vec<Vec<u8>>,
    aggregates: HashMap<String, Arc<str>>,
    checkpoint: Checkpoint,
}

/// Checks both tables and the checkpoint.
async fn begin<K: TableKey, R, N: TableKey, S>(
    map: &KeyMap<'_, K, R, N, S>,
    settings: &Settings,
    path: Option<&Path>,
) -> Result<Begun, Error> {
    let KeyMap { old, new, .. } = map;
    old.ensure_checked().await?;
    new.ensure_checked().await?;
    let (old_info, new_info) = (old.info().await?, new.info().await?);
    map.check_distinct()?;
    let aggregates = check_families(&old_info, &new_info)?;
    let starts = new.handle.partition_starts().await?;
    let stored = path.map(checkpoint::read).transpose()?.flatten();
    let checkpoint = match (stored, path) {
        (Some(stored), Some(path)) => {
            stored.check(map, path)?;
            check_resumed(map, &stored, path).await?;
            stored
        }
        _ => {
            if !settings.allows_existing {
                check_empty(map).await?;
            }
            Checkpoint::new(map, old.handle.partitions().await?)
        }
    };
    Ok(Begun { starts, aggregates, checkpoint })
}

/// Fails unless the new table can keep each timestamp of the old one, and has each of its families, of the same kind and with the same rule. Returns the families of
/// aggregates.
fn check_families(old: &TableInfo, new: &TableInfo) -> Result<HashMap<String, Arc<str>>, Error> {
    let mismatch = |text: String| Err(Error::mismatch(new.name(), text));
    let families = || old.families().iter().filter(|family| !is_reserved(family.name()));
    if (old.granularity(), new.granularity()) == (Granularity::Micros, Granularity::Millis) {
        return mismatch(format!(
            "its timestamps are whole milliseconds, and those of table `{}` whole microseconds, which it would reject; create it \
             again with `.granularity(Granularity::Micros)`",
            old.name(),
        ));
    }
    for family in families() {
        let name = family.name();
        let Some(other) = new.family(name) else {
            return mismatch(format!(
                "it lacks the column family `{name}` of table `{}`; it has {}: add it to the table with `modify_families` and \
                 `FamilyChange::add`",
                old.name(),
                new.family_names(),
            ));
        };
        if family.cells() != other.cells() {
            return mismatch(format!(
                "the column family `{name}` is of another type than in table `{}`: expected `{}`, found `{}`; a family keeps its \
                 type, so create the table again",
                old.name(),
                family.cells(),
                other.cells(),
            ));
        }
        if !family.gc_rule().is_same(other.gc_rule()) {
            return mismatch(format!(
                "the garbage collection rule of the column family `{name}` is not that of table `{}`: expected `{}`, found `{}`; \
                 change it with `modify_families` and `FamilyChange::gc_rule`, if need be after the copy",
                old.name(),
                family.gc_rule(),
                other.gc_rule(),
            ));
        }
    }
    let names = families().filter(|family| family.is_aggregate()).map(Family::name);
    Ok(names.map(|name| (name.to_owned(), name.into())).collect())
}

/// Fails if the new table has a row of its key type.
async fn check_empty<K: TableKey, R, N: TableKey, S>(map: &KeyMap<'_, K, R, N, S>) -> Result<(), Error> {
    let new = &map.new;
    match first_row(&new.handle).await? {
        None => Ok(()),
        Some(row) => Err(Error::mismatch(
            &new.handle.name,
            format!(
                "it has rows, such as {}, which would stay beside the copied ones; copy to an empty table, resume an earlier copy \
                 by its `.checkpoint(…)`, or accept the rows with `.allow_existing()`",
                ShownKey(row.key()),
            ),
        )),
    }
}

/// Fails if the new table has lost the rows that a checkpoint counts: a table that was created again has the same name.
async fn check_resumed<K: TableKey, R, N: TableKey, S>(
    map: &KeyMap<'_, K, R, N, S>,
    checkpoint: &Checkpoint,
    path: &Path,
) -> Result<(), Error> {
    let new = &map.new;
    if checkpoint.copied == 0 || first_row(&new.handle).await?.is_some() {
        return Ok(());
    }
    Err(Error::mismatch(
        &new.handle.name,
        format!(
            "it has no row, and the checkpoint `{}` counts {} rows that were copied to it: the table was created again, or its rows \
             were dropped; delete the file to copy all rows",
            path.display(),
            checkpoint.copied,
        ),
    ))
}

struct Copier<'m, 'a, K: TableKey, R, N: TableKey, S> {
    map: &'m KeyMap<'a, K, R, N, S>,
    settings: Settings,
    /// The families of aggregates.
    aggregates: HashMap<String, Arc<str>>,
    tracker: Tracker<'a>,
    ahead: LookAhead,
    requests: JoinSet<Finished>,
    /// The buffer in which a row is encoded.
    scratch: Entry,
    input_ended: bool,
    /// Why the copy ends early.
    reason: Option<Reason>,
}

/// A request with the outcomes of its rows.
struct Finished {
    request: Request,
    entries: Arc<Entries>,
    /// The numbers of the rows.
    indexes: Vec<u64>,
    outcomes: Vec<Result<(), Error>>,
}

enum Event {
    Finished(Result<Finished, JoinError>),
    Read(Option<Result<StoredRows, Error>>),
}

impl<K: TableKey, R, N: TableKey, S> Copier<'_, '_, K, R, N, S> {
    async fn run(&mut self, rows: impl Stream<Item = Result<StoredRows, Error>>) {
        let mut rows = pin!(rows);
        loop {
            self.send();
            let is_done = self.reason.is_some() || (self.input_ended && self.ahead.is_empty());
            if is_done && self.requests.is_empty() {
                return;
            }
            match poll_fn(|cx| self.poll_event(rows.as_mut(), cx)).await {
                Event::Finished(finished) => self.finish(finished),
                Event::Read(None) => self.input_ended = true,
                Event::Read(Some(Err(error))) => self.stop(Reason::Failed(error)),
                Event::Read(Some(Ok(rows))) => {
                    self.take(&rows);
                    yield_now().await;
                }
            }
            if let Err(reason) = self.tracker.report_if_due() {
                self.stop(reason);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.ahead.bytes() >= self.settings.look_ahead.max(1)
    }

    /// Sends requests while workers are free.
    fn send(&mut self) {
        while self.reason.is_none()
            && self.requests.len() < self.settings.workers
            && (self.is_full() || self.input_ended)
            && let Some((request, LoadBatch { entries, indexes, .. })) = self.ahead.take()
        {
            if let Some((index, new_key)) = self.ahead.duplicate() {
                let old_key = Bytes::copy_from_slice(self.tracker.key(*index));
                let new_key = new_key.clone();
                return self.stop(Reason::Collision { old_key, new_key });
            }
            let (client, table) = (self.map.new.handle.client.clone(), self.map.new.handle.name.clone());
            self.tracker.report.progress.requests += 1;
            self.requests.spawn(async move {
                let outcomes = client.send_entries(&table, &entries).await;
                Finished { request, entries, indexes, outcomes }
            });
        }
    }

    fn poll_event(
        &mut self,
        rows: Pin<&mut impl Stream<Item = Result<StoredRows, Error>>>,
        cx: &mut Context<'_>,
    ) -> Poll<Event> {
        if let Poll::Ready(Some(finished)) = self.requests.poll_join_next(cx) {
            return Poll::Ready(Event::Finished(finished));
        }
        match self.reason.is_none() && !self.input_ended && !self.is_full() {
            true => rows.poll_next(cx).map(Event::Read),
            false => Poll::Pending,
        }
    }

    fn take(&mut self, rows: &StoredRows) {
        for row in &rows.rows {
            if let Err(error) = self.take_row(rows.part, row) {
                return self.stop(Reason::Failed(error));
            }
        }
        if rows.is_end {
            self.tracker.part_ended(rows.part);
        }
    }

    fn take_row(&mut self, part: usize, row: &RawRow) -> Result<(), Error> {
        self.tracker.report.progress.read += 1;
        self.scratch.reset();
        if self.map.new_key(row, &mut self.scratch.key)? {
            self.encode_cells(row);
        }
        if self.scratch.mutations.is_empty() {
            self.tracker.left_out(part, row.key());
            return Ok(());
        }
        self.check_limits(row)?;
        let index = self.tracker.begin_row(part, row.key());
        self.ahead.push(index, &self.scratch);
        Ok(())
    }

    /// Encodes the cells of a row as mutations that can be repeated.
    ///
    /// An aggregate can only be merged into what is there, so that its family is deleted first, in the same request.
    fn encode_cells(&mut self, row: &RawRow) {
        let mutations = &mut self.scratch.mutations;
        let mut cleared: Option<&Arc<str>> = None;
        for cell in row.cells() {
            let (family, qualifier, at) = (cell.family(), cell.qualifier(), cell.timestamp_micros());
            if let Some(family) = self.aggregates.get(family) {
                if cleared != Some(family) {
                    mutations.push_repeatable(&Mutation::delete_family(Arc::clone(family)));
                    cleared = Some(family);
                }
                let (qualifier, state) =
                    (Bytes::copy_from_slice(qualifier), Bytes::copy_from_slice(cell.value()));
                let merge = Mutation::merge_to_cell(Arc::clone(family), qualifier, at, state);
                mutations.push_repeatable(&merge);
            } else if !is_reserved(family) {
                mutations.copy_cell(family, qualifier, at, cell.value());
            }
        }
    }

    fn check_limits(&self, row: &RawRow) -> Result<(), Error> {
        let new = &self.map.new.handle.name;
        let (mutations, bytes) = (self.scratch.mutations.count(), self.scratch.bytes());
        let fault = if mutations > MAX_MUTATIONS {
            format!(
                "would take {mutations} mutations, one for each cell, and a request has at most {MAX_MUTATIONS}"
            )
        } else if bytes > MAX_ROW_BYTES {
            format!("would take a request of {bytes} bytes, and a row is copied in at most {MAX_ROW_BYTES}")
        } else {
            return self.scratch.check(new);
        };
        let text = format!(
            "row {} of table `{}` {fault}; delete old versions of its columns, write it by hand, or leave it out: return `None`",
            ShownKey(row.key()),
            &*self.map.old.handle.name,
        );
        Err(Error::limit(new, &Bytes::copy_from_slice(&self.scratch.key), text))
    }

    fn finish(&mut self, finished: Result<Finished, JoinError>) {
        let Finished { request, entries, indexes, outcomes } = match finished {
            Ok(finished) => finished,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => {
                    let error = Error::configuration("the tokio runtime ended before the copy did");
                    return self.stop(Reason::Failed(error));
                }
            },
        };
        self.ahead.finish(request);
        for (position, (index, outcome)) in indexes.into_iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(()) => self.tracker.written(index, entries.entry(position).len()),
                Err(error) if fails_every_row(&error) => self.stop(Reason::Failed(error)),
                Err(error) => self.stop(Reason::Failed(Error::entry(&entries.key(position), error))),
            }
        }
    }

    /// Ends the copy once the requests in flight have ended.
    fn stop(&mut self, reason: Reason) {
        self.reason.get_or_insert(reason);
    }
}

/// Tracks the rows of a copy, and calls back with its progress and its checkpoints.
struct Tracker<'a> {
    report: CopyReport,
    parts: Vec<Part>,
    /// The last checkpoint; none before the first.
    checkpoint: Option<Checkpoint>,
    path: Option<PathBuf>,
    every: u64,
    begun: Instant,
    on_progress: Option<OnProgress<'a>>,
    progress_at: Instant,
}

/// A part of the old table.
struct Part {
    /// What was left of it when the copy began.
    window: KeyRange,
    /// The key up to which all rows are written or left out.
    done_to: Option<Box<[u8]>>,
    /// The rows after that which were read.
    rows: VecDeque<TrackedRow>,
    /// The number of the first of them.
    first: u64,
    /// Whether all rows were read.
    is_read: bool,
}

struct TrackedRow {
    key: Box<[u8]>,
    state: RowState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowState {
    Pending,
    Written,
    LeftOut,
}

/// How many bits of a row's number are its number in its part. The others are that of the part.
const BITS: u32 = 40;

impl<'a> Tracker<'a> {
    fn new<K: TableKey, R, N: TableKey, S>(
        map: &KeyMap<'_, K, R, N, S>,
        path: Option<PathBuf>,
        every: u64,
        on_progress: Option<OnProgress<'a>>,
    ) -> Self {
        let begun = Instant::now();
        Self {
            report: CopyReport {
                old: Arc::clone(map.old.handle.name.table()),
                new: Arc::clone(map.new.handle.name.table()),
                progress: Progress::default(),
                copied: 0,
                left_out: 0,
                diff: None,
            },
            parts: Vec::new(),
            checkpoint: None,
            path,
            every,
            begun,
            on_progress,
            progress_at: begun,
        }
    }

    /// Begins where a checkpoint is, and stores it before the first row is written.
    fn begin(&mut self, checkpoint: Checkpoint) -> Result<(), Reason> {
        (self.report.copied, self.report.left_out) = (checkpoint.copied, checkpoint.left_out);
        let part = |window: &KeyRange| Part {
            window: window.clone(),
            done_to: None,
            rows: VecDeque::new(),
            first: 0,
            is_read: false,
        };
        self.parts = checkpoint.left.iter().map(part).collect();
        self.checkpoint = Some(checkpoint);
        self.store()
    }

    fn windows(&self) -> Vec<KeyRange> {
        self.parts.iter().map(|part| part.window.clone()).collect()
    }

    /// Adds the next row of a part; returns its number.
    fn begin_row(&mut self, part: usize, key: &[u8]) -> u64 {
        let Some(tracked) = self.parts.get_mut(part) else { return 0 };
        let number = tracked.first + tracked.rows.len() as u64;
        tracked.rows.push_back(TrackedRow { key: key.into(), state: RowState::Pending });
        (part as u64) << BITS | number
    }

    /// The key of a row that was begun and is not done.
    fn key(&self, index: u64) -> &[u8] {
        let (part, number) = part_and_number(index);
        let row =
            self.parts.get(part).and_then(|part| part.rows.get(to_usize(number.checked_sub(part.first)?)));
        row.map_or(&[], |row| &row.key)
    }

    fn left_out(&mut self, part: usize, key: &[u8]) {
        self.report.progress.left_out += 1;
        let index = self.begin_row(part, key);
        self.settle(index, RowState::LeftOut);
    }

    fn written(&mut self, index: u64, bytes: usize) {
        self.report.progress.written += 1;
        self.report.progress.bytes += bytes as u64;
        self.settle(index, RowState::Written);
    }

    fn settle(&mut self, index: u64, state: RowState) {
        let (part, number) = part_and_number(index);
        let Some(part) = self.parts.get_mut(part) else { return };
        let place = number.checked_sub(part.first).map(to_usize);
        if let Some(row) = place.and_then(|place| part.rows.get_mut(place)) {
            row.state = state;
        }
        while let Some(row) = part.rows.pop_front_if(|row| row.state != RowState::Pending) {
            match row.state {
                RowState::LeftOut => self.report.left_out += 1,
                _ => self.report.copied += 1,
            }
            part.first += 1;
            part.done_to = Some(row.key);
        }
    }

    fn part_ended(&mut self, part: usize) {
        if let Some(part) = self.parts.get_mut(part) {
            part.is_read = true;
        }
    }

    /// Reports the progress and stores a checkpoint, if due.
    fn report_if_due(&mut self) -> Result<(), Reason> {
        if self.on_progress.is_some() && Instant::now() >= self.progress_at {
            self.report_progress();
        }
        let done = self.report.copied + self.report.left_out;
        let stored = self.checkpoint.as_ref().map_or(0, |stored| stored.copied + stored.left_out);
        match done.saturating_sub(stored) >= self.every {
            true => self.store(),
            false => Ok(()),
        }
    }

    /// Stores the checkpoint, if it has a file.
    fn store(&mut self) -> Result<(), Reason> {
        let Some(checkpoint) = &mut self.checkpoint else { return Ok(()) };
        checkpoint.copied = self.report.copied;
        checkpoint.left_out = self.report.left_out;
        let left = self.parts.iter().filter(|part| !part.is_read || !part.rows.is_empty());
        checkpoint.left = left.map(Part::left).collect();
        let Some(path) = &self.path else { return Ok(()) };
        checkpoint::store(path, checkpoint).map_err(|error| Reason::Checkpoint { path: path.clone(), error })
    }

    fn report_progress(&mut self) {
        let now = Instant::now();
        self.progress_at = now + PROGRESS_EVERY;
        self.report.progress.elapsed = now - self.begun;
        if let Some(call) = &mut self.on_progress {
            call(&self.report.progress);
        }
    }

    /// Ends the copy.
    fn end(mut self, reason: Option<Reason>) -> Result<CopyReport, CopyError> {
        self.report_progress();
        match reason {
            None => Ok(self.report),
            Some(reason) => Err(CopyError { report: Box::new(self.report), reason }),
        }
    }
}

impl Part {
    /// What is left of it.
    fn left(&self) -> KeyRange {
        match &self.done_to {
            None => self.window.clone(),
            // The key and a zero byte is the first key after it.
            Some(key) => KeyRange::new([key, &[0][..]].concat(), self.window.end().map(<[u8]>::to_vec)),
        }
    }
}

fn part_and_number(index: u64) -> (usize, u64) {
    (to_usize(index >> BITS), index & ((1 << BITS) - 1))
}

/// Saturates; no index of a list is so large.
fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
