//! What a driver does with every row: checks it, copies it, compares it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

use super::control::{Control, Side, State, View};
use super::migration::{Activity, Meter, Migration};
use super::pair::{MARKS, Mark, TablePair, has_data};
use crate::client::{Client, Error, Idempotency, Mutations, ReadRows, RekeyingEnd, RowStream};
use crate::key::codec::read_hex;
use crate::key::{Hex, ShownKey};
use crate::plan::KeyRange;
use crate::row::{RawRow, RowFilter};
use crate::table::equality::{self, removable_cells};
use crate::table::handle::windows;
use crate::table::load::report::counted;

/// How many rows of a partition are copied at a time.
const COPIES_IN_FLIGHT: usize = 64;
/// How many rows are compared at a time.
const COMPARED: usize = 256;
/// How often the progress of a pass is recorded.
const RECORD_EVERY: Duration = Duration::from_secs(2);
/// More partitions than that are joined, so that the record stays small.
const MAX_PARTITIONS: usize = 1000;
/// How long a copy is repeated, while the server rejects it.
const PATIENCE: Duration = Duration::from_secs(600);
/// The pauses before a copy is repeated.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// How many faults and differences are kept.
const MAX_KEPT: usize = 100;
/// How many of them are printed.
const MAX_SHOWN: usize = 10;
/// The most changes to one row in one request, of Bigtable's page "Quotas and limits".
const MAX_CHANGES: usize = 100_000;
/// The largest row that is copied in one request.
const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

/// How a pass ends.
pub(super) enum Pass {
    Done,
    /// The state is another one: another driver has gone on.
    Superseded,
}

/// A partition of a table, and how far a pass over it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Partition {
    start: String,
    end: Option<String>,
    /// The key of the last row that was copied, with all before it.
    after: Option<String>,
    done: bool,
}

/// The progress of a pass, as the control row records it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PassRecord {
    /// That of the state in which the pass runs.
    change: u64,
    partitions: Vec<Partition>,
}

impl Partition {
    /// What is left of it; none if the record is not of this form.
    fn rest(&self) -> Option<KeyRange> {
        let bytes = |text: &str| read_hex(text.as_bytes()).ok();
        let end = match &self.end {
            None => None,
            Some(end) => Some(bytes(end)?),
        };
        let start = match &self.after {
            None => bytes(&self.start)?,
            Some(last) => [&bytes(last)?[..], &[0]].concat(),
        };
        Some(KeyRange::new(start, end))
    }
}

/// Bounds the requests in flight, and halves the bound whenever the server rejects one.
struct Pace {
    permits: Semaphore,
    most: usize,
    bound: Mutex<usize>,
    successes: AtomicUsize,
}

impl Pace {
    fn new(most: usize) -> Self {
        let (permits, bound) = (Semaphore::new(most), Mutex::new(most));
        Self { permits, most, bound, successes: AtomicUsize::new(0) }
    }

    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.permits.acquire().await.ok()
    }

    fn succeeded(&self) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if *bound < self.most && self.successes.fetch_add(1, Ordering::Relaxed) >= *bound {
            self.successes.store(0, Ordering::Relaxed);
            *bound += 1;
            self.permits.add_permits(1);
        }
    }

    fn failed(&self) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        // Permits in use are forgotten when others fail; one always stays.
        *bound -= self.permits.forget_permits((*bound / 2).min(bound.saturating_sub(1)));
        self.successes.store(0, Ordering::Relaxed);
    }
}

/// A row that cannot be re-keyed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// Its key in the old table.
    pub key: Vec<u8>,
    /// Why.
    pub error: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", ShownKey(&self.key), self.error)
    }
}

/// What [`Migration::check`] found. Print it with `{}`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Findings {
    /// How many rows the old table has.
    pub rows: u64,
    /// How many cells they have.
    pub cells: u64,
    /// About how many bytes their keys and cells have.
    pub bytes: u64,
    /// How many rows cannot be re-keyed.
    pub faulty: u64,
    /// The first 100 that were found.
    pub faults: Vec<Fault>,
}

impl Findings {
    /// Whether every row can be re-keyed.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.faulty == 0
    }

    fn add(&mut self, key: &[u8], error: Error) {
        self.faulty += 1;
        if self.faults.len() < MAX_KEPT {
            self.faults.push(Fault { key: key.to_vec(), error });
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cells, bytes, faulty, faults } = self;
        let (rows, cells) = (counted(*rows, "row"), counted(*cells, "cell"));
        write!(f, "{rows} with {cells}, about {} MiB; ", bytes / (1024 * 1024))?;
        if *faulty == 0 {
            return f.write_str("all can be re-keyed");
        }
        write!(f, "{} cannot be re-keyed", counted(*faulty, "row"))?;
        list(f, faults)
    }
}

