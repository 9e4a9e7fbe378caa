//! What all of a run shares: its seed, its time, its trace, and the Bigtable, which is restarted.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fastrand::Rng;
use keyderive::__private::connected_by_clock;
use keyderive::Client;
use keyderive::client::Settings;
use keyderive_embedded::{Bigtable, FaultRule, Faults};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::disk::{Disk, File};
use crate::network;

/// The time at which every run begins, in microseconds since the epoch.
const BEGIN: u64 = 1_800_000_000_000_000;

/// More than any run has events that ends.
const MOST_EVENTS: Moment = 200_000;

/// A place in the order of everything that happens in a run.
pub(crate) type Moment = u64;

/// A write of a row that reached the server.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    /// The number of the client that sent it.
    pub(crate) client: usize,
    pub(crate) key: Bytes,
    /// When the request arrived.
    pub(crate) arrived: Moment,
    /// When the server was called. It may have applied it later, or not at all.
    pub(crate) begin: Moment,
}

/// A run. Clones share it.
#[derive(Clone)]
pub(crate) struct World(Arc<Inner>);

pub(crate) struct Inner {
    begun: Instant,
    trace: Mutex<Trace>,
    rng: Mutex<Rng>,
    /// None for a Bigtable in memory.
    disk: Option<Disk>,
    server: Mutex<Option<Server>>,
    /// The Bigtable without a disk, which lives on when a process of the server ends.
    memory: Bigtable,
    /// Whether the network and the disk have faults.
    is_faulty: AtomicBool,
    /// The client that cannot read the state of the re-keying, if there is one.
    pub(crate) blind: Mutex<Option<usize>>,
    /// The server that has lost its power, until it is restarted.
    pub(crate) power_failed: Notify,
    pub(crate) applied: Mutex<Vec<Application>>,
    /// Whether a table is re-keyed.
    pub(crate) is_rekeyed: bool,
    /// The longest time after its arrival at which a write is applied.
    pub(crate) latest: Duration,
    /// Requests in progress, and the most at any time.
    open: AtomicU64,
    most_open: AtomicU64,
}

struct Trace {
    hasher: DefaultHasher,
    events: Moment,
    to: TraceTo,
    text: String,
}

/// What becomes of the trace of a run, beside its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceTo {
    Nowhere,
    Stderr,
    /// It is returned.
    Text,
}

/// A process of the server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) bigtable: Bigtable,
    /// Its connections, and requests whose clients do not wait any more.
    pub(crate) tasks: Arc<Mutex<JoinSet<()>>>,
    /// Its file, if it has one.
    disk: Option<(Disk, u64)>,
}

impl Server {
    /// Whether its power has failed.
    pub(crate) fn is_lost(&self) -> bool {
        self.disk.as_ref().is_some_and(|(disk, opened)| disk.failures() != *opened)
    }
}

impl World {
    pub(crate) fn new(seed: u64, to: TraceTo) -> Self {
        // From here on, what the library draws in this thread.
        fastrand::seed(seed);
        let mut rng = Rng::with_seed(seed);
        let disk = rng.bool().then(|| Disk::new(rng.fork()));
        let memory = Bigtable::in_memory();
        let is_rekeyed = rng.bool();
        // A driver waits for what is late only so long.
        let latest = Duration::from_millis(if is_rekeyed { 400 } else { rng.u64(50..3_000) });
        Self(Arc::new(Inner {
            begun: Instant::now(),
            trace: Mutex::new(Trace { hasher: DefaultHasher::new(), events: 0, to, text: String::new() }),
            rng: Mutex::new(rng),
            disk,
            server: Mutex::new(None),
            memory,
            is_faulty: AtomicBool::new(false),
            blind: Mutex::default(),
            power_failed: Notify::new(),
            applied: Mutex::default(),
            is_rekeyed,
            latest,
            open: AtomicU64::new(0),
            most_open: AtomicU64::new(0),
        }))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Adds to the trace.
    pub(crate) fn event(&self, event: fmt::Arguments<'_>) -> Moment {
        let line = format!("{:>13.6} {event}", self.0.begun.elapsed().as_secs_f64());
        let mut trace = self.0.trace.lock().unwrap();
        line.hash(&mut trace.hasher);
        trace.events += 1;
        assert!(trace.events < MOST_EVENTS, "it does not end");
        let line = format!("{:>6} {line}\n", trace.events);
        match trace.to {
            TraceTo::Nowhere => {}
            TraceTo::Stderr => drop(std::io::stderr().write_all(line.as_bytes())),
            TraceTo::Text => trace.text.push_str(&line),
        }
        trace.events
    }

    /// How many events there were, their hash, and their text if it was asked for.
    pub(crate) fn trace(&self) -> (Moment, u64, String) {
        let mut trace = self.0.trace.lock().unwrap();
        (trace.events, trace.hasher.finish(), std::mem::take(&mut trace.text))
    }

    /// A generator of its own for a part of the run.
    pub(crate) fn fork(&self) -> Rng {
        self.0.rng.lock().unwrap().fork()
    }

    /// Draws.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.0.rng.lock().unwrap())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.begun.elapsed()
    }

