//! A process of a run: a writer, a reader, a scanner or a driver, until it is killed or the run ends.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use keyderive::client::Settings;
use keyderive::row::{Timestamped, Versions};
use keyderive::{Client, Error, Row, RowKey};
use keyderive_tests::linearizable::{Op, Outcome, Row as RowState};
use tokio::time::sleep;

use super::history::{History, INITIAL, Journal, initial};

/// How many rows get most of the operations. A run over many rows takes longer, and a history of too many operations on one row
/// cannot be decided.
fn hot(rows: u64) -> u64 {
    6 * rows.div_ceil(50_000)
}
/// As many rows beside those at first are written, one in so many.
pub(super) const NEW_ROWS: u64 = 10;

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user")]
pub(super) struct Old {
    user: String,
    at: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 16, over = "user,at")]
pub(super) struct New {
    user: String,
    pub(super) at: u64,
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

/// One column in each family: Google's emulator can tear a row of families of several columns that is read beside a write.
#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    val: Option<u64>,
    #[row(family = "n")]
    note: Option<u64>,
    #[row(counter, family = "v")]
    views: i64,
    #[row(family)]
    daily: BTreeMap<String, i64>,
    #[row(family = "h")]
    history: Versions<String>,
}

pub(super) type Events = keyderive::table::rekey::Rekeyed<Old, New, Event>;

const USERS: [&str; 3] = ["alice", "bob", "carol"];

fn user(at: u64) -> usize {
    usize::try_from(at % 3).unwrap()
}

pub(super) fn key(at: u64) -> New {
    New { user: USERS[user(at)].into(), at }
}

/// The number of a row, the last field of its key in either table.
pub(super) fn number(key: &[u8]) -> Option<u64> {
    std::str::from_utf8(key).ok()?.rsplit('#').next()?.parse().ok()
}

/// The rows of a user from `first` up to, without, `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) user: usize,
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Part {
    /// Of at most so many rows of all users.
    const LONGEST: u64 = 6_000;

    /// Half of them contain the rows that get most of the operations.
    fn random(rows: u64, rng: &mut Rng) -> Self {
        let first = if rng.bool() { 0 } else { rng.u64(..rows) };
        Self { user: rng.usize(..USERS.len()), first, end: first + rng.u64(1..=Self::LONGEST) }
    }

    pub(super) fn contains(self, at: u64) -> bool {
        user(at) == self.user && (self.first..self.end).contains(&at)
    }
}

impl Event {
    /// The whole row of a write.
    fn of(id: u32) -> Self {
        let daily = BTreeMap::from([("d".to_owned(), i64::from(id))]);
        Self { val: Some(u64::from(id)), note: Some(u64::from(id)), daily, ..Self::default() }
    }

    /// A row at first; some have versions of several times.
    pub(super) fn initial(at: u64) -> Self {
        let version =
            |time: i64| Timestamped { value: format!("{at} at {time}"), timestamp_micros: time * 1000 };
        let history = match at % 5 {
            0 => Versions::from([version(20), version(7)]),
            _ => Versions::new(),
        };
        Self { history, ..Self::of(INITIAL) }
    }

    /// What the row is; an error for a mix of two writes.
    pub(super) fn state(&self, at: u64) -> Result<RowState, String> {
        let number = |value: Option<u64>| value.map_or(Some(0), |value| u32::try_from(value).ok());
        let whole = match self.daily.iter().next() {
            None => Some(0),
            Some((_, id)) => u32::try_from(*id).ok(),
        };
        let state = match (whole, number(self.val), u64::try_from(self.views)) {
            (Some(whole), Some(val), Ok(incs)) => Some(RowState { whole, val, incs }),
            _ => None,
        };
        let history = match whole {
            Some(INITIAL) => Self::initial(at).history,
            _ => Versions::new(),
        };
        state
            .filter(|_| self.val == self.note && self.history == history && self.daily.len() < 2)
            .ok_or_else(|| format!("the row {at} is a mix of several writes: {self:?}"))
    }
}

fn state_of(event: Option<&Event>, at: u64) -> Result<RowState, String> {
    event.map_or(Ok(RowState::NONE), |event| event.state(at))
}