/// How a row of one table differs from what it must be. A roll-back finds only the first two kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// The row was not copied.
    Missing {
        /// Its key in the table that was copied.
        key: Vec<u8>,
    },
    /// The copy has other cells.
    Unequal {
        /// Its key in the table that was copied.
        key: Vec<u8>,
        /// The first cell that differs, as family, qualifier and timestamp.
        cell: (String, Vec<u8>, i64),
    },
    /// The row of the new table was written without a mark.
    Unmarked {
        /// Its key in the new table.
        key: Vec<u8>,
    },
    /// The row of the new table is the copy of a row that is not there, and that garbage collection has not removed.
    Orphaned {
        /// Its key in the new table.
        key: Vec<u8>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { key } => write!(f, "the row {} was not copied", ShownKey(key)),
            Self::Unequal { key, cell: (family, qualifier, timestamp) } => write!(
                f,
                "the copy of the row {} differs in `{family}:{}` at {timestamp}",
                ShownKey(key),
                qualifier.escape_ascii()
            ),
            Self::Unmarked { key } => write!(
                f,
                "the row {} of the new table has no mark: a program that knows nothing of the re-keying wrote it",
                ShownKey(key)
            ),
            Self::Orphaned { key } => {
                write!(
                    f,
                    "the row {} of the new table is a copy, and there is no row that it is of",
                    ShownKey(key)
                )
            }
        }
    }
}

/// What [`Migration::verify`] found. Print it with `{}`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Verification {
    /// How many rows were copied, and are equal to their originals, or have expired with them.
    pub copied: u64,
    /// How many rows were written through [`Rekeyed`](super::Rekeyed) since, so that they may differ.
    pub written: u64,
    /// How many rows are not as they must be.
    pub different: u64,
    /// The first 100 that were found.
    pub differences: Vec<Difference>,
}

impl Verification {
    /// Whether every row is as it must be.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.different == 0
    }

    fn add(&mut self, difference: Difference) {
        self.different += 1;
        if self.differences.len() < MAX_KEPT {
            self.differences.push(difference);
        }
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { copied, written, different, differences } = self;
        let [copied, written] = [copied, written].map(|rows| counted(*rows, "row"));
        write!(f, "{copied} copied and equal, {written} written since; ")?;
        if *different == 0 {
            return f.write_str("no row differs");
        }
        write!(f, "{} different", counted(*different, "row"))?;
        list(f, differences)
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    items.iter().take(MAX_SHOWN).try_for_each(|item| write!(f, "\n  {item}"))?;
    match items.len().checked_sub(MAX_SHOWN) {
        None | Some(0) => Ok(()),
        Some(more) => write!(f, "\n  and {more} more"),
    }
}

