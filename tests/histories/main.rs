//! Histories of one table under 8 writers: every call that writes whole rows, a network that loses, delays and
//! repeats, and clients' clocks that are off by up to 2 s. Each read must return what was written, and each result
//! must be true.
//!
//! `KEYDERIVE_HISTORIES` is the number of operations in each history. `KEYDERIVE_HISTORIES_SEED` repeats the writers' choices
//! and the faults of the network. The machine interleaves the writers, so a violation cannot be repeated, and prints all that
//! explains it.

#[path = "../system/calls.rs"]
#[allow(dead_code, reason = "`tests/system` and `tests/rekeying` use all of it")]
mod calls;
mod chaos;
mod history;
mod network;
mod rows;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyderive::client::{RawTable, Settings};
use keyderive::embedded::Bigtable;
use keyderive::table::Direct;
use keyderive::{Client, Table};
use keyderive_tests::emulator::Emulator;
use keyderive_tests::linearizable::{Op, Outcome, Row as RowState};
use keyderive_tests::proxy::{Log, Proxy};
use keyderive_tests::{amount, variable};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::calls::{Caller, Numbered as _, Record as _, each_of_rows};
use self::history::{History, Recorder};
use self::network::{ATTEMPT, WriterNetwork};
use self::rows::{Event, EventKey};

const WRITERS: u8 = 8;

/// Few, so that the writers collide.
const ROWS: u64 = 6;

/// After this many operations the writers move to new rows: the emulator keeps every version of a row for a while,
/// and slows down with each.
const OPERATIONS_OF_ROWS: u64 = 2_000;

/// How many numbers each writer has for its writes.
const NUMBERS: u32 = 10_000_000;

type Events = Table<EventKey, Event>;

/// A client that times out soon, so that some calls fail while their requests are in flight.
fn hasty(settings: &mut Settings) {
    each_of_rows(settings, |call| {
        call.attempt_timeout = ATTEMPT;
        call.total_timeout = 4 * ATTEMPT;
        call.max_attempts = 3;
        call.backoff.initial = Duration::from_millis(1);
    });
}

/// One of the writers, with its own client and clock.
struct Writer {
    /// Through the proxy.
    caller: Caller<EventKey, Direct, Recorder>,
    raw: RawTable,
    /// Bypasses the proxy, so that reads take little time.
    reader: Caller<EventKey, Direct, Recorder>,
    log: Arc<Log>,
    /// The length of the history, and how many operations are left.
    operations: u64,
    left: Arc<AtomicU64>,
    /// Whether reads may run during writes.
    reads_beside_writes: bool,
}

