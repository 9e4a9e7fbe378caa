//! A client that reads and writes single rows, and scans, of a table or of a pair of tables that is re-keyed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use keyderive::client::{Hedging, Settings};
use keyderive::table::rekey::Pair;
use keyderive::table::{Direct, Writes};
use keyderive::{Error, Row, RowKey, Scan, Table};
use keyderive_tests::linearizable::{Op, Outcome, Row as RowState};
use tokio::time::{sleep, timeout};
use tonic::Code;

use crate::history::{Begun, History};

/// Few, so that the clients collide.
pub(crate) const ROWS: u64 = 5;

/// Increments of a row by one client.
const INCREMENTS: u8 = 15;

const USERS: [&str; 2] = ["alice", "bob"];

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 2, over = "user")]
pub(crate) struct Old {
    user: String,
    at: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user,at")]
pub(crate) struct New {
    user: String,
    at: u64,
}

impl From<Old> for New {
    fn from(Old { user, at }: Old) -> Self {
        Self { user, at }
    }
}

impl From<&New> for Old {
    fn from(New { user, at }: &New) -> Self {
        Self { user: user.clone(), at: *at }
    }
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Event {
    val: Option<u64>,
    #[row(family = "n")]
    note: Option<u64>,
    #[row(counter, family = "v")]
    views: i64,
    #[row(family)]
    daily: BTreeMap<String, i64>,
}

fn user(at: u64) -> &'static str {
    USERS[usize::try_from(at % 2).unwrap()]
}

fn key(at: u64) -> New {
    New { user: user(at).into(), at }
}

/// The number of a row, the last field of its key in either table.
pub(crate) fn number(key: &[u8]) -> Option<u64> {
    std::str::from_utf8(key).ok()?.rsplit('#').next()?.parse().ok()
}

impl Event {
    /// The whole row of a write.
    fn of(id: u32) -> Self {
        let daily = BTreeMap::from([("d".to_owned(), i64::from(id))]);
        Self { val: Some(u64::from(id)), note: Some(u64::from(id)), daily, ..Self::default() }
    }

    /// What the row is; fails for a mix of two writes.
    fn state(&self) -> RowState {
        let number = |value: Option<u64>| u32::try_from(value.unwrap_or(0)).unwrap();
        let whole = self.daily.values().next().map_or(0, |id| u32::try_from(*id).unwrap());
        assert!(self.val == self.note && self.daily.len() < 2, "a mix of several writes: {self:?}");
        RowState { whole, val: number(self.val), incs: u64::try_from(self.views).unwrap() }
    }
}

/// The row at first.
pub(crate) fn first(at: u64) -> RowState {
    if at < ROWS / 2 { RowState::of(1) } else { RowState::NONE }
}

/// The rows at first.
pub(crate) fn first_rows() -> Vec<(New, Event)> {
    (0..ROWS / 2).map(|at| (key(at), Event::of(1))).collect()
}

/// Calls that time out soon, so that some fail while their requests are in flight.
pub(crate) fn hasty(settings: &mut Settings) {
    let seconds = Duration::from_secs;
    for call in [
        &mut settings.mutate_row,
        &mut settings.mutate_rows,
        &mut settings.check_and_mutate_row,
        &mut settings.read_modify_write_row,
        &mut settings.read_row,
    ] {
        call.attempt_timeout = Duration::from_millis(600);
        call.total_timeout = seconds(6);
        call.max_attempts = 4;
        call.backoff.initial = Duration::from_millis(5);
    }
    settings.read_rows.idle_timeout = seconds(3);
    settings.read_rows.attempt_timeout = seconds(20);
    settings.read_rows.total_timeout = seconds(40);
    settings.admin.attempt_timeout = seconds(3);
    settings.admin.total_timeout = seconds(20);
    settings.retry_budget = false;
}

/// As [`hasty`], and reads that take long are sent twice.
pub(crate) fn hedged(settings: &mut Settings) {
    hasty(settings);
    settings.hedging = Hedging::After(Duration::from_millis(100));
}

/// Fails for a failure that does not pass, unless the network or the disk made it.
pub(crate) fn passes(error: &Error) {
    let is_injected = |code| error.grpc_code() == Some(i32::from(code));
    let passes = is_injected(Code::Internal)
        || is_injected(Code::ResourceExhausted)
        || error.is_retryable()
        || error.is_outcome_unknown()
        || error.is_deadline_exceeded()
        || error.is_unavailable()
        || error.is_overloaded();
    assert!(passes, "{error}");
}

/// Where the rows are.
pub(crate) trait Scanned: Writes + Sized {
    /// A scan of all rows, or of those of a user.
    fn scan(table: &Table<New, Event, Self>, user: Option<&'static str>) -> Scan<New, Event, Self>;
}

impl Scanned for Direct {
    fn scan(table: &Table<New, Event, Self>, user: Option<&'static str>) -> Scan<New, Event, Self> {
        match user {
            None => table.scan(New::scan()),
            Some(user) => table.scan(New::scan().user(user)),
        }
    }
}

impl Scanned for Pair<Old> {
    fn scan(table: &Table<New, Event, Self>, user: Option<&'static str>) -> Scan<New, Event, Self> {
        match user {
            None => table.scan(New::scan(), Old::scan()),
            Some(user) => table.scan(New::scan().user(user), Old::scan().user(user)),
        }
    }
}

/// One of the clients.
pub(crate) struct Points<S> {
    client: usize,
    rng: Rng,
    history: Arc<History>,
    events: Table<New, Event, S>,
    next: u32,
    increments: [u8; ROWS as usize],
}

impl<S: Scanned> Points<S> {
    pub(crate) fn new(client: usize, rng: Rng, history: Arc<History>, events: Table<New, Event, S>) -> Self {
        Self { client, rng, history, events, next: 0, increments: [0; ROWS as usize] }
    }

