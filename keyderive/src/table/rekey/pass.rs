//! What a driver does with every row: checks it, copies it, compares it.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};

use super::control::View;
use super::migration::{Activity, Meter, Migration, Pass, refuse};
use super::pace::{Pace, Sent};
use super::pair::{TablePair, has_data};
use super::state::{Control, Side, State};
use crate::client::{Client, Entries, Error, Idempotency, Mutations, RekeyingEnd};
use crate::dynamic::{FieldPairs, Value};
use crate::plan::Plan;
use crate::row::{RawRow, RowFilter};
use crate::table::handle::windows;
use crate::table::reserved::ORIGINS;
use crate::table::transfer::{
    BatchLimits, CellCopy, Checked, Comparison, Done, Engine, Every, Examined, Fault, Mapping, NewKeys,
    Origin, Origins, Outcomes, PartsLeft, Settings, ShowKey, Sink, TableDiff, TableRows, Tracker,
    TransferError, Versioned, compare, counted, list_faults, write_each,
};

/// How many rows are copied at a time, for each partition that is read at a time.
const COPIES_IN_FLIGHT: usize = 64;
/// The largest batch of copies: small, since a batch ends with its slowest row.
const BATCH: BatchLimits = BatchLimits { bytes: 1024 * 1024, rows: 16 };
/// How many bytes of copies are in flight, or wait for a turn.
const MAX_BYTES_IN_FLIGHT: usize = 128 * 1024 * 1024;
/// How often the progress of a pass is recorded.
const RECORD_EVERY: Duration = Duration::from_secs(2);
/// More partitions than that are joined, so that the record stays small.
const MAX_PARTITIONS: usize = 1000;
/// How long a copy is repeated, while the server rejects it.
const PATIENCE: Duration = Duration::from_secs(600);
/// The pauses before a copy is repeated.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// How many differences are kept.
const MAX_KEPT: usize = 100;

/// The progress of a pass, as the control row records it.
#[derive(Serialize, Deserialize)]
struct PassRecord {
    /// The fence of the direction in which the pass copies.
    fence: Option<String>,
    #[serde(flatten)]
    left: PartsLeft,
}

/// Copies rows to a table that has no origin for them. Each is a request, which is sent once a turn is free, and again while the server
/// rejects it.
struct Copies {
    pair: Arc<TablePair>,
    client: Client,
    front: Side,
    view: View,
    pace: Pace,
    is_superseded: AtomicBool,
}

impl Sink for Copies {
    fn write(&self, entries: Arc<Entries>) -> Pin<Box<dyn Future<Output = Outcomes> + Send + '_>> {
        Box::pin(write_each(entries.len(), move |position| {
            let (key, mutations) = entries.decode(position);
            self.copy(key, mutations)
        }))
    }
}

