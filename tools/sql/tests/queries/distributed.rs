//! Random queries by datafusion-distributed, on workers that are processes, must have the rows that one process has.

use std::env;
use std::time::Duration;

use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt as _, display_plan_ascii};
use fastrand::Rng;
use keyderive::Client;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive_datafusion::KeyderiveCodec;

use crate::shared::{context, fill, lines, provider, query, rows};
use crate::statements::statement;
use crate::workers::{self, WORKERS, WorkerProcess, Workers, are_asked_for, distributed, serve};

/// No test, but what a worker runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    workers::work(|client| KeyderiveCodec::new().with(&provider(client))).await;
}

fn start(address: &str) -> WorkerProcess {
    workers::start("distributed::worker", address)
}

fn spread(client: &Client, config: SessionConfig, workers: &Workers) -> SessionContext {
    let table = provider(client);
    let context = distributed(config, KeyderiveCodec::new().with(&table), workers.clone()).unwrap();
    context.register_table("events", table).unwrap();
    context
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_workers_have_the_rows_of_one_process() {
    if !are_asked_for() {
        return;
    }
    let number = |name: &str, otherwise| env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (count, seed) = (number("KEYDERIVE_SQL_QUERIES", 200), number("KEYDERIVE_SQL_SEED", 4));
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, &rows(600)).await;
    let address = serve(&bigtable).await;
    let processes: Vec<_> = (0..WORKERS).map(|_| start(&address)).collect();
    let workers = Workers::default();
    workers.set(&processes);
    let mut random = Rng::with_seed(seed);
    let (mut on_workers, mut nonempty) = (0, 0);
    for _ in 0..count {
        let config = SessionConfig::new()
            .with_target_partitions(random.usize(1..5))
            .with_batch_size([2, 64, 8192][random.usize(0..3)]);
        let alone = context(provider(&client), config.clone());
        let mut spread = spread(&client, config, &workers);
        spread.set_distributed_broadcast_joins(random.bool()).unwrap();
        let (is_sorted, sql) = statement(&mut random);
        let (one, other) = (query(&alone, &sql).await, query(&spread, &sql).await);
        let (Ok(one), Ok(other)) = (&one, &other) else {
            assert!(one.is_err() && other.is_err(), "seed {seed}: {sql}: {one:?}, {other:?}");
            continue;
        };
        let plan = spread.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
        let expected = lines(one, is_sorted);
        let shown = display_plan_ascii(plan.as_ref(), false);
        assert_eq!(lines(other, is_sorted), expected, "seed {seed}: {sql}\n{shown}");
        on_workers += usize::from(shown.contains("Stage 1"));
        nonempty += usize::from(!expected.is_empty());
    }
    // The rows are read by workers, and written by this process.
    let spread = spread(&client, SessionConfig::new().with_target_partitions(2), &workers);
    let copy = "INSERT INTO events SELECT user_id, 'copy', at, seq, kind, amount, clicks FROM events";
    assert_eq!(lines(&query(&spread, copy).await.unwrap(), true), ["|600|"]);
    let copies = "SELECT count(*) FROM events WHERE site = 'copy'";
    assert_eq!(lines(&query(&spread, copies).await.unwrap(), true), ["|600|"]);
    eprintln!("{count} queries, {on_workers} on workers, {nonempty} with rows");
    assert!(
        on_workers * 3 > count as usize && nonempty * 3 > count as usize,
        "{on_workers} and {nonempty} of {count}"
    );
}

/// A query whose worker dies has the right rows or an error, also where the dead worker is still listed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_dies_changes_no_rows() {
    if !are_asked_for() {
        return;
    }
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, &rows(2_000)).await;
    // Each read of a worker is under way for so long.
    let slow =
        bigtable.with_faults(Faults::seeded(1).delay(Method::ReadRows, 1.0, Duration::from_millis(200)));
    let address = serve(&slow).await;
    let mut processes: Vec<_> = (0..WORKERS).map(|_| start(&address)).collect();
    let workers = Workers::default();
    let config = SessionConfig::new().with_target_partitions(2).with_batch_size(64);
    let alone = context(provider(&client), config.clone());
    let spread = spread(&client, config, &workers);
    let queries = [
        (false, "SELECT * FROM events"),
        (false, "SELECT site, count(*), sum(clicks) FROM events GROUP BY site"),
        (true, "SELECT user_id, site, at, seq FROM events ORDER BY user_id, site, at DESC, seq LIMIT 50"),
        (false, "SELECT a.seq FROM events a JOIN events b ON a.user_id = b.user_id AND a.seq = b.seq"),
    ];
    let mut errors = 0;
    for round in 0..12 {
        workers.set(&processes);
        let (is_sorted, sql) = queries[round % queries.len()];
        let expected = lines(&query(&alone, sql).await.unwrap(), is_sorted);
        // The first, the second or the third read has begun when the worker dies.
        let calls = slow.calls(Method::ReadRows) + 1 + round as u64 % 3;
        let reading = spread.clone();
        let reading = tokio::spawn(async move { query(&reading, sql).await });
        let is_reading = async {
            while slow.calls(Method::ReadRows) < calls {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), is_reading).await.unwrap();
        drop(processes.remove(round % WORKERS));
        let rows = tokio::time::timeout(Duration::from_secs(60), reading).await.unwrap().unwrap();
        for rows in [rows, query(&spread, sql).await] {
            match rows {
                Ok(rows) => assert_eq!(lines(&rows, is_sorted), expected, "{sql}"),
                Err(_) => errors += 1,
            }
        }
        workers.set(&processes);
        assert_eq!(lines(&query(&spread, sql).await.unwrap(), is_sorted), expected, "not listed: {sql}");
        processes.push(start(&address));
    }
    eprintln!("{errors} of 24 queries have an error");
}