/// What a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    Reader,
    Scanner,
    Driver,
}

/// What each process is, by its slot.
pub(super) const ROLES: [Role; 10] = [
    Role::Writer,
    Role::Writer,
    Role::Writer,
    Role::Writer,
    Role::Reader,
    Role::Reader,
    Role::Scanner,
    Role::Scanner,
    Role::Driver,
    Role::Driver,
];

/// Where a driver goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Moved,
    New,
    RolledBack,
}

impl Goal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::New => "new",
            Self::RolledBack => "rolled_back",
        }
    }
}

/// What a process receives from its parent, in variables of the environment.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    pub(super) folder: PathBuf,
    /// Its proxy.
    pub(super) host: String,
    pub(super) slot: usize,
    pub(super) incarnation: u64,
    pub(super) seed: u64,
    pub(super) rows: u64,
    pub(super) goal: Goal,
}

const PREFIX: &str = "KEYDERIVE_REKEYING_CHILD_";

impl Orders {
    pub(super) fn variables(&self) -> [(String, String); 7] {
        let Self { folder, host, slot, incarnation, seed, rows, goal } = self;
        [
            ("FOLDER", folder.display().to_string()),
            ("HOST", host.clone()),
            ("SLOT", slot.to_string()),
            ("INCARNATION", incarnation.to_string()),
            ("SEED", seed.to_string()),
            ("ROWS", rows.to_string()),
            ("GOAL", goal.name().to_owned()),
        ]
        .map(|(name, value)| (format!("{PREFIX}{name}"), value))
    }

    /// Those of this process, if it is a child.
    fn received() -> Option<Self> {
        let text = |name: &str| std::env::var(format!("{PREFIX}{name}"));
        let number = |name: &str| text(name).unwrap().parse().unwrap();
        Some(Self {
            folder: text("FOLDER").ok()?.into(),
            host: text("HOST").unwrap(),
            slot: usize::try_from(number("SLOT")).unwrap(),
            incarnation: number("INCARNATION"),
            seed: number("SEED"),
            rows: number("ROWS"),
            goal: match text("GOAL").unwrap().as_str() {
                "rolled_back" => Goal::RolledBack,
                "new" => Goal::New,
                _ => Goal::Moved,
            },
        })
    }

    pub(super) fn journal(&self) -> PathBuf {
        journal(&self.folder, self.slot)
    }

    fn is_over(&self) -> bool {
        self.folder.join("stop").exists()
    }
}

pub(super) fn journal(folder: &std::path::Path, slot: usize) -> PathBuf {
    folder.join(format!("{slot}.journal"))
}

/// The file by which a driver reports that it has reached its goal.
pub(super) fn arrived(folder: &std::path::Path, goal: Goal) -> PathBuf {
    folder.join(format!("arrived-{}", goal.name()))
}

/// Runs in a child.
#[tokio::test]
async fn runs_until_it_is_killed() {
    let Some(orders) = Orders::received() else { return };
    let mut journal = Journal::open(&orders.journal(), orders.incarnation);
    let events = loop {
        if orders.is_over() {
            return;
        }
        match open(&orders).await {
            Ok(events) => break events,
            Err(error) => failed(&mut journal, &error),
        }
        sleep(Duration::from_millis(50)).await;
    };
    let rng = Rng::with_seed(orders.seed ^ (orders.slot as u64) << 8 ^ orders.incarnation << 16);
    match ROLES[orders.slot] {
        Role::Writer => Writer::new(orders, events, journal, rng).run().await,
        Role::Reader => read(&orders, &events, &mut journal, rng).await,
        Role::Scanner => scan(&orders, &events, &mut journal, rng).await,
        Role::Driver => drive(&orders, &events, &mut journal).await,
    }
}

async fn open(orders: &Orders) -> Result<Events, Error> {
    let slot = orders.slot;
    let client =
        Client::builder().settings(move |settings| hasty(settings, slot)).emulator(&orders.host).await?;
    client.rekeyed("events", "events-16").await
}

