//! The control row, which holds the state of a re-keying, and the leases by which processes act on it.
//!
//! It is in the registry, which a user can delete or restore. So the stamp of the old table names the direction in which rows move, and
//! the end of the way back, by a random *fence* that the control row has too: a process whose row does not fit the stamp acts by neither.
//!
//! A process acts by a state for as long as its lease on it lasts, counted from before it read the row. A driver changes the state
//! only after every lease on the state before can have ended. So no two processes are ever more than one state apart.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::select;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::examples;
use super::keys::PairKeys;
use super::stamps::PairStamps;
use super::state::{Control, DEFAULT_LEASE, Example, PairTables, Side, State, TableLayout, Writes};
use crate::client::{Client, Error, Idempotency, REGISTRY, REGISTRY_FAMILY, ReadRows, RekeyingEnd, Route};
use crate::plan::KeyRange;
use crate::row::{Mutation, RowFilter};
use crate::table::stamp;

/// Part of a lease after which the control row is read again.
const RENEWALS: u32 = 4;
/// How long a process acts by the last state.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// Pause after a read of the control row that failed.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// A fixed time rather than the server's, so that each column of the control row has one cell.
const TIMESTAMP: i64 = 0;
/// The column of the state.
const STATE: &str = "state";
/// The column of the progress of a pass.
const PASS: &str = "pass";

/// How often the control row and the stamps are compared before a contradiction counts: a driver changes one after the other.
const AGREE_ATTEMPTS: usize = 4;

/// The value as it is stored, which the next change is conditional on, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredControl {
    /// None before the first change.
    bytes: Option<Bytes>,
    pub(super) control: Control,
}

impl StoredControl {
    /// The row, if it is about a table that had the old one's name.
    fn of_before(&self) -> Option<&Bytes> {
        self.bytes.as_ref().filter(|_| self.control.change == 0)
    }
}

/// Reads and changes the control row.
#[derive(Clone)]
pub(super) struct ControlRow {
    client: Client,
    registry: Route,
    key: Bytes,
    old: Route,
    new: Route,
    /// The value before the first change.
    initial: Control,
    stamps: PairStamps,
    keys: Arc<dyn PairKeys>,
    /// The examples that the keys were last compared with.
    compared: Arc<Mutex<Vec<Example>>>,
    /// For a driver, whether a missing registry counts as an empty one: the driver compares the stamps at each step.
    may_lack_registry: bool,
}

impl fmt::Debug for ControlRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlRow").field("old", &self.old).field("new", &self.new).finish_non_exhaustive()
    }
}

impl ControlRow {
    pub(super) fn new(
        client: Client,
        tables: &PairTables,
        initial: Control,
        keys: Arc<dyn PairKeys>,
        may_lack_registry: bool,
    ) -> Self {
        let [old, new] = tables.routes.clone();
        let tag = tables.key_type(Side::Old).schema().tag();
        let key = format!("rekey/{}/{}", &*old, tag.unwrap_or_default()).into();
        let stamps = PairStamps::new(client.clone(), tables.clone());
        let (registry, compared) = (client.registry(), Arc::default());
        Self { client, registry, key, old, new, initial, stamps, keys, compared, may_lack_registry }
    }

    pub(super) fn stamps(&self) -> &PairStamps {
        &self.stamps
    }

    /// What the control row holds.
    ///
    /// # Errors
    /// When the read fails, or the row is about another re-keying that has not ended.
    pub(super) async fn read(&self, lease: Duration) -> Result<StoredControl, Error> {
        let client = self.client.with(|settings| {
            let read = &mut settings.read_row;
            // An answer that is lost must not cost the lease.
            read.attempt_timeout = read.attempt_timeout.min(lease / 2);
            read.total_timeout = read.total_timeout.min(lease);
            // Without the state, every other call waits too.
            settings.max_waiting = usize::MAX;
        });
        let bytes = self.column(&client, STATE).await?;
        self.parse(bytes)
    }

    async fn column(&self, client: &Client, qualifier: &str) -> Result<Option<Bytes>, Error> {
        let column = RowFilter::exact_column(REGISTRY_FAMILY, qualifier);
        let filter = RowFilter::chain([column, RowFilter::latest(1)]);
        let row = match client.read_row(&self.registry, self.key.clone(), Some(filter)).await {
            Err(error) if self.may_lack_registry && error.is_not_found() => None,
            row => row?,
        };
        Ok(row.and_then(|row| row.cells().next().map(|cell| Bytes::copy_from_slice(cell.value()))))
    }

