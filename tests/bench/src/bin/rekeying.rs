//! What moving a table to another key type costs: the latency of a put in each state, and the rows a second of the pass, beside a
//! load and an export of the same table in the same run.
//!
//! `--rows N` is the number of rows, 100,000 by default. The output is the section `Re-keying` of docs/benchmarks.md.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use hdrhistogram::Histogram;
use keyderive::embedded::Bigtable;
use keyderive::table::rekey::{Activity, MigrationProgress, Rekeyed, State};
use keyderive::{Client, Row, RowKey, Table};
use keyderive_bench::program::{self, print_head, print_line};
use keyderive_tests::emulator::Emulator;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::time::sleep;

/// How long puts are measured in the states in which nothing else happens.
const QUIET: Duration = Duration::from_secs(5);

#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "sensor")]
struct Old {
    sensor: u32,
    at: u64,
}

#[derive(RowKey, Clone, Debug)]
#[salt(range = 16, over = "sensor")]
struct New {
    sensor: u32,
    at: u64,
}

impl From<Old> for New {
    fn from(Old { sensor, at }: Old) -> Self {
        Self { sensor, at }
    }
}

impl From<&New> for Old {
    fn from(New { sensor, at }: &New) -> Self {
        Self { sensor: *sensor, at: *at }
    }
}

#[derive(Row, Clone)]
struct Reading {
    celsius: f64,
    humidity: i64,
    station: String,
}

fn key(id: u32) -> Old {
    Old { sensor: id % 1000, at: u64::from(id / 1000) }
}

fn reading(id: u32) -> Reading {
    Reading { celsius: 21.5, humidity: i64::from(id), station: "north".to_owned() }
}

fn main() -> ExitCode {
    program::run(|mut arguments| {
        let rows = arguments.option("rows")?.unwrap_or(100_000);
        arguments.words()?;
        Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(measure_all(rows));
        Ok(())
    })
}

async fn measure_all(rows: u32) {
    println!("# Re-keying\n");
    println!(
        "`cargo run --release -p keyderive-bench --bin rekeying` prints this part, in about two minutes. A table of {rows} rows of 3 \
         small cells, whose keys have a salt of 4 buckets, gets one of 16, over the loopback interface. One writer puts rows, one at \
         a time, in every state. Each put is counted under the state that the driver reported last: one put of `paused` waited for `copying`, \
         and the fast ones after it ended before `copying` was reported. The copy and the comparison ran while the writer wrote, the load \
         and the export ran alone."
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server =
        tokio::spawn(async move { Bigtable::in_memory().serve(listener, std::future::pending()).await });
    measure("The embedded Bigtable, on a port", &host, rows).await;
    server.abort();
    if let Some(emulator) = Emulator::start() {
        measure("Google's emulator", &emulator.host(), rows).await;
    }
}

/// What a driver has reported.
#[derive(Default)]
struct Reported {
    last: Option<MigrationProgress>,
    /// The rows and the time of each activity.
    activities: Vec<(Activity, u64, Duration)>,
}

async fn measure(name: &str, host: &str, rows: u32) {
    let client = Client::emulator(host).await.unwrap();
    let old: Table<Old, Reading> = client.table("readings");
    old.create().without_row_key_schema().await.unwrap();
    let begun = Instant::now();
    old.load_iter((0..rows).map(|id| (key(id), reading(id)))).await.unwrap().all_written().unwrap();
    let load = rate(rows.into(), begun.elapsed());
    let begun = Instant::now();
    let mut exported = old.export(Old::scan()).stream();
    let mut count = 0;
    while let Some(row) = exported.next().await {
        row.unwrap();
        count += 1;
    }
    assert_eq!(count, u64::from(rows));
    let export = rate(count, begun.elapsed());

    let readings: Rekeyed<Old, New, Reading> = client.rekeyed("readings", "readings-16").await.unwrap();
    let reported = Arc::new(Mutex::new(Reported::default()));
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write(readings.clone(), Arc::clone(&reported), Arc::clone(&stop), rows));
    sleep(QUIET).await;
    let migration = {
        let reported = Arc::clone(&reported);
        readings.migration().on_progress(move |progress| {
            let mut reported = reported.lock().unwrap();
            if let Some(last) = reported.last.replace(*progress)
                && last.activity != progress.activity
            {
                let rows = last.rows;
                let done = rows.written + rows.kept + rows.compared + rows.counted;
                reported.activities.push((last.activity, done, rows.elapsed));
            }
        })
    };
    migration.run().await.unwrap();
    sleep(QUIET).await;
    migration.finish().await.unwrap();
    sleep(QUIET).await;
    stop.store(true, Ordering::Relaxed);
    let latencies = writer.await.unwrap();

    println!("\n## {name}\n");
    print_head(&["state", "puts", "p50", "p99", "slowest"]);
    for state in [State::Old, State::Paused, State::Copying, State::Moved, State::New] {
        let Some(puts) = latencies.get(state.to_string().as_str()) else { continue };
        let millis = |micros: u64| format!("{:.2} ms", micros as f64 / 1e3);
        let [p50, p99] = [0.5, 0.99].map(|share| millis(puts.value_at_quantile(share)));
        print_line(&[&format!("`{state}`"), &puts.len().to_string(), &p50, &p99, &millis(puts.max())]);
    }
    println!();
    print_head(&["what", "rows a second", "against the load"]);
    let reported = reported.lock().unwrap();
    let of = |activity| {
        let of = reported.activities.iter().find(|(of, ..)| *of == activity);
        of.map_or(0.0, |(_, rows, time)| rate(*rows, *time))
    };
    for (what, rate) in [
        ("load", load),
        ("export", export),
        ("the copy", of(Activity::Copying)),
        ("the comparison of both tables", of(Activity::Verifying)),
    ] {
        print_line(&[what, &format!("{rate:.0}"), &format!("{:.2} x", rate / load)]);
    }
}

fn rate(rows: u64, time: Duration) -> f64 {
    rows as f64 / time.as_secs_f64()
}

/// Puts one row after the other; returns their latencies in microseconds, by the state in which they began.
async fn write(
    readings: Rekeyed<Old, New, Reading>,
    reported: Arc<Mutex<Reported>>,
    stop: Arc<AtomicBool>,
    rows: u32,
) -> BTreeMap<String, Histogram<u64>> {
    let mut rng = Rng::with_seed(7);
    let mut latencies = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let state = reported.lock().unwrap().last.as_ref().map_or(State::Old, |progress| progress.state);
        let id = rng.u32(..rows);
        let begun = Instant::now();
        readings.put(&New::from(key(id)), &reading(id)).await.unwrap();
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap();
        let of_state = latencies.entry(state.to_string()).or_insert_with(|| Histogram::new(3).unwrap());
        of_state.record(micros).unwrap();
    }
    latencies
}
