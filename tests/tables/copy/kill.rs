//! Departures that processes copy to another key type, each killed in the middle and continued by the next one.
//!
//! A few thousand by default; all 336,776 if `KEYDERIVE_FLIGHTS` names a file of them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use keyderive::GcRule;
use keyderive::client::Aggregate;
use keyderive::embedded::{Bigtable, FaultRule, Faults, Method};
use keyderive::key::fingerprint64;
use keyderive::row::Mutation;
use keyderive::table::copy::CopyReport;
use keyderive_tests::Folder;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::flights::data::{self, Flight, FlightKey};

/// How many processes are killed.
const KILLS: u64 = 3;

/// Passes the Bigtable's address and a folder to the child; without them, the child's test does nothing.
const HOST: &str = "KEYDERIVE_COPY_CHILD_HOST";
const FOLDER: &str = "KEYDERIVE_COPY_CHILD_FOLDER";

fn is_whole_year() -> bool {
    std::env::var_os(data::ALL).is_some()
}

/// How many rows one request of a child writes, at most: so few that a child sends several times as many requests before it is
/// killed as its look-ahead holds. Otherwise each partition may have an early row that is not written, and no checkpoint is due.
fn batch_rows() -> u64 {
    if is_whole_year() { 2_000 } else { 20 }
}

/// A Bigtable on a port until it is dropped.
struct Served {
    bigtable: Bigtable,
    host: String,
    serving: JoinHandle<()>,
}

impl Served {
    async fn start(bigtable: Bigtable) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let served = bigtable.clone();
        let serving = tokio::spawn(async move {
            let _ = served.serve(listener, std::future::pending()).await;
        });
        Self { bigtable, host, serving }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(RowKey, Debug)]
#[salt(range = 8, over = "origin,hour")]
struct DepartureKey {
    origin: String,
    #[reverse_ts(max = 9999999999)]
    hour: u64,
    carrier: String,
    #[pad(4)]
    flight: u16,
}

fn departure_key(key: FlightKey) -> DepartureKey {
    let FlightKey { carrier, flight, hour, origin } = key;
    DepartureKey { origin, hour, carrier, flight }
}

fn flights(client: &Client) -> (Table<FlightKey, Flight>, Table<DepartureKey, Flight>) {
    (client.table("flights"), client.table("departures"))
}

/// The number of rows, and a sum of hashes of all cells with the keys that `new_key` makes of their rows' keys.
async fn checksum(table: &RawTable, new_key: impl Fn(&[u8]) -> Vec<u8>) -> (u64, u64, u64) {
    let mut rows = table.read_rows(ReadRows::all());
    let (mut count, mut cells, mut sum) = (0, 0, 0_u64);
    while let Some(row) = rows.try_next().await.unwrap() {
        count += 1;
        let key = new_key(row.key());
        for cell in row.cells() {
            cells += 1;
            let parts = [&key[..], cell.family().as_bytes(), cell.qualifier(), cell.value()];
            let at = cell.timestamp_micros().to_be_bytes();
            let lengths = parts.map(|part| part.len().to_string()).join("#");
            sum = sum.wrapping_add(fingerprint64(&[&parts.concat(), &at[..], lengths.as_bytes()].concat()));
        }
    }
    (count, cells, sum)
}

fn child(host: &str, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "copy::kill::copies_until_it_is_killed", "--nocapture", "--test-threads=1"]);
    command.env(HOST, host).env(FOLDER, folder).stdout(Stdio::null()).spawn().unwrap()
}

