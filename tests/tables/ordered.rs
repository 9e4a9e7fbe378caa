//! Ordered scans of many buckets over one connection, with a consumer that pauses: a bucket scan that waits for its
//! turn must not stop the others, and unread data must not break the connection.

use std::time::Duration;

use keyderive::key::OwnedRowKey;
use keyderive::plan::Plan;
use keyderive::{Client, RowKey, Table};
use keyderive_tests::amount;
use keyderive_tests::fixtures::created;

use crate::servers;

/// Long enough for a server to fill every window.
const PAUSE: Duration = Duration::from_millis(500);

/// A scan that hangs fails, long after any working scan has ended.
const DEADLINE: Duration = Duration::from_secs(120);

/// A tiny row by sensor and number; all rows of a sensor are in one bucket.
trait Reading: OwnedRowKey + Clone + PartialEq + std::fmt::Debug {
    const BUCKETS: usize;

    fn new(sensor: u32, number: u32) -> Self;
    fn scan_all() -> Plan<Self>;

    fn bucket(&self) -> usize {
        let text = String::from_utf8(self.encode().unwrap()).unwrap();
        text.split_once('#').unwrap().0.parse().unwrap()
    }
}

macro_rules! reading {
    ($key:ident, $buckets:literal) => {
        #[derive(RowKey, Clone, Debug, PartialEq)]
        #[salt(range = $buckets, over = "sensor")]
        struct $key {
            sensor: u32,
            number: u32,
        }

        impl Reading for $key {
            const BUCKETS: usize = $buckets;

            fn new(sensor: u32, number: u32) -> Self {
                Self { sensor, number }
            }

            fn scan_all() -> Plan<Self> {
                Self::scan().into_plan().unwrap()
            }
        }
    };
}

reading!(Of16, 16);
reading!(Of4, 4);

/// How a bucket's rows are placed in the logical order.
#[derive(Clone, Copy)]
struct Shape {
    sensors_per_bucket: u32,
    readings_per_sensor: u32,
}

impl Shape {
    /// Neighbours are in different buckets: all bucket scans advance together.
    const fn mixed(rows_per_bucket: u32) -> Self {
        Self { sensors_per_bucket: rows_per_bucket, readings_per_sensor: 1 }
    }

    /// One bucket's rows follow another's: all bucket scans but one wait with full windows.
    const fn in_turn(rows_per_bucket: u32) -> Self {
        Self { sensors_per_bucket: 1, readings_per_sensor: rows_per_bucket }
    }

    /// The keys in order, equally many in each bucket.
    fn keys<K: Reading>(self) -> Vec<K> {
        let mut missing = vec![self.sensors_per_bucket; K::BUCKETS];
        let mut keys = Vec::new();
        for sensor in 0.. {
            let missing_here = &mut missing[K::new(sensor, 0).bucket()];
            if *missing_here > 0 {
                *missing_here -= 1;
                keys.extend((0..self.readings_per_sensor).map(|number| K::new(sensor, number)));
            }
            if missing.iter().all(|missing| *missing == 0) {
                break;
            }
        }
        keys
    }
}

/// Writes the rows, and reads them back in order, with a pause in the middle.
async fn is_complete_in_order<K: Reading>(client: Client, shape: Shape, pause: Option<Duration>) {
    let keys = shape.keys::<K>();
    let table = created::<K, ()>(&client, "readings").await;
    table.put_all(keys.iter().map(|key| (key.clone(), ()))).await.unwrap();

    let read = read_in_order(&table, &keys, pause);
    tokio::time::timeout(DEADLINE, read).await.expect("the scan comes to its end");
}

async fn read_in_order<K: Reading>(table: &Table<K, ()>, keys: &[K], pause: Option<Duration>) {
    let mut rows = table.scan(K::scan_all()).stream();
    for (index, expected) in keys.iter().enumerate() {
        if let Some(pause) = pause.filter(|_| index == keys.len() / 2) {
            // A pause in real time: the server behind the socket fills its windows.
            tokio::time::sleep(pause).await;
        }
        let row = rows.next().await.unwrap_or_else(|| panic!("ended after {index} rows"));
        let (key, ()) = row.unwrap_or_else(|error| panic!("failed after {index} rows: {error}"));
        assert_eq!(key, *expected, "row {index}");
    }
    assert!(rows.next().await.is_none());
}

/// The same test on every Bigtable and both kinds of runtime.
macro_rules! complete_in_order {
    ($($test:ident: $key:ident, $shape:expr;)*) => {$(
        mod $test {
            use super::*;

            #[tokio::test(flavor = "current_thread")]
            async fn embedded_on_one_thread() {
                is_complete_in_order::<$key>(Client::embedded(), $shape, None).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded_on_several_threads() {
                is_complete_in_order::<$key>(Client::embedded(), $shape, None).await;
            }

            #[tokio::test(flavor = "current_thread")]
            async fn emulator_on_one_thread() {
                let Some((_emulator, client)) = servers::emulator().await else { return };
                is_complete_in_order::<$key>(client, $shape, Some(PAUSE)).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn emulator_on_several_threads() {
                let Some((_emulator, client)) = servers::emulator().await else { return };
                is_complete_in_order::<$key>(client, $shape, Some(PAUSE)).await;
            }
        }
    )*};
}

/// Rows of a bucket that take more than the windows of its stream.
fn long() -> u32 {
    amount("KEYDERIVE_LONG_BUCKETS", "rows of each long bucket in an ordered scan", 4_000, 50_000)
        .try_into()
        .unwrap()
}

complete_in_order! {
    of_16_buckets_mixed: Of16, Shape::mixed(2_000);
    of_16_buckets_in_turn: Of16, Shape::in_turn(2_000);
    of_4_long_buckets_mixed: Of4, Shape::mixed(long());
    of_4_long_buckets_in_turn: Of4, Shape::in_turn(long());
}
