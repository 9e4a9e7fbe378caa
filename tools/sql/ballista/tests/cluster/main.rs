//! Random queries by Ballista, whose scheduler and executors are processes, must have the rows that one process has.
#![allow(missing_docs, clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

use std::env;
use std::fs;
use std::future;
use std::net::{Ipv4Addr, TcpListener as StdListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ballista::prelude::SessionConfigExt as _;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::exec_err;
use datafusion::prelude::{SessionConfig, SessionContext};
use fastrand::Rng;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::layouts::Layouts;
use keyderive_datafusion_ballista::Tables;
use tokio::net::TcpListener;
use tokio::time::timeout;

mod departures;
#[path = "../../../tests/queries/shared.rs"]
#[allow(dead_code)]
mod shared;
#[path = "../../../tests/queries/statements.rs"]
mod statements;

use shared::{Event, EventKey, context, fill, lines, provider, query, rows};
use statements::statement;

/// How long a query may take, also while executors die.
const PATIENCE: Duration = Duration::from_secs(40);

fn are_asked_for() -> bool {
    let are = env::var_os("KEYDERIVE_ENGINES").is_some();
    if !are {
        eprintln!("left out: queries by Ballista; KEYDERIVE_ENGINES=1 runs them");
    }
    are
}

fn free_port() -> u16 {
    StdListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A process, which ends with this value.
struct Process(Child);

impl Process {
    /// Waits until it listens on the port.
    fn start(port: u16, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyderive-datafusion-ballista"));
        let mut child = Self(command.args(arguments).stdout(Stdio::null()).spawn().unwrap());
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(child.0.try_wait().unwrap().is_none(), "{arguments:?} has ended");
            assert!(start.elapsed() < Duration::from_secs(30), "{arguments:?} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        child
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A scheduler and executors of a Bigtable.
struct Cluster {
    bigtable: String,
    folder: PathBuf,
    layouts: String,
    scheduler: String,
    _scheduler: Process,
    executors: Vec<Process>,
    started: usize,
}

impl Cluster {
    async fn start(bigtable: &Bigtable, of: &Layouts, executors: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = format!("emulator://{}", listener.local_addr().unwrap());
        let served = bigtable.clone();
        tokio::spawn(async move { served.serve(listener, future::pending()).await });

        let port = free_port();
        let folder = env::temp_dir().join(format!("keyderive-ballista-{}-{port}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let layouts = folder.join("layouts.json").to_str().unwrap().to_owned();
        fs::write(&layouts, of.to_json()).unwrap();
        let scheduler = Process::start(port, &["scheduler", &port.to_string(), &address, &layouts]);
        let mut cluster = Self {
            bigtable: address,
            folder,
            layouts,
            scheduler: format!("127.0.0.1:{port}"),
            _scheduler: scheduler,
            executors: Vec::new(),
            started: 0,
        };
        (0..executors).for_each(|_| cluster.add());
        cluster
    }

    fn add(&mut self) {
        let (port, folder) = (free_port(), self.folder.join(self.started.to_string()));
        fs::create_dir(&folder).unwrap();
        let arguments = [
            "executor",
            &port.to_string(),
            &self.scheduler,
            folder.to_str().unwrap(),
            &self.bigtable,
            &self.layouts,
        ];
        self.executors.push(Process::start(port, &arguments));
        self.started += 1;
    }

    async fn session(&self, config: SessionConfig) -> SessionContext {
        let tables = Tables::connect(&self.bigtable, Path::new(&self.layouts)).await.unwrap();
        tables.session(&self.scheduler, config).await.unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.executors.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn events() -> Layouts {
    Layouts::new().table::<EventKey, Event>("events")
}

async fn patiently(context: &SessionContext, sql: &str) -> datafusion::error::Result<Vec<RecordBatch>> {
    let rows = timeout(PATIENCE, query(context, sql)).await;
    rows.unwrap_or_else(|_| exec_err!("no answer in {PATIENCE:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executors_have_the_rows_of_one_process() {
    if !are_asked_for() {
        return;
    }
    let number = |name: &str, otherwise| env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (count, seed) = (number("KEYDERIVE_SQL_QUERIES", 100), number("KEYDERIVE_SQL_SEED", 5));
    // It counts calls.
    let bigtable = Bigtable::in_memory().with_faults(Faults::seeded(1));
    let client = bigtable.client();
    fill(&client, &rows(600)).await;
    let cluster = Cluster::start(&bigtable, &events(), 2).await;
    let mut random = Rng::with_seed(seed);
    let (mut nonempty, mut reads, mut refused) = (0, 0, 0);
    for _ in 0..count {
        let config = SessionConfig::new()
            .with_target_partitions(random.usize(1..5))
            .with_batch_size([2, 64, 8192][random.usize(0..3)]);
        let alone = context(provider(&client), config.clone());
        let (is_sorted, sql) = statement(&mut random);
        let one = query(&alone, &sql).await;
        let before = bigtable.calls(Method::ReadRows);
        // The adaptive planner does not end a window over no rows.
        let is_adaptive = random.bool() && !sql.contains("row_number");
        let config = config.upgrade_for_ballista().with_ballista_adaptive_query_planner(is_adaptive);
        let other = patiently(&cluster.session(config).await, &sql).await;
        reads += bigtable.calls(Method::ReadRows) - before;
        match (one, other) {
            (Ok(one), Ok(other)) => {
                let expected = lines(&one, is_sorted);
                assert_eq!(lines(&other, is_sorted), expected, "seed {seed}, adaptive {is_adaptive}: {sql}");
                nonempty += u64::from(!expected.is_empty());
            }
            (Err(_), Err(_)) => {}
            // DataFusion cannot decode a logical plan in which it found that a table has no rows.
            (_, Err(error)) => {
                let text = error.to_string();
                assert!(
                    text.contains("Could not parse plan"),
                    "seed {seed}, adaptive {is_adaptive}: {sql}: {text}"
                );
                refused += 1;
            }
            (Err(error), Ok(rows)) => panic!("seed {seed}: {sql}: {error}, and {rows:?}"),
        }
    }
    eprintln!("{count} queries, {nonempty} with rows, {reads} reads of executors, {refused} refused");
    assert!(
        nonempty * 3 > count && reads > count && refused * 5 < count,
        "{nonempty}, {reads} and {refused} of {count}"
    );
}

/// A query whose executor dies has the right rows or an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_executor_that_dies_changes_no_rows() {
    if !are_asked_for() {
        return;
    }
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, &rows(2_000)).await;
    // Each read of an executor is under way for so long.
    let slow =
        bigtable.with_faults(Faults::seeded(1).delay(Method::ReadRows, 1.0, Duration::from_millis(300)));
    let mut cluster = Cluster::start(&slow, &events(), 3).await;
    let config = SessionConfig::new().with_target_partitions(4).with_batch_size(64);
    let alone = context(provider(&client), config.clone());
    let mut outcomes = Vec::new();
    for (round, (is_sorted, sql)) in [
        (false, "SELECT * FROM events"),
        (false, "SELECT site, count(*), sum(clicks) FROM events GROUP BY site"),
        (true, "SELECT user_id, site, at, seq FROM events ORDER BY user_id, site, at DESC, seq LIMIT 50"),
        (false, "SELECT a.seq FROM events a JOIN events b ON a.user_id = b.user_id AND a.seq = b.seq"),
    ]
    .into_iter()
    .enumerate()
    {
        let expected = lines(&query(&alone, sql).await.unwrap(), is_sorted);
        let session = cluster.session(config.clone()).await;
        let calls = slow.calls(Method::ReadRows) + 1 + round as u64 % 3;
        let reading = tokio::spawn(async move { patiently(&session, sql).await });
        let is_reading = async {
            while slow.calls(Method::ReadRows) < calls {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, is_reading).await.unwrap();
        drop(cluster.executors.remove(round % cluster.executors.len()));
        let start = Instant::now();
        let rows = reading.await.unwrap();
        outcomes.push(match rows {
            Ok(rows) => {
                assert_eq!(lines(&rows, is_sorted), expected, "{sql}");
                format!("the rows after {:.0?}", start.elapsed())
            }
            Err(error) => format!("after {:.0?}: {error}", start.elapsed()),
        });
        cluster.add();
    }
    eprintln!("{outcomes:#?}");
}