/// Calls that time out soon, so that some fail while their requests are in flight. Half of the writers do not wait for the next
/// state.
fn hasty(settings: &mut Settings, slot: usize) {
    let seconds = Duration::from_secs;
    let total = if slot.is_multiple_of(2) { seconds(20) } else { seconds(2) };
    for call in [
        &mut settings.mutate_row,
        &mut settings.mutate_rows,
        &mut settings.check_and_mutate_row,
        &mut settings.read_modify_write_row,
        &mut settings.read_row,
    ] {
        call.attempt_timeout = Duration::from_millis(300);
        call.total_timeout = total;
        call.max_attempts = 3;
        call.backoff.initial = Duration::from_millis(2);
    }
    if ROLES[slot] == Role::Driver {
        settings.check_and_mutate_row.attempt_timeout = seconds(2);
    }
    settings.read_rows.idle_timeout = seconds(3);
    settings.read_rows.attempt_timeout = seconds(60);
    settings.read_rows.total_timeout = seconds(60);
    settings.admin.attempt_timeout = seconds(3);
    settings.admin.total_timeout = seconds(10);
}

/// A failure must be one that passes.
fn failed(journal: &mut Journal, error: &Error) {
    if error.is_retryable()
        || error.is_outcome_unknown()
        || error.is_deadline_exceeded()
        || error.is_unavailable()
    {
        journal.note(error.redacted().to_string().chars().take(100).collect::<String>());
    } else {
        journal.fault(error);
    }
}

struct Writer {
    orders: Orders,
    events: Events,
    journal: Journal,
    rng: Rng,
    next: u32,
    /// How many increments of each row this slot has begun: each is a bit of its own.
    increments: HashMap<u64, u8>,
}

/// Increments of a row by one writer.
const INCREMENTS: u8 = 15;

impl Writer {
    fn new(orders: Orders, events: Events, journal: Journal, rng: Rng) -> Self {
        let mut history = History::default();
        history.add(orders.slot, &orders.journal());
        Self { orders, events, journal, rng, next: 0, increments: history.increments }
    }

    /// A number that no other write has.
    fn id(&mut self) -> u32 {
        self.next += 1;
        let incarnation = u32::try_from(self.orders.incarnation).unwrap();
        1 << 31 | u32::try_from(self.orders.slot).unwrap() << 28 | incarnation << 20 | self.next
    }

    fn key(&mut self) -> u64 {
        match self.rng.u8(..10) {
            0..7 => self.rng.u64(..hot(self.orders.rows)),
            // Rows that are there at first, and rows that are not.
            _ => {
                let at = self.rng.u64(..self.orders.rows / NEW_ROWS);
                if self.rng.bool() { hot(self.orders.rows) + at * 5 } else { self.orders.rows + at }
            }
        }
    }

    async fn run(mut self) {
        while !self.orders.is_over() {
            let at = self.key();
            match self.rng.u8(..20) {
                0..5 => self.put(at).await,
                5..8 => self.set(at).await,
                8..12 => self.increment(at).await,
                12..15 => self.delete(at).await,
                15..17 => self.claim(at).await,
                17 => self.swap(at).await,
                _ => self.put_all().await,
            }
            sleep(Duration::from_micros(self.rng.u64(..6_000))).await;
        }
    }

    /// Records the end of a write.
    fn ended(&mut self, n: u64, ended: Result<Outcome, Error>) {
        match ended {
            Ok(outcome) => self.journal.end(n, outcome),
            Err(error) => {
                // What the error says counts.
                if error.is_outcome_unknown() {
                    self.journal.end(n, Outcome::Unknown);
                } else {
                    self.journal.void(n);
                }
                failed(&mut self.journal, &error);
            }
        }
    }

    async fn put(&mut self, at: u64) {
        let id = self.id();
        let n = self.journal.begin(Op::Put(id), at);
        let put = self.events.put(&key(at), &Event::of(id)).await;
        self.ended(n, put.map(|()| Outcome::Done));
    }

    async fn set(&mut self, at: u64) {
        let id = self.id();
        let n = self.journal.begin(Op::Set(id), at);
        let value = u64::from(id);
        let set = self.events.update(&key(at)).set(Event::VAL, value).set(Event::NOTE, value).await;
        self.ended(n, set.map(|_| Outcome::Done));
    }

