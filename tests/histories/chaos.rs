//! Scans and loads over connections that keep breaking: no row is lost, duplicated or out of order, and every row
//! reported as written is there.
//!
//! `KEYDERIVE_CHAOS_ROUNDS` is the number of scans and loads, and `KEYDERIVE_CHAOS_ROWS` the rows of each scan, 20,000 by default.
//! `KEYDERIVE_CHAOS_SEED` repeats the faults of a run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyderive::client::Settings;
use keyderive::{Client, Row, RowKey, Table};
use keyderive_tests::emulator::Emulator;
use keyderive_tests::{amount, variable};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 8, over = "id")]
struct ReadingKey {
    load: u32,
    id: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Reading {
    value: u64,
    unit: String,
}

type Readings = Table<ReadingKey, Reading>;

/// The load that is scanned; the others count from 0.
const SCANNED: u32 = 1_000_000;

/// How many rows a load has.
const LOADED: u32 = 20_000;

/// Settings for a network that breaks within a second.
fn hasty(settings: &mut Settings) {
    settings.each(|call| {
        call.idle_timeout = Duration::from_millis(500);
        call.attempt_timeout = call.attempt_timeout.min(Duration::from_secs(5));
        call.total_timeout = Duration::from_secs(300);
        call.max_attempts = 30;
        call.backoff.max = Duration::from_millis(200);
    });
}

fn reading(load: u32, id: u32) -> (ReadingKey, Reading) {
    let value = u64::from(load) << 32 | u64::from(id);
    (ReadingKey { load, id }, Reading { value, unit: "kWh".to_owned() })
}

/// The stored rows of a load, in order.
async fn stored(readings: &Readings, load: u32) -> Vec<(ReadingKey, Reading)> {
    let mut rows = readings.scan(ReadingKey::scan().load(load)).stream();
    let mut stored = Vec::new();
    while let Some(row) = rows.next().await {
        stored.push(row.unwrap_or_else(|error| panic!("after {} rows: {error}", stored.len())));
    }
    stored
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_or_doubled_when_connections_break() {
    let Some(emulator) = Emulator::start() else { return };
    let rounds = amount("KEYDERIVE_CHAOS_ROUNDS", "scans and loads beside broken connections", 1, 3) as u32;
    let rows = variable("KEYDERIVE_CHAOS_ROWS", 20_000) as u32;
    let seed = variable("KEYDERIVE_CHAOS_SEED", fastrand::u64(..));
    println!("KEYDERIVE_CHAOS_SEED={seed}, {rounds} rounds, {rows} rows a scan");

    let steady: Readings = Client::emulator(emulator.host()).await.unwrap().table("readings");
    steady.create_if_absent().await.unwrap();
    let expected: Vec<_> = (0..rows).map(|id| reading(SCANNED, id)).collect();
    steady.put_all(&expected).await.unwrap();

    let proxy = Proxy::start(&emulator.host(), seed).await;
    let client = Client::builder().connections(2).settings(hasty).emulator(proxy.host()).await.unwrap();
    let readings: Readings = client.table("readings");

    let begun = Instant::now();
    for round in 0..rounds {
        let scanned = stored(&readings, SCANNED).await;
        assert!(scanned == expected, "scan {round} of seed {seed} has {} rows", scanned.len());
    }
    println!("{rounds} scans: {:.1?}, {} connections broken", begun.elapsed(), proxy.broken());

    let (begun, broken) = (Instant::now(), proxy.broken());
    for load in 0..rounds {
        let writer = readings.writer();
        for id in 0..LOADED {
            let (key, reading) = reading(load, id);
            writer.put(&key, &reading).await.unwrap();
        }
        let failed = match writer.close().await {
            Ok(written) => {
                assert_eq!(written, u64::from(LOADED));
                Vec::new()
            }
            Err(errors) => {
                println!("load {load}: {errors}");
                errors.failed().iter().map(|failed| failed.key().to_vec()).collect()
            }
        };
        let there = stored(&steady, load).await;
        let mut there = there.into_iter().peekable();
        for id in 0..LOADED {
            let (key, reading) = reading(load, id);
            match there.next_if(|(stored, _)| *stored == key) {
                Some((_, stored)) => assert_eq!(stored, reading),
                None => assert!(
                    failed.contains(&key.encode().unwrap()),
                    "{key:?} was reported written and is not there, seed {seed}"
                ),
            }
        }
        assert!(there.next().is_none());
    }
    println!("{rounds} loads: {:.1?}, {} connections broken", begun.elapsed(), proxy.broken() - broken);
    assert!(proxy.broken() > u64::from(rounds), "only {} connections were broken", proxy.broken());
}

/// A TCP proxy that breaks connections at random, in the same way for the same seed. It ends when dropped.
struct Proxy {
    address: SocketAddr,
    broken: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Both sides are closed.
    Cut,
    /// Both sides are reset.
    Reset,
    /// Nothing passes any more, and the connection stays open.
    Stall,
}

/// How long a stalled connection stays open.
const STALLED: Duration = Duration::from_secs(2);

impl Proxy {
    /// Starts a proxy to the server at `host`, with the faults of `seed`.
    async fn start(host: &str, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let broken = Arc::new(AtomicU64::new(0));
        let (host, count) = (host.to_owned(), Arc::clone(&broken));
        let accepting = tokio::spawn(async move {
            let mut rng = Rng::with_seed(seed);
            // Aborted with the proxy, along with its connections.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (host, count, rng) = (host.clone(), Arc::clone(&count), rng.fork());
                connections.spawn(async move {
                    pass(client, &host, rng).await;
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        Self { address, broken, accepting }
    }

    /// Its address, as `Client::emulator` takes it.
    fn host(&self) -> String {
        self.address.to_string()
    }

    /// How many connections have ended.
    fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Forwards bytes both ways, up to a random number of them, and then breaks the connection.
async fn pass(mut client: TcpStream, host: &str, mut rng: Rng) {
    let Ok(mut server) = TcpStream::connect(host).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let fault = [Fault::Cut, Fault::Reset, Fault::Stall][rng.usize(..3)];
    // Some lives are short, so that connections break before their first answer.
    let mut left = if rng.u8(..8) == 0 { rng.usize(..2_000) } else { rng.usize(100_000..3_000_000) };
    let (mut down, mut up) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    while left > 0 {
        let passed = tokio::select! {
            read = server.read(&mut down) => forward(read, &down, left, &mut client).await,
            read = client.read(&mut up) => forward(read, &up, left, &mut server).await,
        };
        let Some(passed) = passed else { return };
        left -= passed;
    }
    match fault {
        Fault::Cut => {}
        Fault::Reset => {
            let _ = client.set_zero_linger();
            let _ = server.set_zero_linger();
        }
        Fault::Stall => sleep(STALLED).await,
    }
}

/// Forwards at most `left` of the bytes that were read; how many, unless a side has ended.
async fn forward(
    read: std::io::Result<usize>,
    bytes: &[u8],
    left: usize,
    to: &mut TcpStream,
) -> Option<usize> {
    let count = read.ok().filter(|count| *count > 0)?.min(left);
    to.write_all(&bytes[..count]).await.ok().map(|()| count)
}