    fn micros(&self) -> u64 {
        BEGIN + u64::try_from(self.elapsed().as_micros()).unwrap()
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.0.is_faulty.load(Ordering::Relaxed)
    }

    pub(crate) fn set_faulty(&self, is_faulty: bool) {
        self.0.is_faulty.store(is_faulty, Ordering::Relaxed);
        *self.0.blind.lock().unwrap() = None;
        if let (false, Some(disk)) = (is_faulty, &self.0.disk) {
            disk.heal();
        }
    }

    pub(crate) fn disk(&self) -> Option<&Disk> {
        self.0.disk.as_ref()
    }

    /// Counts a request as in progress.
    pub(crate) fn enter(&self) -> Open {
        let open = self.0.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.most_open.fetch_max(open, Ordering::Relaxed);
        Open(self.clone())
    }

    /// Requests in progress, and the most at any time.
    pub(crate) fn open(&self) -> (u64, u64) {
        (self.0.open.load(Ordering::Relaxed), self.0.most_open.load(Ordering::Relaxed))
    }

    /// The server, if it runs. Its clock shows the time.
    pub(crate) fn server(&self) -> Option<Server> {
        let server = self.0.server.lock().unwrap().clone()?;
        server.bigtable.set_time(time(self.micros()));
        Some(server)
    }

    /// A process of the server. Its answers have some rows in several parts.
    fn serving(&self, bigtable: &Bigtable, disk: Option<(Disk, u64)>) -> Server {
        let faults = Faults::seeded(self.draw(|rng| rng.u64(..))).rule(FaultRule::split_rows(0.3));
        Server { bigtable: bigtable.with_faults(faults), tasks: Arc::default(), disk }
    }

    /// Starts the server.
    pub(crate) async fn start(&self) {
        let server = loop {
            let Some(disk) = &self.0.disk else { break self.serving(&self.0.memory, None) };
            let file: File = disk.open();
            let opened = disk.failures();
            match Bigtable::open_on(Arc::new(file), "the file") {
                Ok(bigtable) => break self.serving(&bigtable, Some((disk.clone(), opened))),
                Err(error) => {
                    // Only a fault of the disk excuses that.
                    assert!(self.is_faulty(), "the file {error}");
                    self.event(format_args!("the file {error}"));
                    let text = error.to_string();
                    assert!(!text.contains("damaged"), "a power failure has damaged the file: {text}");
                    sleep(Duration::from_millis(500)).await;
                }
            }
        };
        server.bigtable.set_time(time(self.micros()));
        self.event(format_args!("the server starts"));
        *self.0.server.lock().unwrap() = Some(server);
    }

    /// Ends the server, with all its connections.
    pub(crate) async fn stop(&self) {
        let Some(server) = self.0.server.lock().unwrap().take() else { return };
        self.event(format_args!("the server stops"));
        let mut tasks = std::mem::take(&mut *server.tasks.lock().unwrap());
        tasks.shutdown().await;
    }

    /// A client with this number, whose clock is so much ahead.
    pub(crate) fn client(&self, number: usize, ahead_micros: i64, settings: fn(&mut Settings)) -> Client {
        let connections = self.draw(|rng| rng.usize(1..=3));
        let builder = Client::builder().connections(connections).settings(settings);
        let (world, clock) = (self.clone(), self.clone());
        let connect = move || network::connect(world.clone(), number);
        connected_by_clock(builder, connect, move || {
            let now = i64::try_from(clock.micros()).unwrap() + ahead_micros;
            now - now.rem_euclid(1000)
        })
        .unwrap()
    }
}

fn time(micros: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros)
}

/// A request in progress.
pub(crate) struct Open(World);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