impl Copies {
    /// Copies a row; returns false if the other table has it already.
    async fn copy(&self, key: Bytes, copied: Mutations) -> Result<bool, Error> {
        let lease = self.pair.lease();
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let turn = self.pace.turn().await;
            // A slow process does not copy what it read in another state.
            if !lease.is_newest(&self.view) {
                let now = lease.acquire(Instant::now() + PATIENCE, false).await?;
                if now.change != self.view.change {
                    self.is_superseded.store(true, Ordering::Relaxed);
                    return Err(lease.error(None, RekeyingEnd::Changed));
                }
            }
            let sent = self.client.check_and_mutate(
                self.pair.route(self.front),
                key.clone(),
                Some(RowFilter::family(ORIGINS)),
                Mutations::default(),
                copied.clone(),
                Idempotency::Idempotent,
            );
            let begun_at = Instant::now();
            let sent = sent.await;
            let took = begun_at.elapsed();
            self.pace.end(
                turn,
                match sent {
                    Ok(false) => Sent::Copied(took),
                    Ok(true) => Sent::Kept,
                    Err(_) => Sent::Failed,
                },
            );
            match sent {
                Ok(has_origin) => {
                    self.client.count_rekeyed(self.pair.route(Side::Old), 1);
                    return Ok(!has_origin);
                }
                Err(error) if error.is_retryable() && begun.elapsed() < PATIENCE => {
                    sleep(pause.mul_f64(fastrand::f64() / 2.0 + 0.5)).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a comparison asks about the origins.
struct PairOrigins<'a> {
    pair: &'a TablePair,
    client: &'a Client,
    front: Side,
}

impl Origins for PairOrigins<'_> {
    fn of(&self, row: &RawRow) -> Option<Origin> {
        Origin::of(Some(row))
    }

    fn began_empty(&self) -> bool {
        self.front == Side::New
    }

    fn filter(&self) -> RowFilter {
        self.pair.origins_and_existence()
    }

    fn are_in_old(
        &self,
        keys: Vec<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<bool>, Error>> + Send + '_>> {
        Box::pin(self.pair.are_in_old(self.client, keys))
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
    /// The first 100 of them, each with the reason.
    pub faults: Vec<Fault>,
    /// The fields of the new key that take values which the old key cannot hold, each with such a value. Until
    /// [`finish`](Migration::finish), after which there is no way back, a write of such a key fails. It is no fault.
    pub narrower: Vec<(&'static str, Value)>,
    /// Why a scan of all rows in order fails until [`finish`](Migration::finish); `None` if it works. [`rekey`](crate::table::rekey#order) says
    /// which scans have an order. It is no fault.
    pub without_order: Option<String>,
}

impl Findings {
    /// Whether every row can be re-keyed.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.faulty == 0
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cells, bytes, faulty, faults, narrower, without_order } = self;
        let (rows, cells) = (counted(*rows, "row"), counted(*cells, "cell"));
        write!(f, "{rows} with {cells}, about {} MiB; ", bytes / (1024 * 1024))?;
        match faulty {
            0 => f.write_str("all can be re-keyed")?,
            faulty => {
                write!(f, "{} cannot be re-keyed", counted(*faulty, "row"))?;
                list_faults(f, faults)?;
            }
        }
        for (field, value) in narrower {
            write!(
                f,
                "\nuntil it is finished, keys with a `{field}` that the old key cannot hold are refused, such as {value:?}"
            )?;
        }
        match without_order {
            Some(why) => write!(f, "\nuntil it is finished, a scan of all rows has no order: {why}"),
            None => Ok(()),
        }
    }
}

impl Migration {
    /// Reads every row of the old table, and finds those that cannot be re-keyed: whose keys are of another type or have no new
    /// key, and rows above 100,000 cells or 64 MiB.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the table has aggregates; when a request fails. That
    /// rows cannot be re-keyed is no error: see [`Findings::is_ok`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn check(&self) -> Result<Findings, Error> {
        self.pair.keys().check_known()?;
        refuse(&self.client.table_info(self.pair.route(Side::Old)).await?)?;
        let state = self.state().await?;
        let meter = self.meter(state, Activity::Verifying);
        meter.during(Box::pin(self.find_faults(&meter))).await
    }

    async fn find_faults(&self, meter: &Meter) -> Result<Findings, Error> {
        let (old, cells) = (self.pair.table(&self.client, Side::Old), self.cells());
        let keys = |row: &RawRow, out: &mut Vec<u8>| {
            if !has_data(row) {
                return Ok(false);
            }
            out.extend_from_slice(&self.pair.keys().new_of(row.key(), row)?);
            Ok(true)
        };
        let routes = [Side::Old, Side::New].map(|side| self.pair.route(side));
        // Both conversions are inverse to each other, which the keys check.
        let examined = Examined { table: &old, keys: &keys, cells: &cells, routes, compares_keys: false };
        let parts = old.partitions().await?;
        let checked = examined.check(parts, self.parallel, &mut meter.reporter()).await?;
        let Checked { rows, cells, stored_bytes: bytes, faulty, faults, .. } = checked;
        let pairing = self.pair.pairing();
        let narrower = pairing.fields().map(FieldPairs::narrower).unwrap_or_default();
        let all = self.pair.key_types().map(|key_type| Plan::full(key_type.schema()));
        let without_order = pairing.is_turned([&all[0], &all[1]]).err();
        Ok(Findings { rows, cells, bytes, faulty, faults, narrower, without_order })
    }

    /// Compares both tables, while the new one has origins, as [`Table::diff`](crate::Table::diff) does, by the same rule for cells: every
    /// row of the old table was copied, and is equal to its copy or was written since, and the new table has no other rows and none
    /// without an origin. `run` and `roll_back` do so before they end. It keeps the first 100 rows that differ.
    ///
    /// A program that wrote the old table after the re-keying began shows here. In a roll-back, the rows of the new table are looked up in
    /// the old one, which has older rows.
    ///
    /// # Errors
    /// In states in which there is nothing to compare; if the re-keying reaches such a state meanwhile, which
    /// [`is_retryable`](Error::is_retryable); when a request fails. That rows differ is no error: see [`TableDiff::is_equal`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn verify(&self) -> Result<TableDiff, Error> {
        self.pair.keys().check_known()?;
        let state = self.state().await?;
        if !matches!(state, State::Copying | State::Moved | State::RollbackCopying) {
            return Err(Error::definition(
                self.pair.route(Side::New),
                format!("in the state `{state}` there are no copies to compare"),
            ));
        }
        let verified = self.verified(state).await?;
        verified.ok_or_else(|| self.pair.lease().error(None, RekeyingEnd::Changed))
    }

