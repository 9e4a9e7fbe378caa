//! Histories of one table under 8 writers: every call that writes whole rows, a network that loses, delays and
//! repeats, and clients' clocks that are off by up to 2 s. Each read must return what was written, and each result
//! must be true.
//!
//! `KEYDERIVE_HISTORIES` is the number of operations in each history. `KEYDERIVE_HISTORIES_SEED` repeats the writers' choices
//! and the faults of the network. The machine interleaves the writers, so a violation cannot be repeated, and prints all that
//! explains it.

mod chaos;
mod history;
mod network;
mod orders;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyderive::client::{RawTable, Settings, WriteErrors};
use keyderive::embedded::Bigtable;
use keyderive::{Client, Error, Table};
use keyderive_tests::emulator::Emulator;
use keyderive_tests::proxy::{Log, Proxy};
use keyderive_tests::{amount, variable};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::history::{ABSENT, Call, History, Outcome, Read, Write};
use self::network::{ATTEMPT, WriterNetwork};
use self::orders::{Order, OrderKey};

const WRITERS: usize = 8;

/// Few, so that the writers collide.
const ROWS: u32 = 6;

/// After this many operations the writers move to new rows: the emulator keeps every version of a row for a while,
/// and slows down with each.
const OPERATIONS_OF_ROWS: u64 = 2_000;

/// A finished history and its violations.
struct Run {
    history: History,
    violations: Vec<String>,
    seed: u64,
}

type Orders = Table<OrderKey, Order>;

/// A client that times out soon, so that some calls fail while their requests are in flight.
fn hasty(settings: &mut Settings) {
    for call in [&mut settings.mutate_row, &mut settings.mutate_rows, &mut settings.check_and_mutate_row] {
        call.attempt_timeout = ATTEMPT;
        call.total_timeout = 4 * ATTEMPT;
        call.max_attempts = 3;
        call.backoff.initial = Duration::from_millis(1);
    }
}

/// One of the writers, with its own client and clock.
struct Writer {
    rng: Rng,
    log: Arc<Log>,
    ids: Arc<AtomicU64>,
    /// The length of the history, and how many operations are left.
    operations: u64,
    left: Arc<AtomicU64>,
    /// Through the proxy.
    orders: Orders,
    raw: RawTable,
    /// Reads bypass the proxy, so that they take little time.
    steady: Orders,
    /// Whether reads may run during writes.
    reads_beside_writes: bool,
    history: History,
}

/// The input of a write of several rows.
struct Several {
    rows: Vec<(OrderKey, Order)>,
    begun: Vec<u64>,
}

