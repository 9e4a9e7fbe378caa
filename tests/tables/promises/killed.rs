//! A program that is killed during its calls: futures are dropped, answers are lost, and nothing is closed.

use std::process::{Command, Stdio};
use std::time::Duration;

use keyderive::client::FamilyChange;
use keyderive::embedded::Bigtable;
use keyderive_tests::fixtures::created;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;

/// Passes the Bigtable's address to the child; without it, the child's tests do nothing.
const HOST: &str = "KEYDERIVE_PROMISES_CHILD_HOST";

/// The number of the child: a request that one has sent may be applied while the next one runs, so each has rows of its own.
const CHILD: &str = "KEYDERIVE_PROMISES_CHILD";

/// Rows for each call of a child: more than it writes.
const ROWS: u64 = 1_000_000;

fn id(child: usize, call: usize, row: u64) -> u64 {
    (child * Call::ALL.len() + call) as u64 * ROWS + row
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_program_leaves_each_row_whole() {
    let mut tasks = JoinSet::new();
    let bigtable = Bigtable::in_memory();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let steady = Tables::<Account>::created(&bigtable.client()).await;
    tasks.spawn(async move { bigtable.serve(listener, std::future::pending()).await.unwrap() });
    let mut made = 0;
    for number in 0..5_usize {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "promises::killed::calls_until_it_is_killed",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env(HOST, &host).env(CHILD, number.to_string());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        // Once some rows of the last call exist, all calls are in flight.
        let last = id(number, Call::ALL.len() - 1, 20);
        for waited in 0.. {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(waited < 10_000, "the child does nothing");
            if steady.accounts.exists(&UserKey { id: last }).await.unwrap() {
                break;
            }
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        made = 0;
        for (call, place) in Call::ALL.into_iter().zip(0..) {
            let plan = UserKey::scan().id_range(id(number, place, 0)..id(number, place, ROWS));
            for (key, row) in steady.accounts.scan(plan).collect().await.unwrap() {
                let after = call.after::<Account>();
                let is_before = call.is_for_a_row() && row == before();
                assert!(Some(&row) == after.as_ref() || is_before, "{call:?}: {key:?} is {row:?}");
                made += u32::from(!is_before);
                if call == PutBoth && is_before {
                    assert_eq!(steady.copies.get(&key).await.unwrap(), None, "the second row alone");
                }
            }
        }
    }
    assert!(made > 100, "{made} calls of the last child were made");
}

/// Runs one test of this program as a child against the Bigtable at `host`, and kills it once `is_in_progress`.
async fn kill(test: &str, host: &str, is_in_progress: impl AsyncFn() -> bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = format!("promises::killed::{test}");
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    let mut child = command.env(HOST, host).stdout(Stdio::null()).spawn().unwrap();
    for waited in 0.. {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(waited < 10_000, "the child does nothing");
        if is_in_progress().await {
            break;
        }
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_program_leaves_each_table_whole() {
    let mut tasks = JoinSet::new();
    let bigtable = Bigtable::in_memory();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let client = bigtable.client();
    tasks.spawn(async move { bigtable.serve(listener, std::future::pending()).await.unwrap() });
    for killed in 1..=5 {
        let is_in_progress = async || client.list_tables().await.unwrap().len() > 8 * killed;
        kill("changes_tables_until_it_is_killed", &host, is_in_progress).await;
    }
    // The table's own family, the stamp, and two more.
    let mut sizes = Vec::new();
    let names = client.list_tables().await.unwrap();
    for name in names.into_iter().filter(|name| name != "keyderive") {
        let table = client.table::<SaltedKey, Account>(&name);
        let families = table.info().await.unwrap();
        let families =
            families.families().iter().filter(|family| !family.name().starts_with("keyderive")).count();
        assert!([1, 3].contains(&families), "{families} families");
        sizes.push((families, table.count(SaltedKey::scan()).await.unwrap()));
    }
    // One request puts the rows, and one for each of four buckets drops them.
    println!("families and rows of what is left: {sizes:?}");
    assert!(sizes.iter().all(|(_, rows)| *rows <= 40));
}

/// Runs in a child: creates tables, changes them, and deletes every second one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_tables_until_it_is_killed() {
    let Ok(host) = std::env::var(HOST) else { return };
    let client = Client::emulator(host).await.unwrap();
    let mut calls = JoinSet::new();
    for caller in 0..4 {
        let client = client.clone();
        calls.spawn(async move {
            for place in 0..1_000 {
                let name = format!("t-{}-{caller}-{place}", std::process::id());
                let table = created::<SaltedKey, Account>(&client, &name).await;
                let more = ["one", "other"]
                    .map(|name| FamilyChange::add(Family::new(name, GcRule::max_versions(1))));
                table.modify_families(more).await.unwrap();
                table.put_all((0..40).map(|id| (SaltedKey { id }, before()))).await.unwrap();
                table.drop_rows(SaltedKey::scan()).await.unwrap();
                if place % 2 == 0 {
                    table.delete_table().await.unwrap();
                }
            }
        });
    }
    calls.join_all().await;
}

/// Runs in a child: makes each call on rows of its own, in a loop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_until_it_is_killed() {
    let Ok(host) = std::env::var(HOST) else { return };
    let number = std::env::var(CHILD).unwrap().parse().unwrap();
    let client = Client::emulator(host).await.unwrap();
    let mut calls = JoinSet::new();
    for (call, place) in Call::ALL.into_iter().zip(0..) {
        let tables = Tables::<Account>::of(&client);
        calls.spawn(async move {
            for row in 0..ROWS {
                tables.prepare(call, id(number, place, row)).await;
                call.make(&tables, id(number, place, row)).await.unwrap();
            }
        });
    }
    calls.join_all().await;
}