    async fn increment(&mut self, at: u64) {
        let begun = self.increments.entry(at).or_default();
        if *begun == INCREMENTS {
            return self.set(at).await;
        }
        let bit = u8::try_from(self.orders.slot).unwrap() * INCREMENTS + *begun;
        *begun += 1;
        let n = self.journal.begin(Op::Increment(bit), at);
        let counted = self.events.increment(&key(at), Event::VIEWS, 1 << bit).await;
        self.ended(n, counted.map(|counted| Outcome::Counted(u64::try_from(counted).unwrap_or(u64::MAX))));
    }

    async fn delete(&mut self, at: u64) {
        let n = self.journal.begin(Op::Delete, at);
        let deleted = self.events.delete(&key(at)).await;
        self.ended(n, deleted.map(|()| Outcome::Done));
    }

    async fn claim(&mut self, at: u64) {
        let id = self.id();
        let n = self.journal.begin(Op::Claim(id), at);
        let claimed = self.events.put_if_absent(&key(at), &Event::of(id)).await;
        self.ended(n, claimed.map(Outcome::Is));
    }

    async fn swap(&mut self, at: u64) {
        let Some(found) = get(&self.events, &mut self.journal, at).await.filter(|found| found.val != 0)
        else {
            return;
        };
        let (from, to) = (found.val, self.id());
        let n = self.journal.begin(Op::Swap { from, to }, at);
        let value = u64::from(to);
        let update = self.events.update(&key(at)).set(Event::VAL, value).set(Event::NOTE, value);
        let swapped = update.only_if(Event::VAL.equals(u64::from(from))).await;
        self.ended(n, swapped.map(Outcome::Is));
    }

    async fn put_all(&mut self) {
        let keys: HashSet<u64> = (0..self.rng.usize(2..7)).map(|_| self.key()).collect();
        let (mut rows, mut begun) = (Vec::new(), Vec::new());
        for at in keys {
            let id = self.id();
            begun.push(self.journal.begin(Op::Put(id), at));
            rows.push((key(at), Event::of(id)));
        }
        match self.events.put_all(&rows).await {
            Ok(()) => begun.iter().for_each(|n| self.journal.end(*n, Outcome::Done)),
            Err(error) => {
                // The rows before the first failure may be written.
                begun.iter().for_each(|n| self.journal.end(*n, Outcome::Unknown));
                failed(&mut self.journal, &error);
            }
        }
    }
}

/// Reads a row, and records what it was.
async fn get(events: &Events, journal: &mut Journal, at: u64) -> Option<RowState> {
    let n = journal.begin(Op::Read, at);
    match events.get(&key(at)).await {
        Ok(event) => found(journal, n, event.as_ref(), at),
        Err(error) => {
            journal.void(n);
            failed(journal, &error);
            None
        }
    }
}

fn found(journal: &mut Journal, n: u64, event: Option<&Event>, at: u64) -> Option<RowState> {
    match state_of(event, at) {
        Ok(state) => {
            journal.end(n, Outcome::Found(state));
            Some(state)
        }
        Err(text) => {
            journal.fault(text);
            None
        }
    }
}

async fn read(orders: &Orders, events: &Events, journal: &mut Journal, mut rng: Rng) {
    while !orders.is_over() {
        let at = match rng.u8(..5) {
            0..4 => rng.u64(..hot(orders.rows)),
            _ => rng.u64(..orders.rows + orders.rows / NEW_ROWS),
        };
        match rng.u8(..10) {
            0..7 => drop(get(events, journal, at).await),
            7 => {
                let n = journal.begin(Op::Exists, at);
                match events.exists(&key(at)).await {
                    Ok(exists) => journal.end(n, Outcome::Is(exists)),
                    Err(error) => {
                        journal.void(n);
                        failed(journal, &error);
                    }
                }
            }
            _ => {
                let keys: Vec<u64> = (0..hot(orders.rows)).chain([rng.u64(..orders.rows)]).collect();
                let begun: Vec<_> = keys.iter().map(|at| journal.begin(Op::Read, *at)).collect();
                match events.get_many(keys.iter().map(|at| key(*at))).await {
                    Ok(rows) => {
                        for ((n, at), event) in begun.iter().zip(&keys).zip(rows) {
                            found(journal, *n, event.as_ref(), *at);
                        }
                    }
                    Err(error) => {
                        begun.iter().for_each(|n| journal.void(*n));
                        failed(journal, &error);
                    }
                }
            }
        }
        sleep(Duration::from_micros(rng.u64(..4_000))).await;
    }
}

