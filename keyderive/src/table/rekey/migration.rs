//! The driver: what an operator runs to take a pair of tables from one state to the next.
//!
//! Every step can be repeated, and any number of drivers may run: the state changes by a condition on what the control row holds,
//! and what else they do is the same however often it is done.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::control::StoredControl;
use super::examples;
use super::pair::TablePair;
use super::stamps::PairStamps;
use super::state::{Control, DEFAULT_LEASE, Example, MAX_LEASE, MIN_LEASE, Side, State};
use crate::client::{Client, Error, Family, FamilyChange, GcRule, NewTable, TableInfo, TableSchema};
use crate::key::ShownKey;
use crate::table::registered_row_types;
use crate::table::reserved::{ORIGINS, is_reserved};
use crate::table::transfer::{Progress, Reporter, TableDiff, first_row};

/// How often progress is reported, at least.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Pause before the control row is read again after a change whose outcome is not known.
const READ_AGAIN_AFTER: Duration = Duration::from_millis(200);
/// How long a driver waits for a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// How many rows that differ an error names.
const MAX_SHOWN: usize = 10;
/// How many keys of the old table's tablets become splits of the new one, at most.
const MAX_SPLITS: usize = 1000;

/// What a driver is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// It creates the new table, or changes families and stamps.
    Preparing,
    /// It waits until no process acts by the state before.
    Waiting,
    /// It copies rows.
    Copying,
    /// It compares both tables.
    Verifying,
    /// It has nothing left to do.
    Done,
}

/// What a driver is doing, and how far it is. Print it with `{}`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MigrationProgress {
    /// The state of the re-keying.
    pub state: State,
    /// What the driver is doing.
    pub activity: Activity,
    /// How far it is with that.
    pub rows: Progress,
}

impl fmt::Display for MigrationProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, activity, rows } = self;
        write!(f, "{state:<8} ")?;
        match activity {
            Activity::Preparing => f.write_str("preparing"),
            Activity::Waiting => {
                write!(f, "waiting until every process acts by it, {:.1?} so far", rows.elapsed)
            }
            Activity::Done => f.write_str("done"),
            Activity::Copying | Activity::Verifying => write!(f, "{rows}"),
        }
    }
}

/// What is recorded of a re-keying, from [`Migration::status`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// The state.
    pub state: State,
    /// Whether new keys are made of rows: [`Client::rekeyed_by_row`]. There is no way back from `copying` on then.
    pub is_by_row: bool,
    /// Whether [`finish`](Migration::finish) has begun although the state is still `moved`: there is no way back.
    pub is_finishing: bool,
    /// Some keys of the old table, each with the key that the mapping gives it, as the driver recorded them.
    pub examples: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Called with the progress of a driver.
type OnProgress = Arc<dyn Fn(&MigrationProgress) + Send + Sync>;

/// An activity, whose progress is reported.
pub(super) struct Meter {
    on_progress: Option<OnProgress>,
    state: State,
    activity: Activity,
    begun: Instant,
    last: Mutex<Progress>,
}

impl Meter {
    fn new(on_progress: Option<OnProgress>, state: State, activity: Activity) -> Self {
        let (begun, last) = (Instant::now(), Mutex::default());
        let meter = Self { on_progress, state, activity, begun, last };
        meter.report();
        meter
    }

    /// Where the activity counts rows.
    pub(super) fn reporter(&self) -> Reporter<'_> {
        Reporter::new(Some(Box::new(|progress| {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = *progress;
        })))
    }

    fn report(&self) {
        if let Some(on_progress) = &self.on_progress {
            let mut rows = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
            rows.elapsed = self.begun.elapsed();
            on_progress(&MigrationProgress { state: self.state, activity: self.activity, rows });
        }
    }

    /// Runs the activity, and reports while it runs.
    pub(super) async fn during<T>(&self, activity: impl Future<Output = T>) -> T {
        let mut activity = std::pin::pin!(activity);
        loop {
            tokio::select! {
                biased;
                ended = &mut activity => {
                    self.report();
                    return ended;
                }
                () = sleep(REPORT_EVERY) => self.report(),
            }
        }
    }
}

