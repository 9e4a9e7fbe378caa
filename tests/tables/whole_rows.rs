//! A read returns a whole value that was put, and a conditional write that returns true has changed the row.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keyderive::row::{Condition, Timestamped, Versions};
use keyderive::{Client, ErrorKind, GcRule, Row, Table};
use keyderive_tests::fixtures::{UserKey, created};
use tokio::task::JoinSet;

use crate::servers::on_every_bigtable;

/// Paid by card or in cash, never by both.
#[derive(Row, Clone, Debug, PartialEq)]
struct Order {
    id: i64,
    card: Option<i64>,
    cash: Option<i64>,
}

fn order(id: i64) -> Order {
    let is_card = id % 2 == 1;
    Order { id, card: is_card.then_some(id), cash: (!is_card).then_some(id) }
}

const KEY: UserKey = UserKey { id: 7 };

async fn orders(client: &Client) -> Table<UserKey, Order> {
    created(client, "orders").await
}

/// Waits until the clock gives cells another timestamp.
fn another_millisecond() {
    let millis = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let now = millis();
    while millis() <= now {
        std::hint::spin_loop();
    }
}

on_every_bigtable! {
    a_row_of_a_writer_is_whole_beside_a_put
    concurrent_puts_leave_one_of_them
    the_last_row_of_a_key_stays
    a_state_machine_reaches_its_last_state
    no_update_by_version_is_lost
    a_time_that_the_familys_rule_removes_is_refused
}

/// The writer accepts its row before the put, and sends it afterwards.
async fn a_row_of_a_writer_is_whole_beside_a_put(client: Client) {
    let orders = orders(&client).await;
    let writer = orders.writer();
    writer.put(&KEY, &order(1)).await.unwrap();
    another_millisecond();
    orders.put(&KEY, &order(2)).await.unwrap();
    writer.close().await.unwrap();
    assert_eq!(orders.get(&KEY).await.unwrap(), Some(order(1)));
}

async fn concurrent_puts_leave_one_of_them(client: Client) {
    let orders = orders(&client).await;
    for id in 0..200 {
        let key = UserKey { id };
        let puts = (1..9).map(|put| {
            let (orders, key) = (orders.clone(), key.clone());
            async move { orders.put(&key, &order(put)).await.unwrap() }
        });
        puts.collect::<JoinSet<()>>().join_all().await;
        let read = orders.get(&key).await.unwrap().unwrap();
        assert_eq!(read, order(read.id), "row {id}");
    }
}

async fn the_last_row_of_a_key_stays(client: Client) {
    let orders = orders(&client).await;
    let rows = |ids: &[i64]| ids.iter().map(|put| (KEY, order(*put))).collect::<Vec<_>>();
    for round in 0..50 {
        let others = (0..20).map(|id| (UserKey { id: 20 - id }, order(0)));
        let all =
            rows(&[3, 2]).into_iter().chain(others).chain(rows(&[4, round])).filter(|(key, _)| key.id > 0);
        orders.put_all(all).await.unwrap();
        assert_eq!(orders.get(&KEY).await.unwrap(), Some(order(round)));
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
struct State {
    at: i64,
}

/// Twenty tasks move one row from 0 to 200, each from the state that is its turn.
async fn a_state_machine_reaches_its_last_state(client: Client) {
    let states = created::<UserKey, State>(&client, "states").await;
    states.put(&KEY, &State { at: 0 }).await.unwrap();
    let steps = Arc::new(AtomicI64::new(0));
    let begun = Instant::now();
    let tasks = (0..20).map(|task| {
        let (states, steps) = (states.clone(), Arc::clone(&steps));
        async move {
            for at in (0..10).map(|turn| turn * 20 + task) {
                let is_there = || State::AT.equals(at);
                while !states.put_if(&KEY, &State { at: at + 1 }, is_there()).await.unwrap() {
                    if begun.elapsed() > Duration::from_secs(20) {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
                steps.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    tasks.collect::<JoinSet<()>>().join_all().await;
    let reached = states.get(&KEY).await.unwrap();
    assert_eq!((steps.load(Ordering::Relaxed), reached), (200, Some(State { at: 200 })));
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Counted {
    sum: Timestamped<i64>,
}

/// Eight tasks increment one row, guarded by its version.
async fn no_update_by_version_is_lost(client: Client) {
    let counts = created::<UserKey, Counted>(&client, "counts").await;
    counts.put(&KEY, &Counted { sum: Timestamped::now(0) }).await.unwrap();
    let tasks = (0..8).map(|_| {
        let counts = counts.clone();
        async move {
            let mut done = 0;
            for _ in 0..100 {
                let read = counts.get(&KEY).await.unwrap().unwrap().sum;
                let unchanged = Counted::SUM.version(read.timestamp_micros);
                let next = Counted { sum: Timestamped::now(read.value + 1) };
                done += i64::from(counts.put_if(&KEY, &next, unchanged).await.unwrap());
            }
            done
        }
    });
    let done: i64 = tasks.collect::<JoinSet<i64>>().join_all().await.into_iter().sum();
    assert_eq!(counts.get(&KEY).await.unwrap().unwrap().sum.value, done);
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Seen {
    last: Option<Timestamped<i64>>,
    all: Versions<i64>,
}

async fn a_time_that_the_familys_rule_removes_is_refused(client: Client) {
    const MINUTE: i64 = 60_000_000;
    let hour = GcRule::max_age(Duration::from_secs(60 * 60));
    let seen = client.table::<UserKey, Seen>("seen");
    seen.create().family("cf", hour).await.unwrap();
    // Another handle, which reads the GC rule before its first request.
    let seen = client.table::<UserKey, Seen>("seen");
    let now = Timestamped::now(1).timestamp_micros;
    let at = |minutes: i64| Timestamped::new(now - minutes * MINUTE, minutes);
    let row = |last: Option<i64>, all: &[i64]| Seen {
        last: last.map(at),
        all: all.iter().map(|minutes| at(*minutes)).collect(),
    };
    let late = row(Some(61), &[]);
    let exists = Condition::row_exists;
    let writer = seen.writer();
    let refused = [
        seen.put(&KEY, &late).await.unwrap_err(),
        seen.put(&KEY, &row(None, &[61, 62])).await.unwrap_err(),
        seen.merge(&KEY, &late).await.unwrap_err(),
        seen.put_if(&KEY, &late, exists()).await.unwrap_err(),
        seen.put_if_absent(&KEY, &late).await.unwrap_err(),
        seen.update(&KEY).set_at(Seen::LAST, now - 61 * MINUTE, 61).await.unwrap_err(),
        seen.update(&KEY).set_at(Seen::LAST, now - 61 * MINUTE, 61).only_if(exists()).await.unwrap_err(),
        seen.put_all([(KEY, late.clone())]).await.unwrap_err(),
        writer.put(&KEY, &late).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::InvalidRow, "{error}");
        let shown = error.to_string();
        assert!(shown.contains("`older than 1 hour`") && shown.contains("gone at once"), "{shown}");
    }
    let loaded = seen.load_iter(vec![(KEY, late.clone())]).await.unwrap();
    assert_eq!((loaded.written(), loaded.failed_count()), (0, 1));
    assert_eq!(writer.close().await.unwrap(), 0);
    assert_eq!(seen.get(&KEY).await.unwrap(), None);
    // In a history of versions, the newest one decides.
    seen.put(&KEY, &row(Some(59), &[1, 61])).await.unwrap();
    assert_eq!(seen.get(&KEY).await.unwrap().unwrap().last, Some(at(59)));
}
