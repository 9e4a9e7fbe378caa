//! What a client records of every typed call: each row that it reads or writes, and each range of a scan.

use std::time::UNIX_EPOCH;

use futures_util::stream;
use keyderive::heat::{Measure, Recording};
use keyderive::{Client, Row};
use keyderive_tests::fixtures::{SaltedKey, created};

#[derive(Row, Clone, Debug, PartialEq)]
struct User {
    age: u32,
    #[row(counter)]
    visits: i64,
}

fn user(id: u64) -> (SaltedKey, User) {
    (SaltedKey { id }, User { age: 7, visits: 0 })
}

/// The reads and writes of the table so far.
fn so_far(client: &Client) -> [u64; 2] {
    let heat = client.heat().unwrap();
    let grid = heat.tables.get("users").map(|users| &users.grid);
    [Measure::Reads, Measure::Writes].map(|measure| grid.map_or(0, |grid| grid.total(measure)))
}

/// Checks how many reads and writes a call is counted as.
macro_rules! counts {
    ($client:expr, $($what:literal: $call:expr => $reads:expr, $writes:expr;)*) => {$(
        let before = so_far(&$client);
        _ = $call.await.unwrap();
        let after = so_far(&$client);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [$reads, $writes], $what);
    )*};
}

#[tokio::test]
async fn every_call_is_counted() {
    let client = Client::builder().record_heat(Recording::new().one_in(1)).embedded();
    let users = created::<SaltedKey, User>(&client, "users").await;
    let (key, row) = user(1);
    users.put(&key, &row).await.unwrap();
    let many: Vec<_> = (10..20).map(user).collect();
    let keys: Vec<_> = many.iter().map(|(key, _)| key.clone()).collect();
    let writer = users.writer();
    counts! { client,
        "put": users.put(&key, &row) => 0, 1;
        "get": users.get(&key) => 1, 0;
        "get of no row": users.get(&SaltedKey { id: 99 }) => 1, 0;
        "exists": users.exists(&key) => 1, 0;
        "update": users.update(&key).set(User::AGE, 8) => 0, 1;
        "modify": users.modify(&key).increment(User::VISITS, 1) => 0, 1;
        "put_all": users.put_all(&many) => 0, 10;
        "get_many": users.get_many(&keys) => 10, 0;
        "writer": async {
            for (key, row) in &many {
                writer.put(key, row).await.unwrap();
            }
            writer.flush().await
        } => 0, 10;
        "load": users.load(stream::iter(many.clone())) => 0, 10;
        "a scan of all buckets": users.scan(SaltedKey::scan()).collect() => 4, 0;
        "count": users.count(SaltedKey::scan()) => 4, 0;
        "a scan of one key": users.scan(SaltedKey::scan().id(1)).collect() => 1, 0;
        "delete": users.delete(&key) => 0, 1;
        "delete_rows": users.delete_rows(SaltedKey::scan()) => 4, 10;
    }
}

/// Buckets are boundaries of the grid, so that processes agree about them.
#[tokio::test]
async fn the_buckets_of_a_table_are_boundaries() {
    let client = Client::builder().record_heat(Recording::new().one_in(1)).embedded();
    let users = created::<SaltedKey, User>(&client, "users").await;
    users.put_all((0..40).map(user).collect::<Vec<_>>()).await.unwrap();
    let grid = &client.heat().unwrap().tables["users"].grid;
    let starts: Vec<_> = (0..grid.rows()).map(|row| grid.range(row).start().to_vec()).collect();
    let splits = SaltedKey::SCHEMA.bucket_splits();
    assert_eq!(splits.len(), 3);
    assert!(splits.iter().all(|split| starts.contains(split)), "{starts:?}");
}

/// Bytes are those of mutations that are sent, alone or with others, and of rows that come; times are those of the clock.
#[tokio::test]
async fn bytes_and_times_are_those_of_the_requests() {
    let now = || i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let from = now();
    let client = Client::builder().record_heat(Recording::new().one_in(1)).embedded();
    let users = created::<SaltedKey, User>(&client, "users").await;
    let grid = || client.heat().unwrap().tables["users"].grid.clone();
    let (key, row) = user(1);
    users.put(&key, &row).await.unwrap();
    let one = grid().total(Measure::Bytes);
    users.put_all(&(10..20).map(user).collect::<Vec<_>>()).await.unwrap();
    let eleven = grid().total(Measure::Bytes);
    assert!(one > 20 && eleven - one >= 10 * one, "{one}, {eleven}");
    users.get(&key).await.unwrap();
    let read = grid().total(Measure::Bytes) - eleven;
    let before = grid().total(Measure::Bytes);
    users.scan(SaltedKey::scan()).collect().await.unwrap();
    let scanned = grid().total(Measure::Bytes) - before;
    assert!(read > 10 && scanned >= 11 * read, "{read}, {scanned}");
    let grid = grid();
    let width = i64::try_from(grid.column_width().as_millis()).unwrap();
    assert!(grid.time(0) > from - width && grid.time(grid.columns() - 1) <= now());
}
