//! The embedded Bigtable, in process and over loopback TCP, compared with Google's emulator over loopback TCP: point
//! reads, writes and scanned rows per second, counters beside sums, and the memory of 10,000,000 rows.
//!
//! `cargo run --release -p keyderive-bench --bin embedded [seconds]`. The same client runs the same operations on
//! each, one after the other, for the given seconds, 2 by default. All that is repeated in turn, and the best of each
//! counts, because other load on the machine only adds. With 0 seconds, only memory is measured.
//!
//! There are two tables: by the clock, and by the processor time of this process and the emulator together, which
//! other load does not change. Memory is the growth of the process. The last two need Linux.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyderive::embedded::Bigtable;
use keyderive::row::{Mutation, Sum};
use keyderive::{Client, Row, RowKey, Table};
use keyderive_bench::meter::processor_time_of;
use keyderive_tests::emulator::Emulator;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const RUNS: usize = 3;
const ROWS: u32 = 100_000;
const AT_A_TIME: usize = 32;

/// The rows kept in memory, and the memory they may take.
const KEPT_ROWS: u64 = 10_000_000;
const KEPT_AT_A_TIME: u64 = 10_000;
const MOST_BYTES: u64 = 2_500_000_000;

type Failure = Box<dyn std::error::Error>;

#[derive(RowKey, Clone, Copy)]
struct ReadingKey {
    id: u32,
}

#[derive(Row)]
struct Reading {
    celsius: f64,
    humidity: i64,
    station: String,
}

/// A count by which each call learns the new value, and one that the server adds up.
#[derive(Row)]
struct Counts {
    #[row(counter)]
    counter: i64,
    #[row(family = "sums")]
    sum: Sum,
}

type Readings = Table<ReadingKey, Reading>;
type AllCounts = Table<ReadingKey, Counts>;

fn reading(id: u32) -> (ReadingKey, Reading) {
    (ReadingKey { id }, Reading { celsius: 21.5, humidity: id.into(), station: "S-0042".to_owned() })
}

/// What is measured.
const OPERATIONS: [&str; 7] = [
    "reads",
    "reads in parallel",
    "writes in parallel",
    "scanned rows",
    "increments",
    "additions",
    "additions by a writer",
];

/// The best of all runs.
type Figures = [Rate; OPERATIONS.len()];

/// Operations per second.
#[derive(Clone, Copy, Default)]
struct Rate {
    by_clock: f64,
    by_processor: f64,
}

impl Rate {
    fn best(self, other: Self) -> Self {
        Self {
            by_clock: self.by_clock.max(other.by_clock),
            by_processor: self.by_processor.max(other.by_processor),
        }
    }
}

/// Measures clock time and processor time since its creation.
struct Timer<'a> {
    begun: Instant,
    used: Duration,
    processes: &'a [u32],
}

impl<'a> Timer<'a> {
    fn start(processes: &'a [u32]) -> Self {
        Self { begun: Instant::now(), used: used(processes), processes }
    }

    fn rate(&self, operations: f64) -> Rate {
        let used = used(self.processes).saturating_sub(self.used);
        Rate {
            by_clock: operations / self.begun.elapsed().as_secs_f64(),
            by_processor: operations / used.as_secs_f64(),
        }
    }
}

fn used(processes: &[u32]) -> Duration {
    processes.iter().filter_map(|process| processor_time_of(*process)).sum()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let seconds = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse())?;
    let time = Duration::from_secs_f64(seconds);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let host = listener.local_addr()?.to_string();
    let server =
        tokio::spawn(async move { Bigtable::in_memory().serve(listener, std::future::pending()).await });
    let emulator = Emulator::start();
    let mut clients = vec![
        ("embedded, in process", Client::embedded()),
        ("embedded, over TCP", Client::emulator(host).await?),
    ];
    if let Some(emulator) = &emulator {
        clients.push(("emulator, over TCP", Client::emulator(emulator.host()).await?));
    }
    let mut tables: Vec<(&str, Readings, AllCounts, Figures)> = Vec::new();
    for (name, client) in clients {
        let readings = client.table("readings");
        readings.create_if_absent().await?;
        readings.put_all((0..ROWS).map(reading)).await?;
        let counts = client.table("counts");
        counts.create_if_absent().await?;
        tables.push((name, readings, counts, Figures::default()));
    }
    let processes: Vec<u32> = emulator.iter().map(Emulator::id).chain([std::process::id()]).collect();
    for _ in 0..RUNS {
        for (_, readings, counts, best) in tables.iter_mut().filter(|_| !time.is_zero()) {
            let figures = [
                reads(readings, 1, time, &processes).await?,
                reads(readings, AT_A_TIME, time, &processes).await?,
                writes(readings, time, &processes).await?,
                scanned(readings, time, &processes).await?,
                increments(counts, time, &processes).await?,
                additions(counts, time, &processes).await?,
                additions_by_a_writer(counts, time, &processes).await?,
            ];
            *best = std::array::from_fn(|figure| best[figure].best(figures[figure]));
        }
    }
    print("second", &tables, |rate| rate.by_clock);
    print("second of processor time", &tables, |rate| rate.by_processor);
    server.abort();
    drop((tables, emulator));
    memory().await
}