    /// Compares both tables in a state that has copies; `None` if another driver has gone on meanwhile, and the origins may be gone.
    pub(super) async fn verified(&self, state: State) -> Result<Option<TableDiff>, Error> {
        let base = if state == State::RollbackCopying { Side::New } else { Side::Old };
        let counts = |now| now == state || (state, now) == (State::Copying, State::Moved);
        if !counts(self.state().await?) {
            return Ok(None);
        }
        let origins = PairOrigins { pair: &self.pair, client: &self.client, front: base.other() };
        let settings = Comparison {
            parallel: self.parallel,
            first: MAX_KEPT,
            only_newest: false,
            reports_foreign: false,
        };
        let (mapping, meter) = (self.mapping(base), self.meter(state, Activity::Verifying));
        let mut reporter = meter.reporter();
        let compared = Box::pin(compare(&mapping, settings, Some(&origins), &mut reporter));
        let diff = meter.during(compared).await?;
        Ok(counts(self.state().await?).then_some(diff))
    }

    /// Both tables, with the one that nobody writes as the old one.
    fn mapping(&self, base: Side) -> Mapping<'static> {
        let front = base.other();
        let pair = Arc::clone(&self.pair);
        let keys: Arc<dyn NewKeys> = Arc::new(move |row: &RawRow, out: &mut Vec<u8>| {
            if !TablePair::counts_in_base(front, row) {
                return Ok(false);
            }
            let key = match base {
                Side::Old => pair.keys().new_of(row.key(), row)?,
                Side::New => pair.keys().old_of(row.key())?,
            };
            out.extend_from_slice(&key);
            Ok(true)
        });
        let show = |side| -> ShowKey {
            let pair = Arc::clone(&self.pair);
            Arc::new(move |key: &[u8]| pair.keys().show(side, key))
        };
        let [old, new] = [base, front].map(|side| self.pair.table(&self.client, side));
        Mapping { old, new, keys, show_old: show(base), show_new: show(front) }
    }

    /// A copy of a row: its origin, and all its cells in place of those that are there.
    fn cells(&self) -> CellCopy {
        let before: Vec<_> = [Origin::Copied.set()].into_iter().chain(self.pair.deletions()).collect();
        CellCopy::new(before.into(), Default::default(), "")
    }

    /// Copies the rows of the table that nobody writes to the other one.
    pub(super) async fn copy(&self, control: &Control) -> Result<Pass, Error> {
        let base = match control.state {
            State::RollbackCopying => Side::New,
            _ => Side::Old,
        };
        let lease = self.pair.lease();
        let view = lease.acquire(Instant::now() + control.lease(), false).await?;
        if view.change != control.change {
            return Ok(Pass::Superseded);
        }
        let mapping = self.mapping(base);
        let left = self.left(&mapping, control).await?;
        let starts = mapping.new.partition_starts().await?;
        let meter = self.meter(control.state, Activity::Copying);
        let in_flight = self.parallel.saturating_mul(COPIES_IN_FLIGHT).min(Semaphore::MAX_PERMITS);
        let copies = Arc::new(Copies {
            pair: Arc::clone(&self.pair),
            // The pace has to see each failure.
            client: self.client.with(|settings| settings.check_and_mutate_row.max_attempts = 1),
            front: base.other(),
            view,
            pace: Pace::new(in_flight),
            is_superseded: AtomicBool::new(false),
        });
        let (records, mut recorded) = watch::channel(Vec::new());
        let (fence, at, writer) = (control.fence.clone(), left.clone(), Arc::clone(&copies));
        let store = Box::new(move |done: &Done| {
            // The record belongs to the next state then.
            if writer.is_superseded.load(Ordering::Relaxed) {
                return Ok(());
            }
            let record = Versioned::new(PassRecord { fence: fence.clone(), left: at.at(done) });
            // It only has text and numbers, all of which JSON can hold.
            records.send_replace(serde_json::to_vec(&record).unwrap_or_default());
            Ok(())
        });
        let done = left.done();
        let rows = TableRows::new(&mapping, done.windows(), self.parallel, self.cells());
        let tracker = Tracker::new(meter.reporter(), done, None, Every::Time(RECORD_EVERY), Some(store));
        let settings = Settings {
            workers: usize::MAX,
            // Some more wait for a turn, while a batch waits for its last row. Few, since another driver copies them again.
            in_flight: BatchLimits { bytes: MAX_BYTES_IN_FLIGHT, rows: in_flight + in_flight / 4 },
            limits: BATCH,
            // If this driver dies, the next one repeats what is buffered.
            look_ahead: BatchLimits { bytes: 0, rows: usize::MAX },
            // Keys are distinct, since both conversions are inverse to each other, which the keys check.
            ..Settings::default()
        };
        let engine = Engine::new(settings, tracker, starts, Arc::clone(&copies) as Arc<dyn Sink>);
        let copied = async {
            let (mut tracker, error) = engine.run(pin!(rows)).await;
            tracker.reporter.report();
            // Without it, nothing is recorded any more.
            drop(tracker);
            error
        };
        let record = async {
            let mut outcome = Ok(());
            while recorded.changed().await.is_ok() {
                let record = recorded.borrow_and_update().clone();
                // Without the record, another driver copies more again.
                outcome = lease.row().record_pass(record).await;
            }
            outcome
        };
        let (error, recorded) = meter.during(Box::pin(join(copied, record))).await;
        match error {
            None => recorded.map(|()| Pass::Done),
            Some(_) if copies.is_superseded.load(Ordering::Relaxed) => Ok(Pass::Superseded),
            Some(TransferError::Failed(error)) => Err(error),
            Some(error) => Err(Error::definition(
                self.pair.route(base),
                format!("its rows could not be copied: {error:?}"),
            )),
        }
    }

    /// What is left of a table, by the record of this direction: the record of an earlier table of this name is about
    /// other rows.
    async fn left(&self, mapping: &Mapping<'_>, control: &Control) -> Result<PartsLeft, Error> {
        let starts = mapping.old.partition_starts().await?;
        if let Some(value) = self.pair.lease().row().pass().await?
            && let Ok(record) = serde_json::from_slice::<Versioned<PassRecord>>(&value)
            && let Ok(PassRecord { fence, left }) = record.read()
            && fence == control.fence
            && left.fault(mapping).is_none()
        {
            return Ok(left);
        }
        let step = starts.len().div_ceil(MAX_PARTITIONS).max(1);
        Ok(PartsLeft::new(mapping, windows(starts.into_iter().step_by(step).collect())))
    }
}

