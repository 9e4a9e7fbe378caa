//! A table is re-keyed while processes are killed, stopped beyond their lease and cut off, and requests are lost, late and overtaken.
//!
//! Writers, readers, scanners and drivers are processes of their own, each with a proxy to the server. What they have done is
//! checked afterwards: the history of each row has an order that explains every answer, each scan gave each row once, and the last
//! table has exactly what the histories allow.
//!
//! `KEYDERIVE_REKEYING_SEEDS` is how many runs are made; with it they are recorded in the build folder, and a later call
//! continues with the next. `KEYDERIVE_REKEYING_SEED` makes one run alone, `KEYDERIVE_REKEYING_ROWS` says how many rows the table
//! has, 500 by default, and `KEYDERIVE_REKEYING_SERVER=embedded` takes the embedded Bigtable in place of the emulator. Beside other
//! load, `KEYDERIVE_REKEYING_LIMIT` gives the drivers more seconds to come to their end.
//!
//! With `KEYDERIVE_REKEYING_LATE`, requests arrive up to so many milliseconds late. A driver waits for about 1,400, and what arrives
//! later may be read and vanish; then only what stays is checked: no write that was acknowledged is lost, and no delete undone.

#[path = "../system/calls.rs"]
mod calls;
mod history;
mod network;
mod process;
mod rows;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyderive::client::{RawTable, ReadRows};
use keyderive::embedded::Bigtable;
use keyderive::row::Mutation;
use keyderive::table::rekey::State;
use keyderive::{Client, Table};
use keyderive_tests::emulator::Emulator;
use keyderive_tests::history::{Arrival, check};
use keyderive_tests::linearizable::{self, Op, Operation, Outcome, Row};
use keyderive_tests::proxy::{Log, Proxy};
use keyderive_tests::{amount, runs_long, variable};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::TcpListener;
use tokio::sync::RwLock;
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::calls::number;
use self::history::{Journals, initial, now};
use self::network::{Broken, CONTROL, ProcessNetwork};
use self::process::{Goal, Orders, ROLES, Role};
use self::rows::Event;
use crate::calls::{New, Old, key};

/// The lease of the runs; the first wait of a driver is 6 s nevertheless.
const LEASE: Duration = Duration::from_millis(400);
/// How late a request arrives at most: well within the wait of a driver.
const LATEST: Duration = Duration::from_millis(400);
/// How long a process that was stopped may send what it wanted to send before.
const QUIET: Duration = Duration::from_millis(400);
/// Runs are disturbed in about such steps.
const STEP: Duration = Duration::from_millis(500);
/// Drivers meet as much as other processes in so much of a state, and less afterwards.
const PASS: Duration = Duration::from_secs(5);
/// A pass over so many rows meets every fault.
const FEW: f64 = 1000.0;
/// Rows at first are written in requests of so many.
const LOADED: usize = 500;

/// One run at a time: it is about time. Broken ones are not, and find their fault all the same.
static MACHINE: RwLock<()> = RwLock::const_new(());

/// Where the drivers are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Forward,
    RollBackFromPaused,
    RollBackFromCopying,
    RollBackFromMoved,
    /// One driver goes on, and the other one back.
    Divided,
}

const PLANS: [Plan; 5] = [
    Plan::Forward,
    Plan::RollBackFromCopying,
    Plan::RollBackFromMoved,
    Plan::Divided,
    Plan::RollBackFromPaused,
];

#[derive(Clone, Copy, Debug)]
struct Setup {
    seed: u64,
    rows: u64,
    plan: Plan,
    latest: Duration,
    broken: Option<Broken>,
}

impl Setup {
    fn of(seed: u64) -> Self {
        let late = variable("KEYDERIVE_REKEYING_LATE", 0);
        Self {
            seed,
            rows: variable("KEYDERIVE_REKEYING_ROWS", 500),
            plan: PLANS[usize::try_from(seed % 5).unwrap()],
            latest: if late == 0 { LATEST } else { Duration::from_millis(late) },
            broken: None,
        }
    }

    /// Whether requests arrive only within the wait of a driver, so that histories must be linearizable.
    fn is_timely(&self) -> bool {
        self.latest <= LATEST
    }
}