    fn parse(&self, bytes: Option<Bytes>) -> Result<StoredControl, Error> {
        let Some(value) = &bytes else {
            return Ok(StoredControl { bytes, control: self.initial.clone() });
        };
        let Ok(control) = serde_json::from_slice::<Control>(value) else {
            return Err(Error::mismatch(
                &self.old,
                "the registry holds a state of its re-keying that this release of keyderive does not know; use the release that \
                 began the re-keying",
            ));
        };
        let own = &self.initial;
        if control.old.id != own.old.id && control.old.table == own.old.table {
            // It is about an earlier table of this name.
            return Ok(StoredControl { bytes, control: own.clone() });
        }
        if (&control.old, &control.new) == (&own.old, &own.new) {
            self.check_mapping(&control)?;
            return Ok(StoredControl { bytes, control });
        }
        // An attempt that was rolled back leaves the table as it was, for another one.
        if control.state == State::RolledBack && control.old == own.old {
            let (new, one_way) = (own.new.clone(), own.one_way);
            let control = Control { new, one_way, examples: Vec::new(), ..control };
            return Ok(StoredControl { bytes, control });
        }
        let shown = |layout: &TableLayout| format!("`{}` (fingerprint {})", layout.table, layout.fingerprint);
        Err(Error::mismatch(
            &self.old,
            format!(
                "it is re-keyed in another way: expected from {} to {}, found from {} to {}, in the state `{}`; use the \
                 release that began the re-keying",
                shown(&own.old),
                shown(&own.new),
                shown(&control.old),
                shown(&control.new),
                control.state,
            ),
        ))
    }

    /// Fails if the keys here differ from the driver's, as far as its record tells. Compares each record once.
    fn check_mapping(&self, control: &Control) -> Result<(), Error> {
        if self.keys.check_known().is_err() {
            return Ok(());
        }
        if control.one_way != self.initial.one_way {
            let (found, own) = match control.one_way {
                true => ("makes new keys of rows", "conversions of keys"),
                false => ("converts keys", "one that makes new keys of rows"),
            };
            return Err(Error::mismatch(
                &self.old,
                format!(
                    "its re-keying to `{}` {found}, and the mapping here is {own}; use the mapping that began the re-keying",
                    &*self.new
                ),
            ));
        }
        let has_compared = || self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        if *has_compared() == control.examples {
            return Ok(());
        }
        examples::check(&control.examples, &*self.keys, [&self.old, &self.new])?;
        has_compared().clone_from(&control.examples);
        Ok(())
    }

    /// Whether an attempt with the same new table was rolled back.
    pub(super) async fn is_used_up(&self) -> Result<bool, Error> {
        let Some(bytes) = self.column(&self.client, STATE).await? else { return Ok(false) };
        let control: Option<Control> = serde_json::from_slice(&bytes).ok();
        let own = &self.initial;
        Ok(control.is_some_and(|control| {
            control.state == State::RolledBack
                && (control.old, control.new) == (own.old.clone(), own.new.clone())
        }))
    }

    /// Replaces the value that a driver has read by the next one; returns whether the row held it.
    ///
    /// Sent again only if it was not applied. After an unknown outcome, read the row.
    pub(super) async fn change(&self, from: &StoredControl, to: &Control) -> Result<bool, Error> {
        // It only has text and numbers, all of which JSON can hold.
        let value = serde_json::to_vec(to).unwrap_or_default();
        let set = vec![Mutation::set(REGISTRY_FAMILY, STATE, TIMESTAMP, value)];
        let column = RowFilter::exact_column(REGISTRY_FAMILY, STATE);
        let (registry, key) = (&self.registry, self.key.clone());
        match &from.bytes {
            Some(bytes) => {
                let holds = RowFilter::chain([column, RowFilter::value_range(&bytes[..]..=&bytes[..])]);
                self.client.check_and_mutate_row(registry, key, Some(holds), set, vec![]).await
            }
            None => {
                let exists =
                    self.client.check_and_mutate_row(registry, key, Some(column), vec![], set).await?;
                Ok(!exists)
            }
        }
    }