#[cfg(test)]
mod tests {
    use keyderive_tests::fuzz::{Input, fuzz};
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::table::load::Checkpoint;

    /// What is stored, if it is stored again as it is read.
    fn read<T: Serialize + DeserializeOwned>(json: &[u8]) -> Option<T> {
        let read: T = serde_json::from_slice(json).ok()?;
        let stored = serde_json::to_vec(&read).unwrap();
        let again: T = serde_json::from_slice(&stored).unwrap();
        assert_eq!(serde_json::to_vec(&again).unwrap(), stored);
        Some(read)
    }

    fn check_parts(parts: &PartsLeft) {
        let again = parts.at(&parts.done());
        assert_eq!((again.copied(), again.done().left()), (parts.copied(), parts.done().left()));
    }

    /// Stored progress that somebody has changed is refused, or is the progress of some transfer.
    #[test]
    fn checkpoints() {
        fuzz("checkpoints", |bytes| {
            let mut input = Input::new(bytes);
            match input.below(4) {
                0 => {
                    let Some(checkpoint) = read::<Checkpoint>(input.rest()) else { return };
                    assert_eq!(checkpoint.at(&checkpoint.done()), checkpoint);
                }
                1 => {
                    let Some(stored) = read::<Versioned<PartsLeft>>(input.rest()) else { return };
                    if let Ok(parts) = stored.read() {
                        check_parts(&parts);
                    }
                }
                2 => {
                    let Some(stored) = read::<Versioned<PassRecord>>(input.rest()) else { return };
                    if let Ok(record) = stored.read() {
                        check_parts(&record.left);
                    }
                }
                _ => {
                    let Some(control) = read::<Control>(input.rest()) else { return };
                    assert!(control.change == 0 || control.wait() >= control.lease());
                    assert_eq!(control.next(State::Copying).state, State::Copying);
                }
            }
        });
    }
}