impl Writer {
    /// Writes and reads until all writers together have made the operations.
    async fn run(mut self, is_old: bool) {
        loop {
            let (drawn, at) = (self.caller.rng.u8(..100), self.key());
            let made = match (is_old, drawn) {
                (_, ..30) => {
                    self.read(at).await;
                    1
                }
                (true, _) => self.old_put(at).await,
                (false, ..60) => self.put(at).await,
                (false, ..80) => self.put_if(at).await,
                (false, ..90) => self.put_all().await,
                (false, ..97) => self.writer().await,
                (false, _) => self.load().await,
            };
            let left = self
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(made)));
            if left.unwrap() <= made {
                return;
            }
        }
    }

    fn key(&mut self) -> u64 {
        let made = self.operations - self.left.load(Ordering::SeqCst);
        self.caller.rng.u64(..ROWS) + ROWS * (made / OPERATIONS_OF_ROWS)
    }

    async fn read(&mut self, at: u64) -> Option<RowState> {
        let _apart = if self.reads_beside_writes { None } else { Some(self.log.apart().await) };
        self.reader.get(at).await
    }

    async fn put(&mut self, at: u64) -> u64 {
        self.caller.record.names("put", None);
        self.caller.put(at).await;
        1
    }

    async fn old_put(&mut self, at: u64) -> u64 {
        self.caller.record.names("an old put", None);
        let id = self.caller.id();
        let begun = self.caller.record.begin(at, Op::Put(id));
        let put = self.raw.mutate_row(EventKey::of(at).encode().unwrap(), Event::of(id).old_put()).await;
        self.caller.wrote(begun, Some(put), |()| Outcome::Done);
        1
    }

    /// Reads a row, and writes it on condition that it has not changed.
    async fn put_if(&mut self, at: u64) -> u64 {
        let Some(found) = self.read(at).await else { return 1 };
        let caller = &mut self.caller;
        caller.record.names("put_if", None);
        if found == RowState::NONE {
            caller.claim(at).await;
        } else {
            let (key, to) = (EventKey::of(at), caller.id());
            let begun = caller.record.begin(at, Op::Replace { from: found.val, to });
            let unchanged = Event::VAL.equals(u64::from(found.val));
            let put = caller.events.put_if(&key, &Event::of(to), unchanged).await;
            caller.wrote(begun, Some(put), Outcome::Is);
        }
        2
    }

    /// The keys of some rows, perhaps several with one key.
    fn several(&mut self) -> Vec<u64> {
        (0..self.caller.rng.usize(2..7)).map(|_| self.key()).collect()
    }

    async fn put_all(&mut self) -> u64 {
        let (ats, number) = (self.several(), self.caller.id());
        self.caller.record.names("put_all", Some(number));
        let (count, distinct) = (ats.len(), ats.iter().collect::<HashSet<_>>().len());
        self.caller.put_all(ats).await;
        // The later value of a row goes in a request of its own.
        if count == distinct {
            self.caller.record.was_one_request();
        }
        count as u64
    }

    async fn writer(&mut self) -> u64 {
        let ats = self.several();
        self.caller.record.names("a writer", None);
        self.caller.put_in_background(&ats).await;
        ats.len() as u64
    }

    async fn load(&mut self) -> u64 {
        let (ats, is_absent) = (self.several(), self.caller.rng.u8(..4) == 0);
        let caller = &mut self.caller;
        let (call, number) =
            if is_absent { ("a load if absent", None) } else { ("a load", Some(caller.id())) };
        caller.record.names(call, number);
        let (mut rows, mut begun) = (Vec::new(), Vec::new());
        for at in &ats {
            let id = caller.id();
            begun.push(caller.record.begin(*at, if is_absent { Op::Claim(id) } else { Op::Put(id) }));
            rows.push((EventKey::of(*at), Event::of(id)));
        }
        let load = caller.events.load_iter(&rows).workers(2).batch_rows(3);
        // The report of a load if absent does not say which rows it wrote and which it kept.
        let report = if is_absent { load.if_absent().await.ok().filter(|_| false) } else { load.await.ok() };
        for (index, begun) in (0..).zip(begun) {
            match report.as_ref().map(|report| report.failed().iter().find(|row| row.index() == index)) {
                None => caller.record.end(begun, Outcome::Unknown),
                Some(None) => caller.record.end(begun, Outcome::Done),
                Some(Some(failed)) => caller.failed(begun, failed.error()),
            }
        }
        ats.len() as u64
    }
}

/// Where and how a history is made.
#[derive(Clone, Copy)]
struct Setup<'a> {
    name: &'a str,
    host: &'a str,
    /// Whether reads may run during writes. Google's emulator sorts a row's column names in place, so a concurrent
    /// read can miss a column or return it twice. The stored row is right.
    reads_beside_writes: bool,
    /// Whether rows are written as earlier releases wrote them.
    is_old: bool,
}