impl Writer {
    /// Writes and reads until all writers together have made the operations.
    async fn run(mut self, is_old: bool) -> History {
        loop {
            let drawn = self.rng.u8(..100);
            let made = match (is_old, drawn) {
                (_, ..30) => {
                    let key = self.key();
                    self.read(key).await;
                    1
                }
                (true, _) => self.old_put().await,
                (false, ..60) => self.put().await,
                (false, ..80) => self.put_if().await,
                (false, ..90) => self.put_all().await,
                (false, ..97) => self.writer().await,
                (false, _) => self.load().await,
            };
            let left = self
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(made)));
            if left.unwrap() <= made {
                return self.history;
            }
        }
    }

    fn key(&mut self) -> u32 {
        let made = self.operations - self.left.load(Ordering::SeqCst);
        self.rng.u32(..ROWS) + ROWS * u32::try_from(made / OPERATIONS_OF_ROWS).unwrap()
    }

    fn next(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::SeqCst)
    }

    async fn read(&mut self, key: u32) -> Option<u64> {
        let log = Arc::clone(&self.log);
        let _apart = if self.reads_beside_writes { None } else { Some(log.apart().await) };
        let begun = self.log.now();
        let found = self.steady.get(&OrderKey { id: key }).await;
        let found = found.map_err(|error| error.to_string());
        let value = found.as_ref().map_or(ABSENT, |order| order.as_ref().map_or(ABSENT, |order| order.id));
        let is_read = found.is_ok();
        self.history.reads.push(Read { key, begun, ended: self.log.now(), found });
        is_read.then_some(value)
    }

    fn wrote(
        &mut self,
        id: u64,
        key: u32,
        call: Call,
        begun: u64,
        outcome: Outcome,
        over: Option<u64>,
    ) -> u64 {
        let ended = self.log.now();
        self.history.writes.push(Write { id, key, call, place: (id, 0), begun, ended, outcome, over });
        1
    }

    async fn put(&mut self) -> u64 {
        let (id, key, begun) = (self.next(), self.key(), self.log.now());
        let put = self.orders.put(&OrderKey { id: key }, &Order::of(id)).await;
        self.wrote(id, key, Call::Put, begun, outcome(put.map(|()| true)), None)
    }

    async fn old_put(&mut self) -> u64 {
        let (id, key, begun) = (self.next(), self.key(), self.log.now());
        let row = OrderKey { id: key }.encode().unwrap();
        let put = self.raw.mutate_row(row, Order::of(id).old_put()).await;
        self.wrote(id, key, Call::OldPut, begun, outcome(put.map(|()| true)), None)
    }

    /// Reads a row, and writes it on condition that it has not changed.
    async fn put_if(&mut self) -> u64 {
        let key = self.key();
        let Some(over) = self.read(key).await else { return 1 };
        let (id, begun) = (self.next(), self.log.now());
        let (row, order) = (OrderKey { id: key }, Order::of(id));
        let put = match over {
            ABSENT => self.orders.put_if_absent(&row, &order).await,
            _ => self.orders.put_if(&row, &order, Order::ID.equals(over)).await,
        };
        1 + self.wrote(id, key, Call::PutIf, begun, outcome(put), Some(over))
    }

    /// Some rows, perhaps several with one key.
    fn several(&mut self) -> Several {
        let count = self.rng.usize(2..7);
        let rows: Vec<_> =
            (0..count).map(|_| (OrderKey { id: self.key() }, Order::of(self.next()))).collect();
        let begun = vec![self.log.now(); count];
        Several { rows, begun }
    }

    fn wrote_several(
        &mut self,
        several: Several,
        call: Call,
        outcome: impl Fn(usize, &OrderKey) -> Outcome,
    ) -> u64 {
        let (ended, number) = (self.log.now(), several.rows[0].1.id);
        let count = several.rows.len() as u64;
        let over = (call == Call::LoadIfAbsent).then_some(ABSENT);
        for (place, ((key, order), begun)) in several.rows.into_iter().zip(several.begun).enumerate() {
            let outcome = outcome(place, &key);
            let (id, place) = (order.id, (number, place));
            self.history.writes.push(Write { id, key: key.id, call, place, begun, ended, outcome, over });
        }
        count
    }

    async fn put_all(&mut self) -> u64 {
        let several = self.several();
        let outcome = outcome(self.orders.put_all(&several.rows).await.map(|()| true));
        self.wrote_several(several, Call::PutAll, |_, _| outcome)
    }

    async fn writer(&mut self) -> u64 {
        let mut several = self.several();
        let writer = self.orders.writer_with(|settings| {
            settings.batch_entries = 3;
            settings.linger = Duration::from_millis(1);
        });
        for ((key, order), begun) in several.rows.iter().zip(&mut several.begun) {
            *begun = self.log.now();
            writer.put(key, order).await.unwrap();
        }
        let failed = writer.close().await.err();
        let failed = failed.iter().flat_map(WriteErrors::failed);
        let failed: Vec<(Vec<u8>, Outcome)> =
            failed.map(|failed| (failed.key().to_vec(), failure(failed.error()))).collect();
        self.wrote_several(several, Call::Writer, |_, key| {
            let key = key.encode().unwrap();
            failed.iter().find(|(failed, _)| *failed == key).map_or(Outcome::Done, |(_, outcome)| *outcome)
        })
    }

    async fn load(&mut self) -> u64 {
        let several = self.several();
        let load = self.orders.load_iter(&several.rows).workers(2).batch_rows(3);
        if self.rng.u8(..4) == 0 {
            // The report does not say which rows it wrote and which it kept.
            let _ = load.if_absent().await;
            return self.wrote_several(several, Call::LoadIfAbsent, |_, _| Outcome::Unknown);
        }
        let failed: Option<Vec<(u64, Outcome)>> = match load.await {
            Ok(report) => {
                Some(report.failed().iter().map(|row| (row.index(), failure(row.error()))).collect())
            }
            Err(_) => None,
        };
        self.wrote_several(several, Call::Load, |place, _| match &failed {
            None => Outcome::Unknown,
            Some(failed) => {
                let failed = failed.iter().find(|(index, _)| *index == place as u64);
                failed.map_or(Outcome::Done, |(_, outcome)| *outcome)
            }
        })
    }
}

fn outcome(returned: Result<bool, Error>) -> Outcome {
    match returned {
        Ok(true) => Outcome::Done,
        Ok(false) => Outcome::False,
        Err(error) => failure(&error),
    }
}