    /// Makes so many calls.
    pub(crate) async fn run(mut self, calls: u32, most_pause: Duration) {
        for _ in 0..calls {
            let at = self.rng.u64(..ROWS);
            match self.rng.u8(..24) {
                0..4 => self.put(at).await,
                4..7 => self.set(at).await,
                7..10 => self.increment(at).await,
                10..12 => self.delete(at).await,
                12..14 => self.claim(at).await,
                14 => self.swap(at).await,
                15 => self.put_all().await,
                16..19 => drop(self.get(at).await),
                19 => self.exists(at).await,
                20 => self.get_many().await,
                _ => self.scan().await,
            }
            let pause = most_pause.mul_f64(self.rng.f64());
            sleep(pause).await;
        }
    }

    /// Reads every row once more, alone.
    pub(crate) async fn read_all(mut self) {
        for at in 0..ROWS {
            assert!(self.get(at).await.is_some(), "row {at} cannot be read");
        }
        self.scan().await;
    }

    /// Some calls are dropped.
    async fn patient<T>(&mut self, call: impl Future<Output = Result<T, Error>>) -> Option<Result<T, Error>> {
        match self.rng.u8(..12) {
            0 => {
                let patience = Duration::from_millis(self.rng.u64(..400));
                timeout(patience, call).await.ok()
            }
            _ => Some(call.await),
        }
    }

    fn begin(&self, at: u64, op: Op) -> Begun {
        self.history.begin(self.client, at, op)
    }

    /// Records the end of a write.
    fn wrote(&self, begun: Begun, ended: Option<Result<Outcome, Error>>) {
        match ended {
            None => self.history.end(begun, Outcome::Unknown),
            Some(Ok(outcome)) => self.history.end(begun, outcome),
            Some(Err(error)) => {
                passes(&error);
                match error.is_outcome_unknown() {
                    true => self.history.end(begun, Outcome::Unknown),
                    false => self.history.void(begun),
                }
            }
        }
    }

    /// A number that no other write has.
    fn id(&mut self) -> u32 {
        self.next += 1;
        u32::try_from(self.client).unwrap() * 1000 + self.next
    }

    async fn put(&mut self, at: u64) {
        let (id, events) = (self.id(), self.events.clone());
        let begun = self.begin(at, Op::Put(id));
        let (key, event) = (key(at), Event::of(id));
        let put = self.patient(events.put(&key, &event)).await;
        self.wrote(begun, put.map(|put| put.map(|()| Outcome::Done)));
    }

    async fn set(&mut self, at: u64) {
        let (id, events) = (self.id(), self.events.clone());
        let begun = self.begin(at, Op::Set(id));
        let value = u64::from(id);
        let set = events.update(&key(at)).set(Event::VAL, value).set(Event::NOTE, value);
        let set = self.patient(set.into_future()).await;
        self.wrote(begun, set.map(|set| set.map(|_| Outcome::Done)));
    }

    async fn increment(&mut self, at: u64) {
        let made = &mut self.increments[usize::try_from(at).unwrap()];
        if *made == INCREMENTS {
            return self.set(at).await;
        }
        let bit = u8::try_from(self.client).unwrap() * INCREMENTS + *made;
        *made += 1;
        let (key, events) = (key(at), self.events.clone());
        let begun = self.begin(at, Op::Increment(bit));
        let counted = self.patient(events.increment(&key, Event::VIEWS, 1 << bit)).await;
        let outcome = |counted| Outcome::Counted(u64::try_from(counted).unwrap());
        self.wrote(begun, counted.map(|counted| counted.map(outcome)));
    }

    async fn delete(&mut self, at: u64) {
        let (key, events) = (key(at), self.events.clone());
        let begun = self.begin(at, Op::Delete);
        let deleted = self.patient(events.delete(&key)).await;
        self.wrote(begun, deleted.map(|deleted| deleted.map(|()| Outcome::Done)));
    }