/// How a pass ends.
pub(super) enum Pass {
    Done,
    /// The state has changed: another driver has gone on.
    Superseded,
}

/// Where a driver goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Moved,
    New,
    RolledBack,
}

/// What a driver does next.
enum Step {
    Change(State),
    /// The same, and record what the mapping gives some rows.
    Record(State, Vec<Example>),
    /// Read the state again, which has changed meanwhile.
    ReadAgain,
    Done,
}

/// Moves a table to its new keys, or back: [`Rekeyed::migration`](super::Rekeyed::migration).
///
/// ```no_run
/// # use keyderive::table::rekey::Rekeyed;
/// # use keyderive::RowKey;
/// # #[derive(RowKey, Clone, Debug)] struct Old { user: String, at: u64 }
/// # #[derive(RowKey, Clone, Debug)] #[salt(range = 16, over = "user")] struct New { user: String, at: u64 }
/// # impl From<Old> for New { fn from(Old { user, at }: Old) -> Self { Self { user, at } } }
/// # impl From<&New> for Old { fn from(new: &New) -> Self { Self { user: new.user.clone(), at: new.at } } }
/// # type Event = std::collections::BTreeMap<String, i64>;
/// # async fn sample(events: Rekeyed<Old, New, Event>) -> Result<(), keyderive::Error> {
/// let migration = events.migration().on_progress(|progress| println!("{progress}"));
/// println!("{}", migration.check().await?);
/// migration.run().await?; // to `moved`; the way back is open
/// println!("{}", migration.verify().await?);
/// migration.finish().await?; // to `new`; no way back
/// # Ok(())
/// # }
/// ```
///
/// Each row is copied by a request of its own, `CheckAndMutateRow`, so that no copy replaces a row that was copied or written before.
/// That bounds the copy: in the same time, servers take many more rows of a load, with thousands in a request. Rows of all
/// partitions are copied at the same time and in no order, fewer at a time while the server takes longer for each than it
/// has to. Run it in a process of its own: it uses all threads of its runtime, and other calls there take longer meanwhile.
///
/// Each call continues from where the re-keying is, in any process. If the process dies, call it again; a second one that runs at the
/// same time copies some rows twice, which changes nothing. A driver changes the state only if it still is what the driver knows. So a
/// driver that was suspended, and goes on, does no harm.
#[must_use = "a migration does nothing until one of its calls is awaited"]
pub struct Migration {
    pub(super) pair: Arc<TablePair>,
    pub(super) client: Client,
    pub(super) parallel: usize,
    lease: Duration,
    on_progress: Option<OnProgress>,
}

impl Migration {
    pub(super) fn new(pair: Arc<TablePair>, client: Client) -> Self {
        Self { pair, client, parallel: 8, lease: DEFAULT_LEASE, on_progress: None }
    }

    /// How many partitions of the table are read, copied and compared at a time; the default is 8. 0 counts as 1. Up to 64 times as many
    /// rows are in flight: fewer while the server rejects some, or takes longer for each since they wait for each other.
    pub fn parallel(self, partitions: usize) -> Self {
        Self { parallel: partitions.max(1), ..self }
    }