fn failure(error: &Error) -> Outcome {
    match error.attempts() {
        0 => Outcome::Unsent,
        _ => Outcome::Unknown,
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

/// Makes a history of `operations` operations.
async fn run(setup: Setup<'_>, operations: u64, seed: u64) -> Run {
    let Setup { name, host, reads_beside_writes, is_old } = setup;
    println!("{name}: {operations} operations, KEYDERIVE_HISTORIES_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let steady: Orders = Client::emulator(host).await.unwrap().table("orders");
    steady.create_if_absent().await.unwrap();

    let log = Arc::new(Log::default());
    let (ids, left) = (Arc::new(AtomicU64::new(ABSENT + 1)), Arc::new(AtomicU64::new(operations)));
    let mut servers = JoinSet::new();
    let mut proxies = Vec::new();
    let mut writers = JoinSet::new();
    let begun = Instant::now();
    for writer in 0..WRITERS {
        // The first clock is right; the others are up to 2 s slow or fast.
        let skew_micros = if writer == 0 { 0 } else { rng.i64(-2000..=2000) * 1000 };
        let proxy = Proxy::new(writer, WriterNetwork { skew_micros }, host, Arc::clone(&log), rng.fork());
        let through = proxy.serve(&mut servers).await;
        proxies.push(proxy);
        let client = Client::builder().settings(hasty).emulator(through).await.unwrap();
        let writer = Writer {
            rng: rng.fork(),
            log: Arc::clone(&log),
            ids: Arc::clone(&ids),
            operations,
            left: Arc::clone(&left),
            orders: client.table("orders"),
            raw: client.raw_table("orders"),
            steady: steady.clone(),
            reads_beside_writes,
            history: History::default(),
        };
        writers.spawn(writer.run(is_old));
    }
    let mut history = History::default();
    while let Some(of_writer) = writers.join_next().await {
        let of_writer = of_writer.unwrap();
        history.writes.extend(of_writer.writes);
        history.reads.extend(of_writer.reads);
    }
    let elapsed = begun.elapsed();
    // Waits for late requests, and then reads every row once more.
    for proxy in &proxies {
        proxy.settled().await;
    }
    let rows: BTreeSet<u32> = history.writes.iter().map(|write| write.key).collect();
    for key in rows {
        let begun = log.now();
        let found = steady.get(&OrderKey { id: key }).await.map_err(|error| error.to_string());
        history.reads.push(Read { key, begun, ended: log.now(), found });
    }

    let seen = log.seen().clone();
    assert!(seen.failures.is_empty(), "the server of {name} failed: {:?}", seen.failures[0]);
    let checking = Instant::now();
    let violations = history.violations(&seen);
    let made = history.writes.len() + history.reads.len();
    let unknown = history.writes.iter().filter(|write| write.outcome == Outcome::Unknown).count();
    println!(
        "{name}: {made} operations in {elapsed:.1?}, {:.0} a second; calls {:?} and {} reads; {unknown} writes of \
         unknown outcome; requests {:?}; checked in {:.1?}: {} violations",
        made as f64 / elapsed.as_secs_f64(),
        history::calls(&history.writes),
        history.reads.len(),
        seen.faults,
        checking.elapsed(),
        violations.len(),
    );
    Run { history, violations, seed }
}

/// Fails if a history has a violation.
async fn holds(setup: Setup<'_>) {
    let name = setup.name;
    let seed = variable("KEYDERIVE_HISTORIES_SEED", fastrand::u64(..));
    let operations = amount("KEYDERIVE_HISTORIES", "operations in each history", 800, 5_000);
    let run = run(setup, operations, seed).await;
    let is_done = |write: &&Write| write.outcome == Outcome::Done && write.over.is_some();
    let won = run.history.writes.iter().filter(is_done).count();
    assert!(won as u64 > operations / 100, "{won} conditional writes of {name} were true, seed {seed}");
    let shown: Vec<_> = run.violations.iter().take(5).map(String::as_str).collect();
    assert!(
        shown.is_empty(),
        "{} violations of {name}, seed {}; the first:\n{}",
        run.violations.len(),
        run.seed,
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
    let run =
        run(Setup { name: "old write", host: &host, reads_beside_writes: true, is_old: true }, 1_000, 17)
            .await;
    let torn = run.violations.iter().find(|violation| violation.contains("whole rows: nobody wrote"));
    println!("the first: {}", torn.expect("the old write tears rows, and none was found"));
}
