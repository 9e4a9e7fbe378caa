//! The embedded Bigtable in memory and in a file: writes, reads and scans per second.
//!
//! `cargo run --release -p keyderive-bench --bin durable [directory]`. The file is created in the directory, or in
//! the one for temporary files: writes wait for that disk. Each row has a key of 24 bytes and one cell of 8.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::{DEFAULT_FAMILY, Mutation};
use keyderive::{Client, Error, RowKey};

const ROWS: u64 = 500_000;
const REQUEST_ROWS: u64 = 10_000;
const TIME: Duration = Duration::from_secs(3);
const WRITERS: usize = 64;

/// The table is created with this key type; its rows are written raw, by keys of another form.
#[derive(RowKey)]
struct ReadingKey {
    #[allow(dead_code)]
    id: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let file = directory.join(format!("keyderive-bench-{}", std::process::id()));
    let measured = measure_both(&file).await;
    std::fs::remove_file(&file)?;
    measured.map_err(Into::into)
}

async fn measure_both(file: &Path) -> Result<(), Error> {
    println!("in memory");
    measure(Client::embedded()).await?;
    println!("in a file");
    measure(Client::embedded_at(file).await?).await?;
    let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
    let begun = Instant::now();
    Client::embedded_at(file).await?;
    println!("  opened again in {:?}, of {} MB", begun.elapsed(), bytes >> 20);
    Ok(())
}

async fn measure(client: Client) -> Result<(), Error> {
    client.table::<ReadingKey, ()>("t").create_if_absent().await?;
    let table = client.raw_table("t");

    let begun = Instant::now();
    for first in (0..ROWS).step_by(REQUEST_ROWS as usize) {
        let rows = (first..first + REQUEST_ROWS).map(|id| (key(id).into(), cell(id))).collect();
        for outcome in table.mutate_rows(rows).await {
            outcome?;
        }
    }
    tell("rows loaded in requests of 10,000", ROWS, begun);

    let begun = Instant::now();
    let mut rows = table.read_rows(ReadRows::all());
    let mut count = 0;
    while let Some(row) = rows.next().await {
        row?;
        count += 1;
    }
    tell("rows scanned", count, begun);

    for tasks in [1, WRITERS] {
        let (begun, count) = repeat(&table, tasks, Action::Read).await?;
        tell(&format!("points read by {tasks}"), count, begun);
    }
    for tasks in [1, WRITERS] {
        let (begun, count) = repeat(&table, tasks, Action::Write).await?;
        tell(&format!("points written by {tasks}"), count, begun);
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Action {
    Read,
    Write,
}

/// Reads or writes random rows in `tasks` tasks, for some time.
async fn repeat(table: &RawTable, tasks: usize, action: Action) -> Result<(Instant, u64), Error> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.store(0, Ordering::Relaxed);
    let begun = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for seed in 0..tasks {
        let table = table.clone();
        running.spawn(async move {
            let mut rng = Rng::with_seed(seed as u64);
            while begun.elapsed() < TIME {
                let id = rng.u64(..ROWS);
                match action {
                    Action::Read => drop(table.read_row(key(id), None).await?),
                    Action::Write => table.mutate_row(key(id), cell(id)).await?,
                }
                COUNT.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, Error>(())
        });
    }
    for outcome in running.join_all().await {
        outcome?;
    }
    Ok((begun, COUNT.load(Ordering::Relaxed)))
}

fn key(id: u64) -> String {
    format!("{id:024}")
}

fn cell(id: u64) -> Vec<Mutation> {
    vec![Mutation::set(DEFAULT_FAMILY, "v", 1000, id.to_be_bytes().to_vec())]
}

fn tell(what: &str, count: u64, begun: Instant) {
    println!("  {what}: {:.0} a second", count as f64 / begun.elapsed().as_secs_f64());
}