    /// Reads the control row and the stamps.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if they contradict each other; those of [`read`](Self::read).
    pub(super) async fn read_checked(&self, lease: Duration) -> Result<StoredControl, Error> {
        let mut stored = self.read(lease).await?;
        for _ in 1..AGREE_ATTEMPTS {
            let contradicted = match self.check(&stored).await {
                Err(error) if error.is_table_mismatch() => error,
                checked => return checked.map(|()| stored),
            };
            let now = self.read(lease).await?;
            if now == stored {
                return Err(contradicted);
            }
            stored = now;
        }
        self.check(&stored).await.map(|()| stored)
    }

    async fn check(&self, stored: &StoredControl) -> Result<(), Error> {
        let before = stored.of_before().and_then(|bytes| serde_json::from_slice::<Control>(bytes).ok());
        let is_empty = |state| matches!(state, State::Old | State::Paused | State::RolledBack);
        if before.is_some_and(|before| before.new == self.initial.new && !is_empty(before.state)) {
            self.stamps.check_new_is_free().await?;
        }
        self.stamps.check(&stored.control).await
    }

    fn went_back(&self, found: State, last: State) -> Error {
        Error::mismatch(
            &self.old,
            format!(
                "the state of its re-keying went back from `{last}` to `{found}`: the table `{REGISTRY}` was deleted or restored, and \
                 nothing is read or written by an older state; restore the newest backup of it, with both tables as they were at that \
                 time"
            ),
        )
    }

    /// Fails while rows of another key type of the old table move, or until its origins are dropped: both would keep origins
    /// in one family, which the end of either drops.
    pub(super) async fn check_alone(&self, has_origins: bool) -> Result<(), Error> {
        let prefix = format!("rekey/{}/", &*self.old);
        let request = ReadRows { ranges: vec![KeyRange::prefix(prefix.as_bytes())], ..ReadRows::default() };
        let mut is_alone = true;
        let rows = self.client.read_rows(&self.registry, request);
        rows.for_each(|row| {
            let state = row.newest(REGISTRY_FAMILY, STATE).filter(|_| row.key() != &self.key[..]);
            let control = state.and_then(|state| serde_json::from_slice::<Control>(state.value()).ok());
            is_alone &= control.is_none_or(|control| {
                let has_ended = matches!(control.state, State::New | State::RolledBack);
                control.old.id != self.initial.old.id || (has_ended && !has_origins)
            });
            Ok(())
        })
        .await?;
        match is_alone {
            true => Ok(()),
            false => Err(Error::mismatch(
                &self.old,
                "another of its key types is being re-keyed; let `finish()` or `roll_back()` of that come to its end first, and take this \
                 one back by `roll_back()` if its writes wait",
            )),
        }
    }

    /// Lets the registry be deleted again, unless a table of the instance is still re-keyed.
    pub(super) async fn release_registry(&self) -> Result<(), Error> {
        let request = ReadRows { ranges: vec![KeyRange::prefix(b"rekey/")], ..ReadRows::default() };
        let rows = self.client.read_rows(&self.registry, request);
        let mut at_work = Vec::new();
        rows.for_each(|row| {
            let state = row.newest(REGISTRY_FAMILY, STATE);
            let control = state.and_then(|state| serde_json::from_slice::<Control>(state.value()).ok());
            let has_ended = |control: &Control| matches!(control.state, State::New | State::RolledBack);
            at_work.extend(Some(control).filter(|control| !control.as_ref().is_some_and(has_ended)));
            Ok(())
        })
        .await?;
        for control in at_work {
            // A re-keying recorded by a later release may be at work.
            let Some(control) = control else { return Ok(()) };
            if !self.is_gone(&control.old).await {
                return Ok(());
            }
        }
        self.client.unprotect_registry().await;
        Ok(())
    }

    /// Whether a re-keyed table was deleted, or made again since.
    async fn is_gone(&self, old: &TableLayout) -> bool {
        match self.client.table_info(&old.table).await {
            Ok(info) => old.id.as_ref().is_some_and(|id| !stamp::table_ids(&info).contains(id)),
            Err(error) => error.is_not_found(),
        }
    }