/// What a run has shown.
struct Report {
    violations: Vec<String>,
    summary: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_a_table_is_re_keyed_on_the_emulator() {
    let Some(seed) = std::env::var("KEYDERIVE_REKEYING_SEED").ok().map(|text| text.parse().unwrap()) else {
        return seeds().await;
    };
    let _machine = MACHINE.write().await;
    if let Some(report) = run(Setup::of(seed)).await {
        report.passes(seed);
    }
}

/// Makes runs with the seeds from 0 on, and records them if their number was given.
async fn seeds() {
    let count = amount("KEYDERIVE_REKEYING_SEEDS", "runs of re-keying with kills", 0, PLANS.len() as u64);
    let is_recorded = std::env::var_os("KEYDERIVE_REKEYING_SEEDS").is_some();
    let setup = Setup::of(0);
    let name = format!("rekeying-{}-{}-{}.txt", setup.rows, setup.latest.as_millis(), server());
    let record = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let known =
        if is_recorded { std::fs::read_to_string(&record).unwrap_or_default() } else { String::new() };
    let known: Vec<u64> = known.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
    let _machine = MACHINE.write().await;
    for seed in (0..count).filter(|seed| !known.contains(seed)) {
        let Some(report) = run(Setup::of(seed)).await else { return };
        if is_recorded {
            let mut file = OpenOptions::new().append(true).create(true).open(&record).unwrap();
            let result = if report.violations.is_empty() { "holds" } else { "VIOLATED" };
            writeln!(file, "{seed} {result}: {}", report.summary).unwrap();
        }
        report.passes(seed);
    }
    if is_recorded {
        println!("{} has the results of {count} runs", record.display());
    }
}

impl Report {
    fn passes(&self, seed: u64) {
        let shown: Vec<_> = self.violations.iter().take(3).map(String::as_str).collect();
        assert!(
            shown.is_empty(),
            "{} violations with KEYDERIVE_REKEYING_SEED={seed}; the first:\n{}",
            self.violations.len(),
            shown.join("\n")
        );
    }
}

/// How many runs without a rule are made until one shows that it is needed: chance decides what each of them meets.
const RUNS_WITHOUT_A_RULE: u64 = 8;

/// Runs that break a rule must show a violation.
macro_rules! found_on_the_emulator {
    ($($test:ident: $broken:expr, $plan:expr;)+) => {
        mod on_the_emulator {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    if !runs_long("runs of re-keying with kills, each without one of its rules") { return; }
                    let _machine = MACHINE.read().await;
                    for seed in 0..RUNS_WITHOUT_A_RULE {
                        let setup = Setup { rows: 500, latest: LATEST, plan: $plan, broken: Some($broken), ..Setup::of(seed) };
                        let Some(report) = run(setup).await else { return };
                        let mut histories = report.violations.iter().filter(|violation| violation.starts_with("row "));
                        if let Some(first) = histories.next() {
                            println!("{} violations with seed {seed}; the first:\n{first}", report.violations.len());
                            return;
                        }
                    }
                    panic!("without this rule, some history of {RUNS_WITHOUT_A_RULE} runs has no order that explains it");
                }
            )+
        }
    };
}

found_on_the_emulator! {
    it_shows_that_writes_set_origins: Broken::WithoutOrigin, Plan::Forward;
    it_shows_that_copies_leave_written_rows: Broken::CopiesOverwrite, Plan::Forward;
    it_shows_that_writes_copy_first: Broken::Uncopied, Plan::Forward;
    it_shows_that_leases_end: Broken::Frozen, Plan::Forward;
    it_shows_that_drivers_wait: Broken::NoWait, Plan::Forward;
}

fn server() -> String {
    std::env::var("KEYDERIVE_REKEYING_SERVER").unwrap_or_else(|_| "emulator".to_owned())
}

/// A process, which is replaced when it is killed.
struct Process {
    orders: Orders,
    child: Child,
    stopped_until: Option<Instant>,
    proxy: Proxy<ProcessNetwork>,
}

