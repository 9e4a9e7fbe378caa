//! Sums over a connection that loses one answer in ten, beside a server in memory, and one in a file that is killed.
//!
//! `KEYDERIVE_SUM_ADDS` is the number of additions, and `KEYDERIVE_SUM_KILLS` that of the kills, 3 by default.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keyderive::client::Settings;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::row::Sum;
use keyderive::{Client, Error, Row, Table};
use keyderive_tests::fixtures::{UserKey, created};
use keyderive_tests::{Folder, amount, variable};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{FILE, child};

const TASKS: u64 = 8;
const PAGES: u64 = 16;

/// How many additions share a request.
const BATCH: u64 = 50;

/// Passes the port to a child.
const PORT: &str = "KEYDERIVE_SUMS_CHILD_PORT";

#[derive(Row)]
struct Page {
    #[row(family = "sums")]
    hits: Sum,
}

type Pages = Table<UserKey, Page>;

/// Loses the answer to one write in ten.
fn lossy(bigtable: &Bigtable) -> Bigtable {
    let lost = || Fault::unavailable().after_the_call();
    let faults =
        Faults::seeded(19).fail(Method::MutateRow, 0.1, lost()).fail(Method::MutateRows, 0.1, lost());
    bigtable.with_faults(faults)
}

fn hasty(settings: &mut Settings) {
    // Every addition is retried, however many fail.
    settings.retry_budget = false;
    settings.each(|call| {
        call.backoff.initial = Duration::from_millis(1);
        call.backoff.max = Duration::from_millis(50);
        call.total_timeout = Duration::from_secs(120);
    });
}

async fn pages(host: &str) -> Pages {
    let client = Client::builder().connections(2).settings(hasty).emulator(host.to_owned()).await.unwrap();
    created(&client, "pages").await
}

async fn sum(pages: &Pages) -> u64 {
    let mut sum = 0;
    let mut rows = pages.scan(UserKey::scan()).stream();
    while let Some(row) = rows.next().await {
        sum += row.unwrap().1.hits.get().cast_unsigned();
    }
    sum
}

/// How a task adds.
#[derive(Clone, Copy)]
enum By {
    /// One by one.
    Update,
    /// Many in a request.
    UpdateAll,
    Writer,
}

/// Adds this often; returns how many additions failed, each of which is then made again.
async fn add(pages: Pages, by: By, adds: u64) -> Result<u64, Error> {
    let key = |number: u64| UserKey { id: number % PAGES };
    let add = |number| pages.update(&key(number)).add(Page::HITS, 1);
    let mut again = 0;
    match by {
        By::Update => {
            for number in 0..adds {
                while let Err(error) = add(number).await {
                    assert!(error.is_outcome_unknown(), "{error}");
                    again += 1;
                }
            }
        }
        By::UpdateAll => {
            for first in (0..adds).step_by(BATCH as usize) {
                pages.update_all((first..adds.min(first + BATCH)).map(add)).await?;
            }
        }
        By::Writer => {
            let writer = pages.writer();
            for number in 0..adds {
                writer.update(add(number)).await?;
            }
            writer.close().await.unwrap();
        }
    }
    Ok(again)
}

/// Adds by 8 tasks, and returns how many additions were made again.
async fn add_by_tasks(pages: &Pages, adds: u64, by: fn(u64) -> By) -> u64 {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(add(pages.clone(), by(task), adds / TASKS));
    }
    tasks.join_all().await.into_iter().map(Result::unwrap).sum()
}

fn adds() -> u64 {
    amount("KEYDERIVE_SUM_ADDS", "additions to sums over a connection that loses answers", 2_000, 16_000)
        / TASKS
        * TASKS
}

/// A Bigtable on a port until it is dropped.
struct Served {
    host: String,
    _end: tokio::sync::oneshot::Sender<()>,
}

async fn served(bigtable: Bigtable) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (end, ended) = tokio::sync::oneshot::channel();
    tokio::spawn(async move { bigtable.serve(listener, async { drop(ended.await) }).await });
    Served { host, _end: end }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_addition_counts_once_when_answers_are_lost() {
    let bigtable = lossy(&Bigtable::in_memory());
    let served = served(bigtable.clone()).await;
    let (pages, begun) = (pages(&served.host).await, Instant::now());
    let by = |task| [By::Update, By::Update, By::UpdateAll, By::Writer][task as usize % 4];
    let again = add_by_tasks(&pages, adds(), by).await;
    let requests = bigtable.calls(Method::MutateRow);
    println!("{} additions, {requests} `MutateRow` requests: {:.1?}", adds(), begun.elapsed());
    assert_eq!((sum(&pages).await, again), (adds(), 0));
    // Half of them were sent one by one, and one in ten again.
    assert!(requests > adds() / 2 + adds() / 40, "{requests}");
}

/// A program that cannot rely on tokens makes a call again, and counts twice what was applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_tokens_some_additions_count_twice() {
    let served = served(lossy(&Bigtable::in_memory())).await;
    let tokens_off = |settings: &mut Settings| settings.idempotency_tokens = Some(false);
    let pages = pages(&served.host).await.with(tokens_off);
    let adds = adds() / 10 / TASKS * TASKS;
    let again = add_by_tasks(&pages, adds, |_| By::Update).await;
    let sum = sum(&pages).await;
    println!("{adds} additions, {again} of unknown outcome and made again: the sum is {sum}");
    assert!(again > 0 && sum == adds + again, "{sum} of {adds}");
}

/// A process with the file on a port, which is killed when it is dropped.
struct Server(Child);

impl Server {
    fn start(file: &std::path::Path, port: u16) -> Self {
        let mut child = child("sums::serves_a_file_until_it_is_killed", file);
        let mut child = child.env(PORT, port.to_string()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line == "serving"), "it does not serve");
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_addition_counts_once_when_the_server_is_killed() {
    let folder = Folder::new("sums");
    let file = folder.join("sums.keyderive");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::start(&file, port);
    let pages = pages(&format!("127.0.0.1:{port}")).await;
    let (adds, kills) = (adds(), variable("KEYDERIVE_SUM_KILLS", 3));
    let by = |task| [By::Update, By::UpdateAll, By::Writer, By::UpdateAll][task as usize % 4];
    let again = Arc::new(AtomicU64::new(0));
    let adding = tokio::spawn({
        let (pages, again) = (pages.clone(), Arc::clone(&again));
        async move { again.store(add_by_tasks(&pages, adds, by).await, Ordering::Relaxed) }
    });
    let (begun, mut server, mut killed) = (Instant::now(), Some(server), 0);
    while !adding.is_finished() {
        tokio::time::sleep(Duration::from_millis(300)).await;
        if killed < kills {
            killed += 1;
            let (file, old) = (file.clone(), server.take());
            let restart = move || {
                drop(old);
                Server::start(&file, port)
            };
            server = Some(tokio::task::spawn_blocking(restart).await.unwrap());
        }
    }
    adding.await.unwrap();
    println!("{adds} additions, {killed} kills: {:.1?}", begun.elapsed());
    assert!(killed > 0, "the additions ended before the first kill");
    assert_eq!((sum(&pages).await, again.load(Ordering::Relaxed)), (adds, 0));
}

/// Runs in a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_a_file_until_it_is_killed() {
    let (Some(file), Ok(port)) = (std::env::var_os(FILE), std::env::var(PORT)) else { return };
    let bigtable = lossy(&Bigtable::open(file).await.unwrap());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
    println!("\nserving");
    bigtable.serve(listener, std::future::pending()).await.unwrap();
}