    /// The progress of a pass, as its driver recorded it.
    pub(super) async fn pass(&self) -> Result<Option<Bytes>, Error> {
        self.column(&self.client, PASS).await
    }

    /// Records the progress of a pass. It replaces what a slower driver recorded: both are true.
    pub(super) async fn record_pass(&self, value: Vec<u8>) -> Result<(), Error> {
        let set = Mutation::set(REGISTRY_FAMILY, PASS, TIMESTAMP, value);
        self.client.mutate_row(&self.registry, self.key.clone(), vec![set]).await
    }

    /// Makes the next pass begin with the first row.
    pub(super) async fn forget_pass(&self) -> Result<(), Error> {
        self.record_pass(Vec::new()).await
    }
}

/// A state, and until when a process may act by it.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) state: State,
    pub(super) change: u64,
    fence: Option<String>,
    /// The row that a table of this name left.
    before: Option<Bytes>,
    until: Instant,
    lease: Duration,
}

impl View {
    /// A client whose requests end, at the server too, before the state can have changed twice.
    pub(super) fn bound_attempts(&self, client: &Client) -> Client {
        if self.state == State::New {
            return client.clone();
        }
        client.with(|settings| {
            let calls = [
                &mut settings.read_row,
                &mut settings.read_rows,
                &mut settings.mutate_row,
                &mut settings.mutate_rows,
                &mut settings.check_and_mutate_row,
                &mut settings.read_modify_write_row,
            ];
            calls.into_iter().for_each(|call| call.attempt_timeout = call.attempt_timeout.min(self.lease));
        })
    }
}

/// What the reads of the control row have given a process.
#[derive(Clone, Debug, Default)]
struct LeaseStatus {
    /// The newest state.
    view: Option<View>,
    /// Why the last read failed.
    error: Option<Error>,
}

/// The lease of a process: the newest state that it has read, which a task renews.
#[derive(Debug)]
pub(super) struct Lease {
    row: ControlRow,
    status: watch::Sender<LeaseStatus>,
}

impl Lease {
    /// Takes the first lease, and renews it until the last handle is dropped.
    pub(super) async fn open(row: ControlRow) -> Result<Arc<Self>, Error> {
        let lease = Arc::new(Self { row, status: watch::Sender::default() });
        lease.renew().await?;
        tokio::spawn(keep(Arc::downgrade(&lease)));
        Ok(lease)
    }

    pub(super) fn row(&self) -> &ControlRow {
        &self.row
    }

    /// Reads the control row, and acts by it from now on.
    pub(super) async fn renew(&self) -> Result<StoredControl, Error> {
        let asked = Instant::now();
        let lease = self.status.borrow().view.as_ref().map_or(self.row.initial.lease(), |view| view.lease);
        let read = self.read(lease).await;
        self.status.send_modify(|status| match &read {
            Ok(stored @ StoredControl { control, .. }) => {
                let (state, change) = (control.state, control.change);
                // An answer that was overtaken by a newer one.
                if status.view.as_ref().is_some_and(|view| view.change > change) {
                    return;
                }
                let fence = control.fence.clone();
                let before = stored.of_before().cloned();
                // After the end the registry may be deleted, and the first driver of another re-keying waits for the default lease.
                let lease = match state {
                    State::RolledBack => control.lease().min(DEFAULT_LEASE),
                    _ => control.lease(),
                };
                // There is no state after it.
                let until = asked + if state == State::New { FOREVER } else { lease };
                let last = status.view.as_ref().filter(|view| view.change == change);
                let until = last.map_or(until, |last| last.until.max(until));
                let view = View { state, change, fence, before, until, lease };
                *status = LeaseStatus { view: Some(view), error: None };
            }
            Err(error) => status.error = Some(error.clone()),
        });
        let view = self.status.borrow().view.clone();
        let change = view.filter(|view| self.holds(view)).map(|view| view.change);
        self.row.client.note_rekeying(&self.row.old, change);
        read
    }