impl Process {
    fn spawn(orders: Orders, proxy: Proxy<ProcessNetwork>) -> Self {
        let output = |name: &str| {
            let path = orders.folder.join(format!("{}.{name}", orders.slot));
            Stdio::from(OpenOptions::new().append(true).create(true).open(path).unwrap())
        };
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "chaos::process::runs_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .envs([orders.variable()])
            .stdout(output("out"))
            .stderr(output("err"))
            .spawn()
            .unwrap();
        Self { orders, child, stopped_until: None, proxy }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Kills it, and waits for its end.
    fn kill(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Kills it and begins another one in its place.
    fn replace(&mut self, goal: Goal) {
        self.kill();
        let orders = Orders { incarnation: self.orders.incarnation + 1, goal, ..self.orders.clone() };
        *self = Self::spawn(orders, self.proxy.clone());
    }

    fn stop(&mut self, time: Duration) {
        self.signal(Signal::SIGSTOP);
        self.stopped_until = Some(Instant::now() + time);
    }

    fn resume(&mut self, is_timely: bool) {
        if self.stopped_until.take().is_some() {
            if is_timely {
                self.proxy.network().be_quiet(QUIET);
            }
            self.signal(Signal::SIGCONT);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug, Default)]
struct Disturbances {
    kills: u64,
    stops: u64,
    cuts: u64,
}

/// A row as it is stored, without what keyderive keeps there.
type Cells = Vec<(String, Vec<u8>, i64, Vec<u8>)>;

async fn stored(table: &RawTable) -> HashMap<u64, Cells> {
    let mut rows = HashMap::new();
    let mut stream = table.read_rows(ReadRows::default());
    while let Some(row) = stream.next().await {
        let row = row.unwrap();
        let Some(at) = number(row.key()) else { continue };
        let cells: Cells = row
            .cells()
            .filter(|cell| !cell.family().starts_with("keyderive"))
            .map(|cell| {
                (
                    cell.family().to_owned(),
                    cell.qualifier().to_vec(),
                    cell.timestamp_micros(),
                    cell.value().to_vec(),
                )
            })
            .collect();
        if !cells.is_empty() {
            assert!(rows.insert(at, cells).is_none(), "the row {at} has two keys");
        }
    }
    rows
}

/// A run in progress.
struct Run {
    setup: Setup,
    rng: Rng,
    client: Client,
    folder: PathBuf,
    processes: Vec<Process>,
    done: Disturbances,
    violations: Vec<String>,
    /// When each state was seen first.
    states: Vec<(State, Instant)>,
    /// What is done to the drivers, and when.
    next_goal: Option<(Instant, Goal)>,
    begun: Instant,
}

/// Makes a run; `None` without an emulator.
async fn run(setup: Setup) -> Option<Report> {
    let mut servers = JoinSet::new();
    let (_emulator, host) = if server() == "embedded" {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        servers.spawn(
            async move { Bigtable::in_memory().serve(listener, std::future::pending()).await.unwrap() },
        );
        (None, host)
    } else {
        let emulator = Emulator::start()?;
        let host = emulator.host();
        (Some(emulator), host)
    };
    let client = Client::emulator(&host).await.unwrap();
    let before = load(&client, setup.rows).await;

    let mut rng = Rng::with_seed(setup.seed);
    let name = format!("rekeying-{}-{}-{:?}", std::process::id(), setup.seed, setup.broken);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let log = Arc::new(Log::new(now));
    let mut processes = Vec::new();
    for (slot, role) in ROLES.into_iter().enumerate() {
        let is_driver = role == Role::Driver;
        let network = ProcessNetwork {
            slot,
            is_driver,
            broken: setup.broken,
            // As many of a driver's requests fail in a pass over many rows as over few.
            share: if is_driver { (FEW / setup.rows as f64).min(1.0) } else { 1.0 },
            latest: setup.latest,
            ..ProcessNetwork::default()
        };
        let proxy = Proxy::new(slot, network, &host, Arc::clone(&log), rng.fork());
        let orders = Orders {
            folder: folder.clone(),
            host: proxy.serve(&mut servers).await,
            slot,
            incarnation: 0,
            seed: setup.seed,
            rows: setup.rows,
            goal: Goal::Moved,
        };
        if is_driver {
            // In the first state for a moment.
            sleep(STEP).await;
        }
        processes.push(Process::spawn(orders, proxy));
    }
    let mut run = Run {
        setup,
        rng,
        client,
        folder,
        processes,
        done: Disturbances::default(),
        violations: Vec::new(),
        states: Vec::new(),
        next_goal: None,
        begun: Instant::now(),
    };
    let last = run.drive().await;
    run.end().await;
    let report = run.check(last, &before, &log).await;
    if report.violations.is_empty() || setup.broken.is_some() {
        let _ = std::fs::remove_dir_all(&run.folder);
    } else {
        std::fs::write(run.folder.join("violations"), report.violations.join("\n\n")).unwrap();
        println!("what the processes have recorded is in {}", run.folder.display());
    }
    Some(report)
}

/// Makes the table; returns what it stores.
async fn load(client: &Client, rows: u64) -> HashMap<u64, Cells> {
    let events: Table<Old, Event> = client.table("events");
    events.create().without_row_key_schema().await.unwrap();
    let rows: Vec<_> = (0..rows).map(|at| (Old::from(&key(at)), Event::initial(at))).collect();
    for rows in rows.chunks(LOADED) {
        events.put_all(rows).await.unwrap();
    }
    stored(&client.raw_table("events")).await
}

impl Run {
    /// Disturbs the processes until the drivers have come to the end of the plan; returns the last state.
    async fn drive(&mut self) -> State {
        let watcher = self.client.rekeyed::<Old, New, Event>("events", "events-16").await.unwrap();
        let longest = variable("KEYDERIVE_REKEYING_LIMIT", 60 + self.setup.rows / 200);
        let longest = Duration::from_secs(longest);
        let mut next = Instant::now() + STEP;
        let mut is_verified = false;
        loop {
            sleep(Duration::from_millis(20)).await;
            let state = match self.hasten().await {
                Some(state) => state,
                None => match watcher.migration().state().await {
                    Ok(state) => state,
                    // The machine has much to do.
                    Err(_) => continue,
                },
            };
            let now = Instant::now();
            if self.states.last().is_none_or(|(last, _)| *last != state) {
                self.states.push((state, now));
                self.arrive(state);
            }
            let arrived = |goal| process::arrived(&self.folder, goal).exists();
            let is_at_end = match state {
                State::New => arrived(Goal::New),
                State::RolledBack => arrived(Goal::RolledBack),
                _ => false,
            };
            if is_at_end {
                return state;
            }
            if state == State::Moved && !is_verified && arrived(Goal::Moved) {
                match watcher.migration().verify().await {
                    Ok(verified) if verified.is_equal() => is_verified = true,
                    Err(error) if error.is_retryable() => {}
                    verified => self.violations.push(format!("verify: {verified:?}")),
                }
            }
            if self.setup.broken.is_some() && self.has_shown(state) {
                return state;
            }
            if self.begun.elapsed() > longest {
                self.violations.push(format!("the drivers have not come to their end, and are in `{state}`"));
                return state;
            }
            if let Some((_, goal)) = self.next_goal.take_if(|(at, _)| *at <= now) {
                let drivers = if self.setup.plan == Plan::Divided { 9.. } else { 8.. };
                for driver in &mut self.processes[drivers] {
                    driver.replace(goal);
                    self.done.kills += 1;
                }
            }
            for process in &mut self.processes {
                if process.stopped_until.is_some_and(|until| until <= now) {
                    process.resume(self.setup.is_timely());
                }
                if process.stopped_until.is_none() && process.child.try_wait().unwrap().is_some() {
                    self.violations.push(format!("process {} has ended by itself", process.orders.slot));
                    let goal = process.orders.goal;
                    process.replace(goal);
                }
            }
            if next <= now {
                next = now + STEP.mul_f64(self.rng.f64() + 0.3);
                let slot = self.rng.usize(..ROLES.len());
                let in_state = self.states.last().map_or(Duration::ZERO, |(_, since)| since.elapsed());
                // A pass over many rows needs a driver that lives for longer.
                if ROLES[slot] != Role::Driver || in_state < PASS || self.rng.u8(..8) == 0 {
                    self.disturb(slot);
                }
            }
        }
    }

    /// Whether a run with a broken rule has shown what it can: the drivers may not come to their end.
    fn has_shown(&self, state: State) -> bool {
        let since = self.states.last().map_or(self.begun, |(_, since)| *since);
        state == State::Moved || (state == State::Copying && since.elapsed() > Duration::from_secs(4))
    }

    /// Changes the state without the wait, where that rule is broken. Some writers have a lease on the state before that lasts.
    async fn hasten(&self) -> Option<State> {
        let (State::Paused, since) = self.states.last()? else { return None };
        if self.setup.broken != Some(Broken::NoWait) {
            return None;
        }
        self.processes[..2].iter().for_each(|process| process.proxy.network().be_mute());
        if since.elapsed() < Duration::from_millis(50) {
            return None;
        }
        // A state that does not fit the stamp is refused.
        let info = self.client.raw_table("events").info().await.unwrap();
        if !info.families().iter().any(|family| family.name().starts_with("keyderive.pair-")) {
            return None;
        }
        let registry = self.client.raw_table("keyderive");
        let row = registry.read_row(CONTROL, None).await.unwrap()?;
        let control = String::from_utf8(row.newest("cf", "state")?.value().to_vec()).unwrap();
        let hastened = control.replace("\"paused\",\"change\":1", "\"copying\",\"change\":2");
        registry.mutate_row(CONTROL, vec![Mutation::set("cf", "state", 0, hastened)]).await.unwrap();
        Some(State::Copying)
    }

    /// What the plan has for a state, and a blow to a driver in each.
    fn arrive(&mut self, state: State) {
        let soon = |most: u64, rng: &mut Rng| Instant::now() + Duration::from_millis(rng.u64(..most));
        self.next_goal = match (self.setup.plan, state) {
            (Plan::RollBackFromPaused, State::Paused) => Some((soon(4000, &mut self.rng), Goal::RolledBack)),
            (Plan::RollBackFromCopying | Plan::Divided, State::Copying) => {
                Some((soon(1200, &mut self.rng), Goal::RolledBack))
            }
            (Plan::RollBackFromMoved, State::Moved) => Some((soon(1500, &mut self.rng), Goal::RolledBack)),
            (Plan::Forward, State::Moved) => Some((soon(1500, &mut self.rng), Goal::New)),
            _ => self.next_goal.take(),
        };
        let driver = 8 + self.rng.usize(..2);
        self.disturb(driver);
    }

    /// Kills a process, stops it beyond its lease, or cuts its connections.
    fn disturb(&mut self, slot: usize) {
        let process = &mut self.processes[slot];
        match self.rng.u8(..10) {
            0..4 => {
                let goal = process.orders.goal;
                process.replace(goal);
                self.done.kills += 1;
            }
            4..8 if process.stopped_until.is_none() => {
                process.stop(Duration::from_millis(self.rng.u64(200..2_500)));
                self.done.stops += 1;
            }
            _ => {
                process.proxy.cut();
                self.done.cuts += 1;
            }
        }
    }

    /// Lets the processes work in the last state for a moment, and ends them.
    async fn end(&mut self) {
        for process in &mut self.processes {
            process.resume(self.setup.is_timely());
        }
        sleep(STEP).await;
        File::create(self.folder.join("stop")).unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        let mut is_ended = false;
        while !is_ended && Instant::now() < end {
            sleep(Duration::from_millis(20)).await;
            is_ended = self.processes.iter_mut().all(|process| process.child.try_wait().unwrap().is_some());
        }
        for process in &mut self.processes {
            process.kill();
        }
        for process in &self.processes {
            process.proxy.settled().await;
        }
    }

    async fn check(&mut self, last: State, before: &HashMap<u64, Cells>, log: &Log) -> Report {
        let elapsed = self.begun.elapsed();
        let checking = Instant::now();
        let mut journals = Journals::default();
        for slot in 0..ROLES.len() {
            journals.add(slot, &process::journal(&self.folder, slot));
        }
        self.violations.append(&mut journals.faults);
        if self.setup.plan != Plan::Divided {
            let lost = journals.notes.keys().filter(|note| note.starts_with("a driver to"));
            self.violations.extend(lost.map(|note| format!("a driver failed: {note}")));
        }
        // As on one table, a write may land a second time.
        let repeats = {
            let seen = log.seen();
            let arrivals = seen.applications.iter().map(|landed| Arrival {
                client: landed.client,
                at: landed.id,
                arrived: landed.arrived,
                begin: landed.sent,
            });
            journals.calls.add_repeats(arrivals).0
        };
        let mut keys = journals.calls.rows();
        let written = keys.len();
        journals.add_scans(&mut keys, self.setup.rows);
        self.check_last(last, before, &mut keys).await;
        if !self.setup.is_timely() {
            keys.values_mut().for_each(|all| *all = linearizable::without_answers(std::mem::take(all)));
        }
        let checked = check(keys, |at| initial(at, self.setup.rows));
        self.violations.extend(checked.violations);
        let undecided = |at: u64| format!("row {at}: its history could not be decided");
        self.violations.extend(checked.undecided.into_iter().map(undecided));
        let summary = self.summary(elapsed, last, &journals.outcomes, log);
        let summary = format!(
            "{summary}; {} scans, {} of them whole, of {} rows; {written} rows written, {repeats} writes landed \
             again; {} operations checked in {:.1?}, the longest history in {:.1?}",
            journals.scans_ended,
            journals.whole_scans_ended,
            journals.scanned_rows,
            checked.operations,
            checking.elapsed(),
            checked.longest,
        );
        println!("seed {}: {summary}: {} violations", self.setup.seed, self.violations.len());
        for (note, count) in journals.notes {
            println!("  {count} x {note}");
        }
        Report { violations: std::mem::take(&mut self.violations), summary }
    }

    /// Compares the last table with what was there before, and adds a last read of each row that was written.
    async fn check_last(
        &mut self,
        last: State,
        before: &HashMap<u64, Cells>,
        keys: &mut BTreeMap<u64, Vec<Operation>>,
    ) {
        let begin = now();
        let table = match last {
            State::RolledBack => "events",
            State::New => "events-16",
            _ => return,
        };
        let read = async {
            let mut rows = BTreeMap::new();
            if last == State::New {
                let plain: Table<New, Event> = self.client.table(table);
                plain.verify().await?;
                rows.extend(
                    plain.scan(New::scan()).collect().await?.into_iter().map(|(key, row)| (key.at, row)),
                );
            } else {
                let plain: Table<Old, Event> = self.client.table(table);
                plain.verify().await?;
                rows.extend(
                    plain.scan(Old::scan()).collect().await?.into_iter().map(|(key, row)| (key.at, row)),
                );
            }
            Ok::<_, keyderive::Error>(rows)
        };
        let rows = match read.await {
            Ok(rows) => rows,
            Err(error) => {
                self.violations.push(format!("the last table, `{table}`: {error}"));
                return;
            }
        };
        let info = self.client.raw_table(table).info().await.unwrap();
        if info.family("keyderive-origin").is_some() {
            self.violations.push("the last table has origins".to_owned());
        }
        for (at, operations) in &mut *keys {
            match rows.get(at).map_or(Ok(Row::NONE), |row| row.state(*at)) {
                Ok(found) => operations.push(Operation {
                    op: Op::Read,
                    outcome: Outcome::Found(found),
                    begin,
                    end: now(),
                    by: "the last read".to_owned(),
                }),
                Err(text) => self.violations.push(format!("the last table: {text}")),
            }
        }
        // Cell by cell, with their times.
        let after = stored(&self.client.raw_table(table)).await;
        for at in before.keys().chain(after.keys()).filter(|at| !keys.contains_key(at)) {
            if before.get(at) != after.get(at) {
                let (before, after) = (before.get(at), after.get(at));
                self.violations
                    .push(format!("row {at}, which nobody wrote, was {before:?}, and is {after:?}"));
            }
        }
    }

    fn summary(
        &self,
        elapsed: Duration,
        last: State,
        outcomes: &BTreeMap<&'static str, u64>,
        log: &Log,
    ) -> String {
        let Setup { rows, plan, .. } = self.setup;
        let Disturbances { kills, stops, cuts } = self.done;
        let seen = log.seen();
        let mut states = String::new();
        for (state, since) in &self.states {
            let _ = write!(states, "{state} at {:.1?}, ", since.duration_since(self.begun));
        }
        format!(
            "{plan:?} to `{last}` with {rows} rows on {} in {elapsed:.1?} ({states}lease {LEASE:?}); {kills} kills, {stops} stops, \
             {cuts} cuts; operations {outcomes:?}; {} requests: {:?}, {} applied without a sender",
            server(),
            seen.requests,
            seen.faults,
            seen.unheard,
        )
    }
}
