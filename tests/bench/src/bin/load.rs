//! 200 parallel point reads and 20 parallel scans for 30 seconds, of the embedded Bigtable over loopback TCP: with
//! the client, and with raw tonic, which decodes the same messages and ignores them.
//!
//! `cargo run --release -p keyderive-bench --bin load [seconds]`. Memory is that of the whole process, client and
//! server together, and needs Linux.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fastrand::Rng;
use keyderive::embedded::Bigtable;
use keyderive::{Client, Row, RowKey, Table};
use keyderive_proto::data::{ReadRowsRequest, RowSet};
use keyderive_tests::raw_client::RawClient;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

const POINT_READERS: usize = 200;
const SCANNERS: usize = 20;
const ROWS: u32 = 100_000;

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

/// What all readers have done.
#[derive(Default)]
struct Done {
    stop: AtomicBool,
    reads: AtomicU64,
    scans: AtomicU64,
    scanned: AtomicU64,
    errors: AtomicU64,
}

impl Done {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn count(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let seconds = std::env::args().nth(1).map_or(30, |text| text.parse().expect("a number of seconds"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server =
        tokio::spawn(async move { Bigtable::in_memory().serve(listener, std::future::pending()).await });

    // As many connections as 220 parallel requests need.
    let client = Client::builder().connections(4).emulator(&host).await.unwrap();
    let readings: Table<ReadingKey, Reading> = client.table("readings");
    readings.create_if_absent().await.unwrap();
    let writer = readings.writer();
    for id in 0..ROWS {
        let reading = Reading { celsius: 21.5, humidity: i64::from(id), station: "north".to_owned() };
        writer.put(&ReadingKey { id }, &reading).await.unwrap();
    }
    writer.close().await.unwrap();

    println!("{POINT_READERS} point reads and {SCANNERS} scans of {ROWS} rows at a time, {seconds} s each\n");
    println!("| | point reads/s | scanned rows/s | errors | memory at 1/6, 1/2, end |");
    println!("|---|---|---|---|---|");
    let typed = Arc::new(Done::default());
    let tasks = by_client(&readings, &typed);
    report("keyderive", &typed, tasks, seconds).await;

    let mut channels = Vec::new();
    for _ in 0..4 {
        let endpoint = Endpoint::from_shared(format!("http://{host}")).unwrap();
        let endpoint =
            endpoint.initial_stream_window_size(1 << 20).initial_connection_window_size((1 << 31) - 1);
        channels.push(endpoint.tcp_nodelay(true).connect().await.unwrap());
    }
    let raw = Arc::new(Done::default());
    let tasks = by_tonic(&channels, &raw);
    report("raw tonic", &raw, tasks, seconds).await;
    server.abort();
}

fn by_client(readings: &Table<ReadingKey, Reading>, done: &Arc<Done>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for seed in 0..POINT_READERS {
        let (readings, done, mut rng) = (readings.clone(), Arc::clone(done), Rng::with_seed(seed as u64));
        tasks.spawn(async move {
            while done.goes_on() {
                let id = rng.u32(..ROWS);
                match readings.get(&ReadingKey { id }).await {
                    Ok(Some(reading)) if reading.humidity == i64::from(id) => Done::count(&done.reads, 1),
                    _ => Done::count(&done.errors, 1),
                }
            }
        });
    }
    for _ in 0..SCANNERS {
        let (readings, done) = (readings.clone(), Arc::clone(done));
        tasks.spawn(async move {
            while done.goes_on() {
                let mut rows = readings.scan(ReadingKey::scan()).stream();
                while let Some(row) = rows.next().await {
                    Done::count(if row.is_ok() { &done.scanned } else { &done.errors }, 1);
                    if !done.goes_on() {
                        return;
                    }
                }
                Done::count(&done.scans, 1);
            }
        });
    }
    tasks
}

fn by_tonic(channels: &[Channel], done: &Arc<Done>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for task in 0..POINT_READERS + SCANNERS {
        let mut rng = Rng::with_seed(task as u64);
        let mut client = RawClient::new(channels[task % channels.len()].clone());
        let done = Arc::clone(done);
        tasks.spawn(async move {
            while done.goes_on() {
                let key = ReadingKey { id: rng.u32(..ROWS) }.encode().unwrap();
                let row = RowSet { row_keys: vec![Bytes::from(key)], row_ranges: Vec::new() };
                let rows = (task < POINT_READERS).then_some(row);
                match read(&mut client, rows, &done).await {
                    Ok(rows) if task < POINT_READERS => Done::count(&done.reads, rows),
                    Ok(_) => Done::count(&done.scans, 1),
                    Err(_) => Done::count(&done.errors, 1),
                }
            }
        });
    }
    tasks
}

/// Reads to the end, or until the benchmark stops; how many rows there were.
async fn read(
    client: &mut RawClient<Channel>,
    rows: Option<RowSet>,
    done: &Done,
) -> Result<u64, tonic::Status> {
    let is_scan = rows.is_none();
    let mut request = tonic::Request::new(ReadRowsRequest {
        table_name: "projects/keyderive/instances/local/tables/readings".to_owned(),
        rows,
        ..ReadRowsRequest::default()
    });
    let routing = "table_name=projects%2Fkeyderive%2Finstances%2Flocal%2Ftables%2Freadings&app_profile_id=";
    request.metadata_mut().insert("x-goog-request-params", routing.parse().unwrap());
    let mut responses = client.read_rows(request).await?.into_inner();
    let mut count = 0;
    while let Some(response) = responses.message().await? {
        let response = response.decoded().map_err(|error| tonic::Status::internal(error.to_string()))?;
        let rows = response.chunks.iter().filter(|chunk| chunk.row_status.is_some()).count() as u64;
        count += rows;
        if is_scan {
            Done::count(&done.scanned, rows);
            if !done.goes_on() {
                break;
            }
        }
    }
    Ok(count)
}

async fn report(name: &str, done: &Arc<Done>, mut tasks: JoinSet<()>, seconds: u64) {
    let begun = Instant::now();
    let mut memory = Vec::new();
    for sixths in [1, 2, 3] {
        tokio::time::sleep(Duration::from_millis(seconds * 1000 * sixths / 6)).await;
        memory.push(format!("{} MiB", resident_mib()));
    }
    done.stop.store(true, Ordering::Relaxed);
    let elapsed = begun.elapsed().as_secs_f64();
    let rate = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64 / elapsed;
    println!(
        "| {name} | {:.0} | {:.0} | {} | {} |",
        rate(&done.reads),
        rate(&done.scanned),
        done.errors.load(Ordering::Relaxed),
        memory.join(", ")
    );
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

/// The resident memory of this process; 0 if the system does not tell.
fn resident_mib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096 / (1 << 20)
}