    /// Reads the control row; with the stamps at first, after the lease has ended, when rows move in another direction, and when the row is
    /// about another table of this name: then one of these two tables is gone.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if it has an older state than this process has read.
    async fn read(&self, lease: Duration) -> Result<StoredControl, Error> {
        let last = self.status.borrow().view.clone();
        let Some(last) = last else { return self.row.read_checked(lease).await };
        let mut stored = self.row.read(lease).await?;
        // After the end of the lease, the state may have changed many times, and a restored registry may have the state that
        // this process knows.
        let has_ended = last.until <= Instant::now();
        if has_ended || stored.control.fence != last.fence || stored.of_before() != last.before.as_ref() {
            stored = self.row.read_checked(lease).await?;
        }
        let Control { state, change, .. } = stored.control;
        if change < last.change || (change == last.change && state != last.state) {
            return Err(self.row.went_back(state, last.state));
        }
        Ok(stored)
    }

    /// How long to wait before the next renewal; none if there is none.
    fn pause(&self) -> Option<Duration> {
        let status = self.status.borrow();
        match (&status.view, &status.error) {
            (Some(view), _) if view.state == State::New => None,
            (Some(view), None) => Some(view.lease / RENEWALS),
            _ => Some(RETRY_AFTER),
        }
    }

    /// A state to act by; for a write, one in which writes do not wait.
    ///
    /// # Errors
    /// If there is none before the deadline.
    pub(super) async fn acquire(&self, deadline: Instant, is_write: bool) -> Result<View, Error> {
        let mut changes = self.status.subscribe();
        loop {
            let waits = {
                let status = changes.borrow_and_update();
                if let Some(error) = status.error.as_ref().filter(|error| error.is_table_mismatch()) {
                    return Err(error.clone());
                }
                let now = Instant::now();
                match status.view.as_ref().filter(|view| view.until > now) {
                    Some(view) if is_write && view.state.writes() == Writes::Wait => true,
                    Some(view) => return Ok(view.clone()),
                    None => false,
                }
            };
            if timeout_at(deadline, changes.changed()).await.is_err() {
                let (end, cause) = match waits {
                    true => (RekeyingEnd::Waited, None),
                    false => (RekeyingEnd::NoLease, self.status.borrow().error.clone()),
                };
                return Err(Error::rekeying(self.row.old.table(), None, end, cause));
            }
        }
    }

    /// Whether the new table is the only one, for good.
    pub(super) fn is_over(&self) -> bool {
        self.status.borrow().view.as_ref().is_some_and(|view| view.state == State::New)
    }

    /// Whether what was done by this state counts now.
    pub(super) fn holds(&self, view: &View) -> bool {
        Instant::now() < self.end_of(view)
    }

    /// Whether this state is the newest that the process knows, and counts.
    pub(super) fn is_newest(&self, view: &View) -> bool {
        let newest = self.status.borrow().view.as_ref().map(|newest| newest.change);
        newest == Some(view.change) && self.holds(view)
    }

    /// Until when this state counts: its lease may have been renewed.
    fn end_of(&self, view: &View) -> Instant {
        let status = self.status.borrow();
        match &status.view {
            Some(newest) if newest.change == view.change => newest.until.max(view.until),
            _ => view.until,
        }
    }

    /// Waits until the process may no longer act by this state.
    pub(super) async fn ended(&self, view: &View) {
        loop {
            let end = self.end_of(view);
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }

    /// Waits until this state is not the newest that the process knows, or does not count.
    pub(super) async fn superseded(&self, view: &View) {
        let mut changes = self.status.subscribe();
        loop {
            changes.borrow_and_update();
            if !self.is_newest(view) {
                return;
            }
            select! {
                biased;
                // The sender is this lease.
                _ = changes.changed() => {}
                () = sleep_until(self.end_of(view)) => {}
            }
        }
    }

    pub(super) fn error(&self, key: Option<&Bytes>, end: RekeyingEnd) -> Error {
        Error::rekeying(self.row.old.table(), key, end, None)
    }
}

/// Renews a lease for as long as somebody holds it.
async fn keep(lease: Weak<Lease>) {
    loop {
        let Some(pause) = lease.upgrade().and_then(|lease| lease.pause()) else { return };
        sleep(pause).await;
        let Some(lease) = lease.upgrade() else { return };
        // `acquire` returns the failure.
        let _ = lease.renew().await;
    }
}

/// Whether a write of these mutations may be repeated after it may have been applied.
pub(super) fn is_idempotent(idempotency: Idempotency) -> bool {
    idempotency == Idempotency::Idempotent
}