/// The rows that the stored checkpoint is after.
fn copied(folder: &Path) -> u64 {
    let Ok(text) = std::fs::read(folder.join("checkpoint")) else { return 0 };
    let stored: serde_json::Value = serde_json::from_slice(&text).unwrap();
    stored["copied"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_are_killed_and_resumed_end_with_every_cell() {
    let rows = data::read();
    let count = rows.len() as u64;
    let folder = Folder::new("copy-killed");
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    let (old, new) = flights(&client);
    let rules = || GcRule::max_versions(3);
    old.create()
        .family("cf", rules())
        .aggregate_family("sums", Aggregate::Sum, GcRule::never())
        .await
        .unwrap();
    new.create()
        .family("cf", rules())
        .aggregate_family("sums", Aggregate::Sum, GcRule::never())
        .await
        .unwrap();
    // Some rows in several versions.
    old.load_iter(&rows).await.unwrap().all_written().unwrap();
    old.load_iter(rows.iter().step_by(4)).await.unwrap().all_written().unwrap();
    // Sums, and columns that the row type lacks.
    let raw = client.raw_table("flights").writer();
    for (number, (key, _)) in rows.iter().enumerate().filter(|(number, _)| number % 3 == 0) {
        let hits = Mutation::add_to_cell("sums", "hits", 0, 1 + number as i64);
        let seats = Mutation::set("cf", "seats", 1_000, number.to_string());
        raw.write(key.encode().unwrap(), vec![hits, seats]).await.unwrap();
    }
    raw.close().await.unwrap();
    drop(rows);

    let mut marks = vec![0];
    for _ in 0..KILLS {
        // The child writes its part of the rows, and waits for the next response until it is killed: on any machine it is killed
        // in the middle.
        let writes = count / (KILLS + 1) / batch_rows();
        let stops = FaultRule::delay(Duration::from_secs(3600)).methods([Method::MutateRows]).skip(writes);
        let server = Served::start(bigtable.with_faults(Faults::seeded(0).rule(stops))).await;
        let mut child = child(&server.host, &folder);
        let (begun, last) = (Instant::now(), marks[marks.len() - 1]);
        while server.bigtable.calls(Method::MutateRows) <= writes || copied(&folder) <= last {
            assert!(begun.elapsed() < Duration::from_secs(300), "the child does nothing");
            assert!(child.try_wait().unwrap().is_none(), "the copy ended by itself");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "the copy ended by itself");
        marks.push(copied(&folder));
    }
    assert!(marks.is_sorted() && marks.last() < Some(&count), "{marks:?}");
    // Another process ends it, and compares both tables.
    let server = Served::start(bigtable.clone()).await;
    let last = tokio::task::spawn_blocking({
        let (host, folder) = (server.host.clone(), folder.to_path_buf());
        move || child(&host, &folder).wait().unwrap()
    });
    assert!(last.await.unwrap().success());
    drop(server);
    let ended = std::fs::read_to_string(folder.join("report")).unwrap();

    let new_key = |key: &[u8]| departure_key(FlightKey::decode(key).unwrap()).encode().unwrap();
    let before = checksum(&client.raw_table("flights"), new_key).await;
    let after = checksum(&client.raw_table("departures"), <[u8]>::to_vec).await;
    assert_eq!((before, before.0), (after, count));
    let diff = old.diff(&new, |key, _| departure_key(key)).await.unwrap();
    assert!(diff.is_equal(), "{diff}");
    println!(
        "killed at {marks:?} of {count} rows; {} cells, checksum {:016x}; {diff}\n{ended}",
        before.1, before.2
    );
}

/// Runs in a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_until_it_is_killed() {
    let (Ok(host), Some(folder)) = (std::env::var(HOST), std::env::var_os(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let client = Client::emulator(host).await.unwrap();
    let (old, new) = flights(&client);
    let (look_ahead, every) = if is_whole_year() { (4_000_000, 5_000) } else { (40_000, 50) };
    let copy = old
        .copy_to(&new, |key, _| departure_key(key))
        .workers(4)
        .batch_rows(usize::try_from(batch_rows()).unwrap())
        .look_ahead(look_ahead);
    let report: CopyReport =
        copy.checkpoint(folder.join("checkpoint")).checkpoint_every(every).await.unwrap();
    // The rows before the checkpoint were not copied again.
    assert!(report.progress().written < report.copied());
    std::fs::write(
        folder.join("report"),
        format!("{report}; {} rows in this run", report.progress().written),
    )
    .unwrap();
}