fn print(second: &str, tables: &[(&str, Readings, AllCounts, Figures)], of: impl Fn(&Rate) -> f64) {
    println!("| a {second}, {AT_A_TIME} in parallel | {} |", OPERATIONS.join(" | "));
    println!("|---|{}", "---|".repeat(OPERATIONS.len()));
    // The emulator's, if it runs.
    let last = tables.last().map_or(Figures::default(), |(.., figures)| *figures);
    for (name, _, _, figures) in tables {
        let cells = figures
            .iter()
            .zip(&last)
            .map(|(rate, last)| format!("{:.0} ({:.1} x)", of(rate), of(rate) / of(last)));
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    println!();
}

/// Calls of `operation` per second, by `tasks` tasks.
async fn rate<F>(
    tasks: usize,
    time: Duration,
    processes: &[u32],
    operation: impl Fn(u32) -> F + Clone + Send + Sync + 'static,
) -> Result<Rate, Failure>
where
    F: Future<Output = Result<(), keyderive::Error>> + Send,
{
    let done = Arc::new(AtomicU64::new(0));
    let mut running = JoinSet::new();
    let timer = Timer::start(processes);
    let begun = timer.begun;
    for task in 0..tasks {
        let (done, operation) = (Arc::clone(&done), operation.clone());
        running.spawn(async move {
            let mut rng = Rng::with_seed(task as u64);
            while begun.elapsed() < time {
                operation(rng.u32(..ROWS)).await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), keyderive::Error>(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(timer.rate(done.load(Ordering::Relaxed) as f64))
}

async fn reads(
    readings: &Readings,
    tasks: usize,
    time: Duration,
    processes: &[u32],
) -> Result<Rate, Failure> {
    let readings = readings.clone();
    let read = move |id| {
        let readings = readings.clone();
        async move {
            let reading = readings.get(&ReadingKey { id }).await?;
            assert!(reading.is_some_and(|reading| reading.humidity == i64::from(id)));
            Ok(())
        }
    };
    rate(tasks, time, processes, read).await
}

async fn writes(readings: &Readings, time: Duration, processes: &[u32]) -> Result<Rate, Failure> {
    let readings = readings.clone();
    let write = move |id| {
        let readings = readings.clone();
        async move {
            let (key, reading) = reading(id);
            readings.put(&key, &reading).await
        }
    };
    rate(AT_A_TIME, time, processes, write).await
}

async fn scanned(readings: &Readings, time: Duration, processes: &[u32]) -> Result<Rate, Failure> {
    let (timer, mut scanned) = (Timer::start(processes), 0);
    while timer.begun.elapsed() < time {
        let mut rows = readings.scan(ReadingKey::scan()).stream();
        for expected in 0..ROWS {
            let row = rows.next().await.transpose()?;
            assert!(
                row.is_some_and(
                    |(key, reading)| key.id == expected && reading.humidity == i64::from(expected)
                )
            );
        }
        scanned += ROWS;
    }
    Ok(timer.rate(scanned.into()))
}

async fn increments(counts: &AllCounts, time: Duration, processes: &[u32]) -> Result<Rate, Failure> {
    let counts = counts.clone();
    let increment = move |id| {
        let counts = counts.clone();
        async move { counts.increment(&ReadingKey { id }, Counts::COUNTER, 1).await.map(drop) }
    };
    rate(AT_A_TIME, time, processes, increment).await
}

async fn additions(counts: &AllCounts, time: Duration, processes: &[u32]) -> Result<Rate, Failure> {
    let counts = counts.clone();
    let add = move |id| {
        let counts = counts.clone();
        async move { counts.update(&ReadingKey { id }).add(Counts::SUM, 1).await }
    };
    rate(AT_A_TIME, time, processes, add).await
}

async fn additions_by_a_writer(
    counts: &AllCounts,
    time: Duration,
    processes: &[u32],
) -> Result<Rate, Failure> {
    let (timer, mut rng, mut added) = (Timer::start(processes), Rng::with_seed(0), 0_u32);
    let writer = counts.writer();
    while timer.begun.elapsed() < time {
        writer.update(counts.update(&ReadingKey { id: rng.u32(..ROWS) }).add(Counts::SUM, 1)).await?;
        added += 1;
    }
    writer.close().await?;
    Ok(timer.rate(added.into()))
}

/// Rows with keys of 24 bytes, in random order, each with one cell of 8.
async fn memory() -> Result<(), Failure> {
    let client = Client::embedded();
    client.table::<ReadingKey, Reading>("kept").create_if_absent().await?;
    let kept = client.raw_table("kept");
    let Some(before) = resident_bytes() else { return Ok(()) };
    let begun = Instant::now();
    for first in (0..KEPT_ROWS).step_by(usize::try_from(KEPT_AT_A_TIME)?) {
        let entries = (first..first + KEPT_AT_A_TIME).map(|number| {
            // A bijection, so that keys are unique.
            let key = format!("{:024}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            (key.into(), vec![Mutation::set("cf", "v", 1000, number.to_be_bytes().to_vec())])
        });
        kept.mutate_rows(entries.collect()).await.all_written()?;
    }
    let written = begun.elapsed();
    let mut rows = kept.read_rows(keyderive::client::ReadRows::all());
    let mut read = 0;
    while let Some(row) = rows.next().await {
        read += u64::from(row?.key().len() == 24);
    }
    let bytes = resident_bytes().unwrap_or_default().saturating_sub(before);
    println!(
        "\n{read} rows of {KEPT_ROWS} take {:.2} GB, {} bytes a row, of {:.1} GB at most; they were written in {written:.0?}",
        bytes as f64 / 1e9,
        bytes / KEPT_ROWS,
        MOST_BYTES as f64 / 1e9,
    );
    Ok(())
}

/// The memory of this process, if the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(|kilobytes: u64| kilobytes << 10)
}