/// Makes a history of `operations` operations; returns it, and its violations.
async fn run(setup: Setup<'_>, operations: u64, seed: u64) -> (History, Vec<String>) {
    let Setup { name, host, reads_beside_writes, is_old } = setup;
    println!("{name}: {operations} operations, KEYDERIVE_HISTORIES_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let steady: Events = Client::emulator(host).await.unwrap().table("orders");
    steady.create_if_absent().await.unwrap();

    let (log, left) = (Arc::new(Log::default()), Arc::new(AtomicU64::new(operations)));
    let history = Arc::new(Mutex::new(History::default()));
    let reader = |client| {
        let recorder = Recorder::new(client, Arc::clone(&log), Arc::clone(&history), true);
        Caller::new(steady.clone(), recorder, Rng::new(), (0, 0), Default::default())
    };
    let mut servers = JoinSet::new();
    let mut proxies = Vec::new();
    let mut writers = JoinSet::new();
    let begun = Instant::now();
    for writer in 0..WRITERS {
        // The first clock is right; the others are up to 2 s slow or fast.
        let skew_micros = if writer == 0 { 0 } else { rng.i64(-2000..=2000) * 1000 };
        let number = usize::from(writer);
        let proxy = Proxy::new(number, WriterNetwork { skew_micros }, host, Arc::clone(&log), rng.fork());
        let through = proxy.serve(&mut servers).await;
        proxies.push(proxy);
        let client = Client::builder().settings(hasty).emulator(through).await.unwrap();
        let recorder = Recorder::new(number, Arc::clone(&log), Arc::clone(&history), false);
        let numbers = (writer, NUMBERS * u32::from(writer));
        let writer = Writer {
            caller: Caller::new(client.table("orders"), recorder, rng.fork(), numbers, Default::default()),
            raw: client.raw_table("orders"),
            reader: reader(number),
            log: Arc::clone(&log),
            operations,
            left: Arc::clone(&left),
            reads_beside_writes,
        };
        writers.spawn(writer.run(is_old));
    }
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
    let elapsed = begun.elapsed();
    // Waits for late requests, and then reads every row once more.
    for proxy in &proxies {
        proxy.settled().await;
    }
    let mut reader = reader(usize::from(WRITERS));
    for at in 0..ROWS * (operations / OPERATIONS_OF_ROWS + 1) {
        reader.get(at).await;
    }
    drop(reader);

    let seen = log.seen().clone();
    assert!(seen.failures.is_empty(), "the server of {name} failed: {:?}", seen.failures[0]);
    let history = std::mem::take(&mut *history.lock().unwrap());
    let checking = Instant::now();
    let violations = history.violations(&seen);
    let made = history.calls.calls().len();
    println!(
        "{name}: {made} operations in {elapsed:.1?}, {:.0} a second; {} writes of unknown outcome; requests {:?}; checked in \
         {:.1?}: {} violations",
        made as f64 / elapsed.as_secs_f64(),
        history.calls.unknown(),
        seen.faults,
        checking.elapsed(),
        violations.len(),
    );
    (history, violations)
}

/// Fails if a history has a violation.
async fn holds(setup: Setup<'_>) {
    let name = setup.name;
    let seed = variable("KEYDERIVE_HISTORIES_SEED", fastrand::u64(..));
    let operations = amount("KEYDERIVE_HISTORIES", "operations in each history", 800, 5_000);
    let (history, violations) = run(setup, operations, seed).await;
    let won = history.won() as u64;
    assert!(won > operations / 100, "{won} conditional writes of {name} were true, seed {seed}");
    let shown: Vec<_> = violations.iter().take(5).map(String::as_str).collect();
    assert!(
        shown.is_empty(),
        "{} violations of {name}, seed {seed}; the first:\n{}",
        violations.len(),
        shown.join("\n")
    );
}

/// Serves a Bigtable on a free port until `tasks` is dropped; its address.
async fn served(bigtable: Bigtable, tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tasks.spawn(async move { bigtable.serve(listener, std::future::pending()).await.unwrap() });
    host
}

/// A file that is removed when dropped.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_the_embedded_bigtable_have_no_violation() {
    let mut tasks = JoinSet::new();
    let host = served(Bigtable::in_memory(), &mut tasks).await;
    holds(Setup { name: "embedded", host: &host, reads_beside_writes: true, is_old: false }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_a_file_have_no_violation() {
    let file = File(std::env::temp_dir().join(format!("keyderive-histories-{}", std::process::id())));
    let mut tasks = JoinSet::new();
    let host = served(Bigtable::open(&file.0).await.unwrap(), &mut tasks).await;
    holds(Setup { name: "file", host: &host, reads_beside_writes: true, is_old: false }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_the_emulator_have_no_violation() {
    let Some(emulator) = Emulator::start() else { return };
    holds(Setup { name: "emulator", host: &emulator.host(), reads_beside_writes: false, is_old: false })
        .await;
}

/// Shows that the histories detect the write of earlier releases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_at_the_clients_time_tear_rows_within_1000_operations() {
    let mut tasks = JoinSet::new();
    let host = served(Bigtable::in_memory(), &mut tasks).await;
    let setup = Setup { name: "old write", host: &host, reads_beside_writes: true, is_old: true };
    let (_, violations) = run(setup, 1_000, 17).await;
    let torn = violations.iter().find(|violation| violation.contains("whole rows: nobody wrote"));
    println!("the first: {}", torn.expect("the old write tears rows, and none was found"));
}