    /// How long a process may act by a state that it has read; 0.2 to 60 s, by default 4. The first driver of a re-keying records it, and
    /// later ones keep it.
    ///
    /// Writes wait for about a lease and a quarter, and a second or two, once in each direction, but at least 6 s the first time.
    /// A process that is stopped for longer, by a debugger or an overloaded machine, reads the state again before it goes on.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease: lease.clamp(MIN_LEASE, MAX_LEASE), ..self }
    }

    /// Calls `report` when the driver begins something else, and each second.
    pub fn on_progress(self, report: impl Fn(&MigrationProgress) + Send + Sync + 'static) -> Self {
        Self { on_progress: Some(Arc::new(report)), ..self }
    }

    /// The state of the re-keying.
    ///
    /// # Errors
    /// When the control row cannot be read.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn state(&self) -> Result<State, Error> {
        Ok(self.pair.lease().renew().await?.control.state)
    }

    /// The state of the re-keying, and what else is recorded of it.
    ///
    /// # Errors
    /// When the control row cannot be read.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn status(&self) -> Result<MigrationStatus, Error> {
        let control = self.pair.lease().renew().await?.control;
        let is_finishing = control.state == State::Moved && self.stamps().is_finishing().await?;
        let examples = control.examples.into_iter().map(|example| (example.old, example.new)).collect();
        let (state, is_by_row) = (control.state, control.one_way);
        Ok(MigrationStatus { state, is_by_row, is_finishing, examples })
    }

    /// Moves the table to `moved`: creates the new table, has writes go there, copies all rows, and verifies them. Run
    /// [`check`](Self::check) before it. In `moved` and `new` it does nothing.
    ///
    /// The new table gets the families of the old one with their garbage collection rules, a row key schema if the old one has one and the
    /// new key type can have one, and splits at each bucket of the new salt and at the new keys of the old table's tablets.
    ///
    /// # Errors
    /// While the re-keying is rolled back: [`roll_back`](Self::roll_back) must come to its end.
    /// [`is_table_mismatch`](Error::is_table_mismatch) if a table is not as it must be: the old one has aggregates, or the new one has
    /// rows, or was not made by this re-keying. When a row cannot be copied; when the tables differ afterwards; when a request fails for
    /// good. Readers can go on then, and so can writers, unless [`state`](Self::state) is `Paused`, in which writes wait: call it again, or
    /// [`roll_back`](Self::roll_back).
    ///
    /// # Cancel safety
    /// A dropped future stops where it is. Call it again to go on.
    pub async fn run(&self) -> Result<(), Error> {
        self.drive(Goal::Moved).await
    }

    /// Ends the re-keying with the new table: from then on the old table is not read, and there is no way back.
    ///
    /// It drops the origins, so that plain tables of the new key type can be used. Then the old table can be deleted, unless it is the
    /// new one too, under another tag.
    ///
    /// # Errors
    /// If [`run`](Self::run) has not come to its end; when a request fails. From the first change on the way back is closed, also
    /// after an error: call it again.
    ///
    /// # Cancel safety
    /// A dropped future stops where it is. Call it again to go on.
    pub async fn finish(&self) -> Result<(), Error> {
        self.drive(Goal::New).await
    }

    /// Takes everything back to the old table, with all that was written meanwhile.
    ///
    /// It copies and compares the rows that were written since `copying`; of all others the old table has the source. What a program that
    /// knows nothing of the re-keying has written to the old table meanwhile stays, and is not reported: call [`verify`](Self::verify) before,
    /// which names such rows in `moved`.
    ///
    /// Afterwards plain tables of the old key type can be used again. Another attempt needs another new table. In the state `Old` it does
    /// nothing.
    ///
    /// # Errors
    /// Once [`finish`](Self::finish) has begun, and with [`rekeyed_by_row`](Client::rekeyed_by_row) from `copying` on: there is no way
    /// back. Otherwise those of [`run`](Self::run).
    ///
    /// # Cancel safety
    /// A dropped future stops where it is. Call it again to go on.
    pub async fn roll_back(&self) -> Result<(), Error> {
        self.drive(Goal::RolledBack).await
    }

    pub(super) fn meter(&self, state: State, activity: Activity) -> Meter {
        Meter::new(self.on_progress.clone(), state, activity)
    }

    async fn drive(&self, goal: Goal) -> Result<(), Error> {
        let lease = self.pair.lease();
        let mut last: Option<(StoredControl, Instant)> = None;
        loop {
            let stored = self.read_control().await?;
            let since = match &last {
                Some((last, since)) if *last == stored => *since,
                _ => Instant::now(),
            };
            last = Some((stored.clone(), since));
            let control = &stored.control;
            // A step has large futures, and the caller may have filled most of the stack.
            let (next, examples) = match Box::pin(self.step(goal, control, since)).await? {
                Step::Change(next) => (next, None),
                Step::Record(next, examples) => (next, Some(examples)),
                Step::ReadAgain => continue,
                Step::Done => {
                    if matches!(control.state, State::New | State::RolledBack)
                        && let Err(error) = lease.row().release_registry().await
                    {
                        tracing::warn!(%error, "the registry keeps its deletion protection");
                    }
                    self.meter(control.state, Activity::Done);
                    return Ok(());
                }
            };
            self.wait(control, since).await;
            let mut to = control.next(next);
            to.examples = examples.unwrap_or(to.examples);
            if control.change == 0 {
                to.lease_ms = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
            }
            match lease.row().change(&stored, &to).await {
                Ok(true) => tracing::info!(
                    table = &**self.pair.route(Side::Old),
                    from = %control.state,
                    to = %next,
                    "the state of a re-keying has changed"
                ),
                Ok(false) => {}
                Err(error) if error.is_outcome_unknown() || error.is_retryable() => {
                    sleep(READ_AGAIN_AFTER).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the control row and the stamps, and tries again while the server does not answer.
    async fn read_control(&self) -> Result<StoredControl, Error> {
        let (begun, lease) = (Instant::now(), self.pair.lease());
        loop {
            let read = match lease.renew().await {
                Ok(_) => lease.row().read_checked(self.lease.max(DEFAULT_LEASE)).await,
                failed => failed,
            };
            match read {
                Err(error) if error.is_retryable() && begun.elapsed() < PATIENCE => {
                    sleep(READ_AGAIN_AFTER).await;
                }
                read => return read,
            }
        }
    }

    /// Waits until no process acts by the state before this one.
    async fn wait(&self, control: &Control, since: Instant) {
        let until = since + control.wait();
        if until > Instant::now() {
            self.meter(control.state, Activity::Waiting).during(sleep_until(until)).await;
        }
    }

    async fn step(&self, goal: Goal, control: &Control, since: Instant) -> Result<Step, Error> {
        use State::{Copying, Moved, Paused, RollbackCopying, RollbackPaused, RolledBack};
        let copies = match (goal, control.state) {
            (Goal::Moved, State::Old | RolledBack | Paused | Copying) => true,
            // The others have no way back.
            (Goal::RolledBack, Paused | Copying | Moved) => !control.one_way,
            (Goal::RolledBack, RollbackPaused | RollbackCopying) => true,
            _ => false,
        };
        if copies {
            self.pair.keys().check_known()?;
        }
        Ok(match (goal, control.state) {
            (Goal::Moved, State::Old | RolledBack) => {
                let prepared = Box::pin(async {
                    if !self.prepare(control, since).await? {
                        return Ok::<_, Error>(Step::ReadAgain);
                    }
                    // A process with another mapping is refused before this one stores a row.
                    Ok(Step::Record(Paused, self.examples().await?))
                });
                self.meter(control.state, Activity::Preparing).during(prepared).await?
            }
            (Goal::Moved, Paused) => {
                // Another re-keying may have come to its end meanwhile.
                self.client.protect_registry().await?;
                let begun = Box::pin(async {
                    if !self.begin_copying(control, since).await? {
                        return Ok::<_, Error>(Step::ReadAgain);
                    }
                    if !control.examples.is_empty() {
                        return Ok(Step::Change(Copying));
                    }
                    // The table was empty, and nobody writes it from here on.
                    self.wait(control, since).await;
                    Ok(Step::Record(Copying, self.examples().await?))
                });
                self.meter(control.state, Activity::Preparing).during(begun).await?
            }
            (Goal::Moved, Copying) => self.copy_and_verify(control, Moved).await?,
            (Goal::Moved, Moved | State::New) | (Goal::RolledBack, State::Old) => Step::Done,
            (Goal::Moved, RollbackPaused | RollbackCopying) => {
                return Err(
                    self.not_now(control, "it is being rolled back; let `roll_back()` come to its end")
                );
            }
            (Goal::New, Moved) => {
                // The way back stays open while the next steps would fail.
                let info = self.client.table_info(self.pair.route(Side::New)).await?;
                if info.family(ORIGINS).is_none() {
                    return Err(Error::mismatch(
                        info.name(),
                        "it is not the table that the rows were copied to: its rows have no origins; restore that one, or call \
                         `roll_back()`",
                    ));
                }
                // From here on there is no way back.
                match self.stamps().begin_end().await? {
                    true => Step::Change(State::New),
                    false => Step::ReadAgain,
                }
            }
            (Goal::New, State::New) => self.tidy_step(Side::New, control, since).await?,
            (Goal::New, _) => {
                return Err(self.not_now(control, "`run()` must come to its end before `finish()`"));
            }
            (Goal::RolledBack, State::New) => {
                return Err(
                    self.not_now(control, "it has ended, and there is no way back; re-key the new table")
                );
            }
            // Its rows cannot be copied back. Without rows in the new table none was written there, whatever the registry was restored to.
            (Goal::RolledBack, Paused) if control.one_way && self.is_new_empty(control, since).await? => {
                Step::Change(RolledBack)
            }
            (Goal::RolledBack, Paused | Copying | Moved) if control.one_way => {
                return Err(self.not_now(
                    control,
                    "its new keys are made of rows, and such a re-keying has no way back from `copying` on; let `run()` come to \
                     its end",
                ));
            }
            (Goal::RolledBack, Moved) if self.stamps().is_finishing().await? => {
                return Err(
                    self.not_now(control, "`finish()` has begun, and there is no way back; call it again")
                );
            }
            (Goal::RolledBack, Paused) => {
                let begun = self.stamps().begin_direction(control, None);
                match self.meter(control.state, Activity::Preparing).during(begun).await? {
                    true => Step::Change(RollbackPaused),
                    false => Step::ReadAgain,
                }
            }
            (Goal::RolledBack, Copying | Moved) => Step::Change(RollbackPaused),
            (Goal::RolledBack, RollbackPaused) => {
                let origins = origins_family();
                let begun = self.stamps().begin_direction(control, Some(&origins));
                match self.meter(control.state, Activity::Preparing).during(begun).await? {
                    true => Step::Change(RollbackCopying),
                    false => Step::ReadAgain,
                }
            }
            (Goal::RolledBack, RollbackCopying) => match self.copy_and_verify(control, RolledBack).await? {
                Step::Change(_) if !self.stamps().spend_new().await? => Step::ReadAgain,
                step => step,
            },
            (Goal::RolledBack, RolledBack) => self.tidy_step(Side::Old, control, since).await?,
        })
    }

    /// Makes the old table's stamp name this direction, in which nobody writes the old table; returns whether the state is
    /// still this one.
    async fn begin_copying(&self, control: &Control, since: Instant) -> Result<bool, Error> {
        if !self.stamps().begin_direction(control, None).await? {
            return Ok(false);
        }
        // If two begin at the same time, one finds the other.
        self.pair.lease().row().check_alone(false).await?;
        if self.pair.route(Side::Old).table() != self.pair.route(Side::New).table() {
            return Ok(true);
        }
        // A process that still writes by the state before would leave origins in the old rows.
        self.wait(control, since).await;
        let info = self.client.table_info(self.pair.route(Side::Old)).await?;
        if info.family(ORIGINS).is_some() {
            return Ok(true);
        }
        match self.stamps().change(Side::Old, control, FamilyChange::add(origins_family())).await {
            // Another driver has added it.
            Err(error) if error.is_already_exists() => Ok(true),
            added => added,
        }
    }

    /// Whether the new table has no row, and will have none in this state: a process that writes it acts by a later state,
    /// on a lease that ends.
    async fn is_new_empty(&self, control: &Control, since: Instant) -> Result<bool, Error> {
        self.wait(control, since).await;
        Ok(first_row(&self.pair.table(&self.client, Side::New)).await?.is_none())
    }

    /// Copies every row, and goes on to `next` if both tables then are as they must be.
    async fn copy_and_verify(&self, control: &Control, next: State) -> Result<Step, Error> {
        match self.copy(control).await? {
            Pass::Superseded => return Ok(Step::ReadAgain),
            Pass::Done => {}
        }
        let Some(verified) = self.verified(control.state).await? else { return Ok(Step::ReadAgain) };
        if verified.is_equal() {
            return Ok(Step::Change(next));
        }
        // Otherwise the next call would find the same rows missing. If this fails, the next call does, and forgets the pass
        // itself.
        let _ = self.pair.lease().row().forget_pass().await;
        Err(self.unequal(&verified))
    }

    fn not_now(&self, control: &Control, remedy: &str) -> Error {
        Error::definition(
            self.pair.route(Side::Old),
            format!("the re-keying is in the state `{}`: {remedy}", control.state),
        )
    }

    fn unequal(&self, verified: &TableDiff) -> Error {
        Error::mismatch(
            self.pair.route(Side::New),
            format!(
                "it has not every row of the re-keyed table as it must: a program that knows nothing of the re-keying wrote one of \
                 them, or a column family was added after it began: {}",
                verified.without_values(MAX_SHOWN)
            ),
        )
    }

    /// Which keys the mapping here gives some rows of the old table.
    async fn examples(&self) -> Result<Vec<Example>, Error> {
        examples::of_table(&self.pair.table(&self.client, Side::Old), self.pair.keys()).await
    }

    fn stamps(&self) -> &PairStamps {
        self.pair.lease().row().stamps()
    }

    /// Makes the registry and the new table. The old table gets the stamp of the pair once writes wait. Returns whether the state is still
    /// this one.
    async fn prepare(&self, control: &Control, since: Instant) -> Result<bool, Error> {
        let (client, pair) = (&self.client, &self.pair);
        let (old, new) = (pair.route(Side::Old), pair.route(Side::New));
        if pair.lease().row().is_used_up().await? {
            return Err(Error::mismatch(
                old,
                format!("a re-keying to `{}` was rolled back; give the next attempt a new table", &**new),
            ));
        }
        let info = client.table_info(old).await?;
        refuse(&info)?;
        if control.state == State::RolledBack && !self.tidy(Side::Old, control, since).await? {
            return Ok(false);
        }
        client.protect_registry().await?;
        let has_origins = client.table_info(old).await?.family(ORIGINS).is_some();
        pair.lease().row().check_alone(has_origins).await?;
        self.create(&info).await?;
        self.check_empty(control).await?;
        let new_info = client.table_info(pair.route(Side::New)).await?;
        let [of_old, of_new] = [(Side::Old, &info), (Side::New, &new_info)]
            .map(|(side, info)| (client, pair.route(side), pair.key_type(side), info));
        Box::pin(registered_row_types::carry_row_types(of_old, of_new)).await?;
        Ok(true)
    }

    /// Creates the new table, which is stamped with the pair until the re-keying ends.
    async fn create(&self, old: &TableInfo) -> Result<(), Error> {
        let (client, pair) = (&self.client, &self.pair);
        let new = pair.route(Side::New);
        if pair.route(Side::Old).table() == new.table() {
            return self.stamps().begin_new().await;
        }
        let stamp = self.stamps().of_new().first();
        let rows = old.families().iter().filter(|family| !is_reserved(family.name()));
        let families: Vec<_> = rows.cloned().chain([origins_family(), stamp.clone()]).collect();
        let mut splits: Vec<_> =
            pair.key_type(Side::New).schema().bucket_splits().into_iter().map(Into::into).collect();
        let tablets = client.sample_row_keys(pair.route(Side::Old)).await?;
        let step = tablets.len().div_ceil(MAX_SPLITS).max(1);
        // Where keys are made of rows, the first key of a tablet gives no new key.
        if !pair.keys().reads_rows() {
            let keys =
                tablets.iter().filter_map(|(key, _)| pair.keys().new_of(key, &Default::default()).ok());
            splits.extend(keys.step_by(step));
        }
        splits.sort_unstable();
        splits.dedup();
        // With the same granularity, since cells keep their timestamps.
        let granularity = old.granularity();
        // For SQL that reads the old table by columns; key types of some layouts have none.
        let row_key_schema = old.row_key_schema().and_then(|_| {
            let schema = pair.key_type(Side::New).schema().row_key_schema().ok()?;
            Some(TableSchema::from(&schema))
        });
        let table = NewTable { families, splits, row_key_schema, granularity };
        match client.create_table(new, table).await {
            Err(error) if error.is_already_exists() => {}
            created => return created,
        }
        // By another driver, or by this one before it died.
        let info = client.table_info(new).await?;
        let has_families = old.families().iter().filter(|family| !is_reserved(family.name()));
        let is_ours = self.stamps().is_of_this(&info)?
            && info.family(ORIGINS).is_some()
            && info.granularity() == old.granularity()
            && has_families.clone().all(|family| info.family(family.name()).is_some());
        match is_ours {
            true => Ok(()),
            false => Err(Error::mismatch(
                new,
                "it exists, and was not made by this re-keying; name another table, which the re-keying creates",
            )),
        }
    }

    /// Fails if the new table has rows before any was copied: they would count as rows of the old table.
    async fn check_empty(&self, control: &Control) -> Result<(), Error> {
        let (client, new) = (&self.client, self.pair.route(Side::New));
        let Some(row) = first_row(&self.pair.table(client, Side::New)).await? else {
            return Ok(());
        };
        if self.read_control().await?.control != *control {
            // Another driver has gone on, and they are copies.
            return Ok(());
        }
        Err(Error::mismatch(
            new,
            format!(
                "it has rows, such as {}, before the re-keying has copied any; name another table, which the re-keying creates",
                ShownKey(row.key())
            ),
        ))
    }

    /// Drops the origins of a table's rows: copies that are still under way are rejected from then on. Returns whether they are gone.
    async fn drop_origins(&self, side: Side, control: &Control) -> Result<bool, Error> {
        let (client, table) = (&self.client, self.pair.route(side));
        if client.table_info(table).await?.family(ORIGINS).is_none() {
            return Ok(true);
        }
        match self.stamps().change(side, control, FamilyChange::drop(ORIGINS)).await {
            // Another driver has dropped it.
            Err(error) => match client.table_info(table).await?.family(ORIGINS) {
                None => Ok(true),
                Some(_) => Err(error),
            },
            dropped => dropped,
        }
    }

    /// The last step of a direction.
    async fn tidy_step(&self, side: Side, control: &Control, since: Instant) -> Result<Step, Error> {
        let tidied = Box::pin(self.tidy(side, control, since));
        Ok(match self.meter(control.state, Activity::Preparing).during(tidied).await? {
            true => Step::Done,
            false => Step::ReadAgain,
        })
    }

    /// Leaves a table as if it had always been the only one: first without origins, so that no other program meets a row that has
    /// nothing else. Returns whether the state is still this one.
    async fn tidy(&self, side: Side, control: &Control, since: Instant) -> Result<bool, Error> {
        // From here on no process begins to act by an earlier state, whatever the registry is restored to.
        if !self.stamps().close(side, control).await? {
            return Ok(false);
        }
        self.wait(control, since).await;
        if self.read_control().await?.control != *control {
            return Ok(false);
        }
        Ok(self.drop_origins(side, control).await? && self.stamps().end(side, control).await?)
    }
}

/// Fails for a table that cannot be re-keyed.
pub(super) fn refuse(info: &TableInfo) -> Result<(), Error> {
    refuse_aggregates(info)?;
    match info.is_protected() {
        false => Ok(()),
        true => Err(Error::mismatch(
            info.name(),
            "it has deletion protection, and re-keying replaces a column family of it; take the protection off until the re-keying has \
             ended",
        )),
    }
}

/// Fails for a table with families that cannot be re-keyed.
pub(super) fn refuse_aggregates(info: &TableInfo) -> Result<(), Error> {
    match info.families().iter().find(|family| family.aggregates().is_some()) {
        None => Ok(()),
        Some(family) => Err(Error::mismatch(
            info.name(),
            format!(
                "it cannot be re-keyed while programs write it: the column family `{}` has aggregates, and an addition that arrives \
                 late would count in a copy; stop the writers, and copy it with `copy_to`",
                family.name()
            ),
        )),
    }
}

/// The family of the origins: one cell a row, of any age.
fn origins_family() -> Family {
    Family::new(ORIGINS, GcRule::max_versions(1))
}

impl fmt::Debug for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migration")
            .field("pair", &self.pair)
            .field("parallel", &self.parallel)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