    async fn claim(&mut self, at: u64) {
        let (id, events) = (self.id(), self.events.clone());
        let begun = self.begin(at, Op::Claim(id));
        let (key, event) = (key(at), Event::of(id));
        let claimed = self.patient(events.put_if_absent(&key, &event)).await;
        self.wrote(begun, claimed.map(|claimed| claimed.map(Outcome::Is)));
    }

    async fn swap(&mut self, at: u64) {
        let Some(found) = self.get(at).await.filter(|found| found.val != 0) else { return };
        let (from, to, events) = (found.val, self.id(), self.events.clone());
        let begun = self.begin(at, Op::Swap { from, to });
        let value = u64::from(to);
        let update = events.update(&key(at)).set(Event::VAL, value).set(Event::NOTE, value);
        let swapped = self.patient(update.only_if(Event::VAL.equals(u64::from(from)))).await;
        self.wrote(begun, swapped.map(|swapped| swapped.map(Outcome::Is)));
    }

    async fn put_all(&mut self) {
        let ats: BTreeSet<u64> = (0..self.rng.usize(2..5)).map(|_| self.rng.u64(..ROWS)).collect();
        let (mut rows, mut begun) = (Vec::new(), Vec::new());
        for at in ats {
            let id = self.id();
            begun.push(self.begin(at, Op::Put(id)));
            rows.push((key(at), Event::of(id)));
        }
        let events = self.events.clone();
        let put = self.patient(events.put_all(&rows)).await;
        if let Some(Err(error)) = &put {
            passes(error);
        }
        // The rows before the first failure may be written.
        let outcome = if matches!(put, Some(Ok(()))) { Outcome::Done } else { Outcome::Unknown };
        begun.into_iter().for_each(|begun| self.history.end(begun, outcome));
    }

    fn found(&self, begun: Begun, event: Option<&Event>) -> RowState {
        let state = event.map_or(RowState::NONE, Event::state);
        self.history.end(begun, Outcome::Found(state));
        state
    }

    fn unread(&self, begun: Begun, error: &Error) {
        passes(error);
        self.history.void(begun);
    }

    async fn get(&mut self, at: u64) -> Option<RowState> {
        let begun = self.begin(at, Op::Read);
        match self.events.get(&key(at)).await {
            Ok(event) => Some(self.found(begun, event.as_ref())),
            Err(error) => {
                self.unread(begun, &error);
                None
            }
        }
    }

    async fn exists(&mut self, at: u64) {
        let begun = self.begin(at, Op::Exists);
        match self.events.exists(&key(at)).await {
            Ok(exists) => self.history.end(begun, Outcome::Is(exists)),
            Err(error) => self.unread(begun, &error),
        }
    }

    async fn get_many(&mut self) {
        let begun: Vec<_> = (0..ROWS).map(|at| self.begin(at, Op::Read)).collect();
        match self.events.get_many((0..ROWS).map(key)).await {
            Ok(rows) => {
                for (begun, event) in begun.into_iter().zip(rows) {
                    self.found(begun, event.as_ref());
                }
            }
            Err(error) => begun.into_iter().for_each(|begun| self.unread(begun, &error)),
        }
    }

    /// A scan is a read of each row.
    async fn scan(&mut self) {
        let user_of_scan = self.rng.bool().then(|| self.rng.choice(USERS).unwrap());
        let (is_reversed, is_ordered, is_dropped) =
            (self.rng.bool(), self.rng.u8(..3) > 0, self.rng.u8(..8) == 0);
        let ats = (0..ROWS).filter(|at| user_of_scan.is_none_or(|name| user(*at) == name));
        let mut begun: BTreeMap<u64, Begun> = ats.map(|at| (at, self.begin(at, Op::Read))).collect();
        let scan = S::scan(&self.events, user_of_scan);
        let scan = if is_reversed { scan.reversed() } else { scan };
        let scan = if is_ordered { scan } else { scan.unordered() };
        let (mut rows, mut last) = (scan.stream(), None::<New>);
        let ended = loop {
            let (key, event) = match rows.next().await {
                None => break Ok(()),
                Some(Ok(row)) => row,
                Some(Err(error)) => break Err(error),
            };
            let Some(begun) = begun.remove(&key.at) else {
                panic!("a scan returned {key:?} twice, or of another user")
            };
            self.found(begun, Some(&event));
            let follows =
                last.as_ref().is_none_or(|last| if is_reversed { *last > key } else { *last < key });
            assert!(follows || !is_ordered, "a scan returned {key:?} after {last:?}");
            last = Some(key);
            if is_dropped {
                break Ok(());
            }
        };
        for begun in begun.into_values() {
            match &ended {
                Ok(()) if !is_dropped || last.is_none() => drop(self.found(begun, None)),
                Ok(()) => self.history.void(begun),
                Err(error) => self.unread(begun, error),
            }
        }
    }
}