async fn scan(orders: &Orders, events: &Events, journal: &mut Journal, mut rng: Rng) {
    while !orders.is_over() {
        // A scanner is killed before it has read all of a large table.
        let part = (rng.u8(..3) > 0).then(|| Part::random(orders.rows, &mut rng));
        let n = journal.scan(part);
        let scan = match part {
            None => events.scan(New::scan(), Old::scan()),
            Some(Part { user, first, end }) => events.scan(
                New::scan().user(USERS[user]).at_range(first..end),
                Old::scan().user(USERS[user]).at_range(first..end),
            ),
        };
        let (is_reversed, is_ordered) = (rng.bool(), rng.u8(..3) > 0);
        let scan = if is_reversed { scan.reversed() } else { scan };
        let scan = if is_ordered { scan } else { scan.unordered() };
        let mut stream = scan.stream();
        let (mut seen, mut last, mut count) = (HashSet::new(), None::<New>, 0);
        let ended = loop {
            if orders.is_over() {
                return;
            }
            let (key, event) = match stream.next().await {
                None => break Ok(()),
                Some(Ok(row)) => row,
                Some(Err(error)) => break Err(error),
            };
            count += 1;
            let at = key.at;
            if part.is_some_and(|part| !part.contains(at)) {
                journal.fault(format_args!("a scan of {part:?} gave the row {at}"));
            }
            if !seen.insert(at) {
                journal.fault(format_args!("a scan gave the row {at} twice"));
            }
            if is_ordered
                && last.as_ref().is_some_and(|last| if is_reversed { *last <= key } else { *last >= key })
            {
                journal.fault(format_args!("a scan gave {key:?} after {last:?}"));
            }
            last = Some(key);
            match event.state(at) {
                Ok(state) if state == initial(at, orders.rows) => {}
                Ok(state) => journal.scanned(n, at, state),
                Err(text) => journal.fault(text),
            }
        };
        let is_missing = |at: &u64| !seen.contains(at) && part.is_none_or(|part| part.contains(*at));
        match ended {
            Ok(()) => journal.ended(n, count, (0..orders.rows).filter(is_missing)),
            Err(error) => failed(journal, &error),
        }
        sleep(Duration::from_millis(rng.u64(..60 + orders.rows / 20))).await;
    }
}

async fn drive(orders: &Orders, events: &Events, journal: &mut Journal) {
    let goal = orders.goal;
    let progress = orders.folder.join(format!("{}.progress", orders.slot));
    let progress = Mutex::new(OpenOptions::new().append(true).create(true).open(progress).unwrap());
    let progress = Arc::new(progress);
    // For people, if the run does not end.
    let driver = || {
        let progress = Arc::clone(&progress);
        events.migration().lease(super::LEASE).on_progress(move |now| {
            let _ = writeln!(progress.lock().unwrap(), "{now}");
        })
    };
    loop {
        let driven = match goal {
            Goal::Moved => driver().run().await,
            Goal::New => match driver().run().await {
                Ok(()) => driver().finish().await,
                Err(error) => Err(error),
            },
            Goal::RolledBack => driver().roll_back().await,
        };
        match driven {
            Ok(()) => break,
            Err(error) if error.is_retryable() || error.is_outcome_unknown() => failed(journal, &error),
            // The other driver may go elsewhere; the run decides whether one has come to its goal.
            Err(error) => {
                let text = error.to_string().chars().take(300).collect::<String>();
                journal.note(format_args!("a driver to `{}`: {text}", goal.name()));
            }
        }
        sleep(Duration::from_millis(100)).await;
        if orders.is_over() {
            return;
        }
    }
    std::fs::write(arrived(&orders.folder, goal), "").unwrap();
    while !orders.is_over() {
        sleep(Duration::from_millis(20)).await;
    }
}