impl Migration {
    /// Reads every row of the old table, and finds those that cannot be re-keyed: whose keys are of another type or have no new
    /// key, and rows above 100,000 cells or 64 MiB.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table has a row key schema or aggregates; when a request fails. That
    /// rows cannot be re-keyed is no error: see [`Findings::is_ok`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn check(&self) -> Result<Findings, Error> {
        let pair = &self.pair;
        super::refuse(&self.client().table_info(pair.route(Side::Old)).await?)?;
        let state = self.state().await?;
        let meter = self.meter(state, Activity::Verifying);
        let all = Mutex::new(Findings::default());
        let findings = &all;
        let each = |rows: Vec<RawRow>| async move {
            let mut findings = findings.lock().unwrap_or_else(PoisonError::into_inner);
            for row in rows.iter().filter(|row| has_data(row)) {
                findings.rows += 1;
                findings.cells += row.cells().len() as u64;
                findings.bytes += row.size() as u64;
                if let Err(error) = check_row(pair, row) {
                    findings.add(row.key(), error);
                }
            }
            Ok(())
        };
        meter.during(self.each_batch(Side::Old, None, &meter, each)).await?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Compares both tables, while the new one has marks: every row of the old table was copied, and is equal to its copy or was
    /// written since, and the new table has no other rows. `run` and `roll_back` do so before they end.
    ///
    /// A program that wrote the old table after the re-keying began shows here. Rows are compared as by
    /// [`Table::diff`](crate::Table::diff): cells that both tables have by their values, however old they are. A cell that one of
    /// them has alone is a difference unless its family's garbage collection rule allows its removal, by the client's clock and up to
    /// a minute early.
    ///
    /// # Errors
    /// In states in which there is nothing to compare; if the re-keying reaches such a state meanwhile, which
    /// [`is_retryable`](Error::is_retryable); when a request fails. That rows differ is no error: see [`Verification::is_ok`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn verify(&self) -> Result<Verification, Error> {
        let verified = self.verified().await?;
        verified.ok_or_else(|| self.pair.lease().error(None, RekeyingEnd::Changed))
    }

    /// Compares both tables; `None` if another driver has gone on meanwhile, and the marks may be gone.
    pub(super) async fn verified(&self) -> Result<Option<Verification>, Error> {
        let state = self.state().await?;
        let found = Mutex::new(Verification::default());
        let meter = self.meter(state, Activity::Verifying);
        match state {
            State::Copying | State::Moved => {
                let compared = self.compare(Side::Old, &meter, &found);
                meter.during(compared).await?;
                meter.during(self.find_orphaned(&meter, &found)).await?;
            }
            State::RollbackCopying => meter.during(self.compare(Side::New, &meter, &found)).await?,
            State::Old | State::Paused | State::New | State::RollbackPaused | State::RolledBack => {
                return Err(Error::definition(
                    self.pair.route(Side::New),
                    format!("in the state `{state}` there are no copies to compare"),
                ));
            }
        }
        let now = self.state().await?;
        let counts = now == state || (state, now) == (State::Copying, State::Moved);
        Ok(counts.then(|| found.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Copies the rows of the table that nobody writes to the other one.
    pub(super) async fn copy(&self, control: &Control) -> Result<Pass, Error> {
        match control.state {
            State::RollbackCopying => self.pass(Side::New, control).await,
            _ => self.pass(Side::Old, control).await,
        }
    }

    async fn pass(&self, base: Side, control: &Control) -> Result<Pass, Error> {
        let lease = self.pair.lease();
        let view = lease.acquire(Instant::now() + control.lease(), false).await?;
        if view.change != control.change {
            return Ok(Pass::Superseded);
        }
        let partitions = self.partitions(base, control.change).await?;
        let meter = self.meter(control.state, Activity::Copying);
        meter.partitions.store(partitions.len(), Ordering::Relaxed);
        let partitions = Mutex::new(partitions);
        let pace = Pace::new(self.parallel * COPIES_IN_FLIGHT);
        let count = partitions.lock().unwrap_or_else(PoisonError::into_inner).len();
        let copied = stream::iter((0..count).map(Ok)).try_for_each_concurrent(self.parallel, |index| {
            self.copy_partition(base, &view, &partitions, index, &pace, &meter)
        });
        let copied = async {
            let mut copied = std::pin::pin!(copied);
            loop {
                tokio::select! {
                    ended = &mut copied => return ended,
                    // Without the record, another driver copies more again.
                    () = sleep(RECORD_EVERY) => drop(self.record(control.change, &partitions).await),
                }
            }
        };
        match meter.during(copied).await {
            Ok(()) => {
                self.record(control.change, &partitions).await?;
                Ok(Pass::Done)
            }
            Err(Stopped::Superseded) => Ok(Pass::Superseded),
            Err(Stopped::Failed(error)) => {
                // What it is worth is in the error.
                let _ = self.record(control.change, &partitions).await;
                Err(error)
            }
        }
    }

    /// Records how far each partition is.
    async fn record(&self, change: u64, partitions: &Mutex<Vec<Partition>>) -> Result<(), Error> {
        let partitions = partitions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // It only has text and numbers, all of which JSON can hold.
        let record = serde_json::to_vec(&PassRecord { change, partitions }).unwrap_or_default();
        self.pair.lease().row().record_pass(record).await
    }

    /// The partitions of a table, with the progress that the control row has for this state.
    async fn partitions(&self, base: Side, change: u64) -> Result<Vec<Partition>, Error> {
        let pair = &self.pair;
        if let Some(value) = pair.lease().row().pass().await?
            && let Ok(record) = serde_json::from_slice::<PassRecord>(&value)
            && record.change == change
            && record.partitions.iter().all(|partition| partition.rest().is_some())
        {
            return Ok(record.partitions);
        }
        let windows = self.windows(base).await?;
        Ok(windows
            .into_iter()
            .map(|window| Partition {
                start: Hex(window.start()).to_string(),
                end: window.end().map(|end| Hex(end).to_string()),
                after: None,
                done: false,
            })
            .collect())
    }

    /// Parts of a table of about equal size.
    async fn windows(&self, side: Side) -> Result<Vec<KeyRange>, Error> {
        let starts = self.pair.table(self.client(), side).partition_starts().await?;
        let step = starts.len().div_ceil(MAX_PARTITIONS).max(1);
        Ok(windows(starts.into_iter().step_by(step).collect()))
    }

    /// The stored rows of a part of a table, those of other key types too, unless they have another tag.
    fn rows_of(&self, side: Side, window: KeyRange, filter: Option<RowFilter>) -> RowStream {
        let table = self.pair.table(self.client(), side);
        let request = ReadRows { ranges: table.ranges_within(window), filter, ..ReadRows::default() };
        self.client().read_rows(&table.name, request)
    }

    async fn copy_partition(
        &self,
        base: Side,
        view: &View,
        partitions: &Mutex<Vec<Partition>>,
        index: usize,
        pace: &Pace,
        meter: &Meter,
    ) -> Result<(), Stopped> {
        let partition = partitions.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned();
        let rest = partition.filter(|partition| !partition.done).and_then(|partition| partition.rest());
        let set = |change: &dyn Fn(&mut Partition)| {
            let mut partitions = partitions.lock().unwrap_or_else(PoisonError::into_inner);
            partitions.get_mut(index).map(change);
        };
        if let Some(rest) = rest {
            let rows = self.rows_of(base, rest, None);
            // The pace has to see each failure.
            let client = &self.client().with(|settings| settings.check_and_mutate_row.max_attempts = 1);
            let copies = rows.map(|row| async move {
                let row = row?;
                self.copy_row(client, base, view, &row, pace).await?;
                Ok::<_, Stopped>(row)
            });
            let mut copies = std::pin::pin!(copies.buffered(COPIES_IN_FLIGHT));
            let mut unrecorded = 0;
            while let Some(row) = copies.next().await {
                let row = row?;
                meter.rows.fetch_add(1, Ordering::Relaxed);
                client.count_rekeyed(self.pair.route(Side::Old), 1);
                unrecorded += 1;
                if unrecorded == COMPARED {
                    unrecorded = 0;
                    set(&|partition| partition.after = Some(Hex(row.key()).to_string()));
                }
            }
        }
        set(&|partition| partition.done = true);
        meter.partitions_done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Copies a row, unless the other table has it already.
    async fn copy_row(
        &self,
        client: &Client,
        base: Side,
        view: &View,
        row: &RawRow,
        pace: &Pace,
    ) -> Result<(), Stopped> {
        let pair = &self.pair;
        let front = base.other();
        if !TablePair::counts_in_base(front, row) {
            return Ok(());
        }
        let key = match base {
            Side::Old => pair.keys().new_of(row.key(), row)?,
            Side::New => pair.keys().old_of(row.key())?,
        };
        let mut copied = Mutations::from(vec![Mark::Copied.set()]);
        copied.extend(&pair.copy(row).into());
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            // A slow process does not copy what it read in another state.
            if !pair.lease().is_newest(view) {
                let now = pair.lease().acquire(Instant::now() + PATIENCE, false).await?;
                if now.change != view.change {
                    return Err(Stopped::Superseded);
                }
            }
            let turn = pace.turn().await;
            let sent = client.check_and_mutate(
                pair.route(front),
                key.clone(),
                Some(RowFilter::family(MARKS)),
                Mutations::default(),
                copied.clone(),
                Idempotency::Idempotent,
            );
            let sent = sent.await;
            drop(turn);
            match sent {
                Ok(_) => {
                    pace.succeeded();
                    return Ok(());
                }
                Err(error) if error.is_retryable() && begun.elapsed() < PATIENCE => {
                    pace.failed();
                    sleep(pause.mul_f64(fastrand::f64() / 2.0 + 0.5)).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Passes all rows of a table to `each`, in batches, some partitions at a time.
    async fn each_batch<F>(
        &self,
        side: Side,
        filter: Option<RowFilter>,
        meter: &Meter,
        each: impl Fn(Vec<RawRow>) -> F,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<(), Error>>,
    {
        let windows = self.windows(side).await?;
        meter.partitions.fetch_add(windows.len(), Ordering::Relaxed);
        let each = &each;
        stream::iter(windows.into_iter().map(Ok))
            .try_for_each_concurrent(self.parallel, |window| {
                let mut rows = Box::pin(self.rows_of(side, window, filter.clone()).chunks(COMPARED));
                async move {
                    while let Some(batch) = rows.next().await {
                        let batch = batch.into_iter().collect::<Result<Vec<_>, _>>()?;
                        meter.rows.fetch_add(batch.len() as u64, Ordering::Relaxed);
                        each(batch).await?;
                    }
                    meter.partitions_done.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }
            })
            .await
    }

    /// Compares each row of the table that was copied with the other table.
    async fn compare(&self, base: Side, meter: &Meter, found: &Mutex<Verification>) -> Result<(), Error> {
        let pair = &self.pair;
        let front = base.other();
        let each = |rows: Vec<RawRow>| async move {
            let rows: Vec<_> = rows.into_iter().filter(|row| TablePair::counts_in_base(front, row)).collect();
            let keys = rows.iter().map(|row| match base {
                Side::Old => pair.keys().new_of(row.key(), row),
                Side::New => pair.keys().old_of(row.key()),
            });
            let keys: Vec<Bytes> = keys.collect::<Result<_, _>>()?;
            let copies = pair.rows_by_key(self.client(), front, keys, None).await?;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            for (row, copy) in rows.iter().zip(copies) {
                match Mark::of(copy.as_ref()) {
                    None => found.add(Difference::Missing { key: row.key().to_vec() }),
                    Some(Mark::Written) => found.written += 1,
                    Some(Mark::Copied) => match copy
                        .and_then(|copy| differing_cell(pair, row, &copy, self.client().now_micros()))
                    {
                        None => found.copied += 1,
                        Some(cell) => found.add(Difference::Unequal { key: row.key().to_vec(), cell }),
                    },
                }
            }
            Ok(())
        };
        self.each_batch(base, None, meter, each).await
    }

    /// Finds rows of the new table that are neither copies nor written by a program that knows of the re-keying.
    async fn find_orphaned(&self, meter: &Meter, found: &Mutex<Verification>) -> Result<(), Error> {
        let (pair, client) = (&self.pair, self.client());
        let each = |rows: Vec<RawRow>| async move {
            let keys: Vec<Bytes> = rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect();
            let are_in_old = pair.are_in_old(client, keys.clone()).await?;
            let mut without_original = Vec::new();
            {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                for ((row, key), is_in_old) in rows.iter().zip(keys).zip(are_in_old) {
                    match Mark::of(Some(row)) {
                        None => found.add(Difference::Unmarked { key: key.to_vec() }),
                        Some(_) if is_in_old => {}
                        // What was written, and is not in the old table, was not counted yet.
                        Some(Mark::Written) => found.written += 1,
                        Some(Mark::Copied) => without_original.push(key),
                    }
                }
            }
            let copies = pair.rows_by_key(client, Side::New, without_original, None).await?;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            for copy in copies.into_iter().flatten() {
                match Mark::of(Some(&copy)) {
                    // It was written meanwhile.
                    Some(Mark::Written) => found.written += 1,
                    // The original has expired. The copy will, or has.
                    _ if removable_cells(pair.stored(&copy, client.now_micros())).is_some() => {
                        found.copied += 1;
                    }
                    _ => found.add(Difference::Orphaned { key: copy.key().to_vec() }),
                }
            }
            Ok(())
        };
        self.each_batch(Side::New, Some(pair.marks_and_existence()), meter, each).await
    }
}

/// Why a pass stops.
enum Stopped {
    Superseded,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Whether a row can be copied.
fn check_row(pair: &TablePair, row: &RawRow) -> Result<(), Error> {
    pair.keys().new_of(row.key(), row)?;
    let (changes, bytes) = (pair.copy(row).len() + 1, row.size());
    let message = if changes > MAX_CHANGES {
        format!(
            "the row has {} cells, and is copied in one request of at most {MAX_CHANGES} changes",
            row.cells().len()
        )
    } else if bytes > MAX_ROW_BYTES {
        format!("the row has about {bytes} bytes, and is copied in one request of at most {MAX_ROW_BYTES}")
    } else {
        return Ok(());
    };
    Err(Error::limit(pair.route(Side::Old), &Bytes::copy_from_slice(row.key()), message))
}

/// The first cell in which a row and its copy differ.
fn differing_cell(pair: &TablePair, row: &RawRow, copy: &RawRow, now: i64) -> Option<(String, Vec<u8>, i64)> {
    let mut first = None;
    equality::compare(pair.stored(row, now), pair.stored(copy, now), |cell, copied| {
        first = first.or(cell).or(copied);
    });
    let cell = first?;
    Some((cell.family().to_owned(), cell.qualifier().to_vec(), cell.timestamp_micros()))
}
