//! What `distinct` costs beside reading all keys and seeking to every value: requests, and rows that the server has read.
//!
//! `cargo run --release -p keyderive-bench --bin distinct -- [rows]`, by default 100,000 rows of an embedded Bigtable in this process, of
//! 1 to as many values. The last column is the cost of `distinct` by that of the better of the other two, if a request costs as much as 512
//! rows. An answer that is given up reports no rows: their requests are in brackets.

use std::time::{Duration, Instant};

use keyderive::client::{RawTable, ReadRows, ReadStats};
use keyderive::key::OwnedRowKey;
use keyderive::plan::{KeyRange, Plan};
use keyderive::row::RowFilter;
use keyderive::{Client, Row, RowKey, Table};

/// How many rows a request costs as much as.
const REQUEST: f64 = 512.0;

trait Key: OwnedRowKey + Clone {
    fn new(user: u32, at: u32) -> Self;
    fn all() -> Plan<Self>;
}

macro_rules! keys {
    ($($(#[$attribute:meta])* $key:ident;)*) => {$(
        #[derive(RowKey, Clone)]
        $(#[$attribute])*
        struct $key {
            user: u32,
            at: u32,
        }

        impl Key for $key {
            fn new(user: u32, at: u32) -> Self {
                Self { user, at }
            }

            fn all() -> Plan<Self> {
                Self::scan().into_plan().unwrap()
            }
        }
    )*};
}

keys! {
    Unsalted;
    #[salt(range = 16, over = "user")]
    ByUser;
    #[salt(range = 16, over = "at")]
    Spread;
}

#[derive(Row, Clone)]
struct Visit {
    pages: u32,
}

#[derive(Clone, Copy)]
struct Cost {
    requests: u64,
    unreported: u64,
    rows: u64,
    took: Duration,
}

impl Cost {
    async fn of(read: impl AsyncFnOnce(&ReadStats)) -> Self {
        let (stats, begun) = (ReadStats::new(), Instant::now());
        read(&stats).await;
        let (requests, took) = (stats.requests(), begun.elapsed());
        Self { requests, unreported: requests - stats.reported(), rows: stats.rows_seen(), took }
    }

    #[expect(clippy::cast_precision_loss, reason = "it is printed with two digits")]
    fn weight(self) -> f64 {
        self.rows as f64 + REQUEST * self.requests as f64
    }

    fn print(self) {
        let Self { requests, unreported, rows, took } = self;
        let unreported = if unreported > 0 { format!("({unreported})") } else { String::new() };
        print!(" {requests:>8}{unreported:<5} {rows:>7} {:>7.0} ms |", took.as_secs_f64() * 1e3);
    }
}

#[tokio::main]
async fn main() {
    let rows = std::env::args().nth(1).map_or(100_000, |rows| rows.parse().unwrap());
    println!(
        "{:>9} {:>8} | {:^32} | {:^32} | {:^32} | by the better",
        "keys", "values", "distinct", "all keys", "a seek for each value"
    );
    let head = format!("{:>13} {:>7} {:>10}", "requests", "rows", "time");
    println!("{:>18} | {head} | {head} | {head} |", "");
    bench::<Unsalted>("unsalted", rows).await;
    bench::<ByUser>("by value", rows).await;
    bench::<Spread>("spread", rows).await;
}

async fn bench<K: Key>(name: &str, rows: u32) {
    for values in [1, 10, 100, 190, 200, 1_000, 10_000, 100_000].into_iter().filter(|values| *values <= rows)
    {
        let client = Client::embedded();
        let visits = table::<K>(&client, rows, values).await;
        let scan = |stats: &ReadStats| visits.scan(K::all()).with_stats(stats);
        let distinct = Cost::of(async |stats| {
            assert_eq!(scan(stats).distinct(1).count().await.unwrap(), u64::from(values));
        });
        let distinct = distinct.await;
        let all = Cost::of(async |stats| {
            assert_eq!(scan(stats).keys_only().stream().next_count().await, u64::from(rows));
        });
        let all = all.await;
        let raw = client.raw_table("visits");
        let seeks = Cost::of(async |stats| seek(&raw, &K::all(), stats).await).await;
        print!("{name:>9} {values:>8} |");
        [distinct, all, seeks].into_iter().for_each(Cost::print);
        println!(" {:.2}", distinct.weight() / all.weight().min(seeks.weight()));
    }
}

trait NextCount {
    async fn next_count(self) -> u64;
}

impl<K: Key> NextCount for keyderive::table::Rows<K, keyderive::table::KeyOnly> {
    async fn next_count(mut self) -> u64 {
        let mut count = 0;
        while let Some(key) = self.next().await {
            key.unwrap();
            count += 1;
        }
        count
    }
}

async fn table<K: Key>(client: &Client, rows: u32, values: u32) -> Table<K, Visit> {
    let visits = client.table::<K, Visit>("visits");
    visits.create_if_absent().await.unwrap();
    let all: Vec<_> =
        (0..rows).map(|row| (K::new(row % values, row / values), Visit { pages: row })).collect();
    visits.put_all(&all).await.unwrap();
    visits
}

/// Seeks from value to value, in one bucket after the other.
async fn seek<K: Key>(table: &RawTable, plan: &Plan<K>, stats: &ReadStats) {
    for range in plan.requests().iter().flat_map(|request| request.ranges().to_vec()) {
        let mut rest = range;
        while !rest.is_empty() {
            let first = ReadRows::new().range(rest.clone()).limit(1).filter(RowFilter::strip_value());
            let mut rows = table.read_rows(first.with_stats(stats));
            let Some(row) = rows.next().await else { break };
            let row = row.unwrap();
            // Past the user, whose digits end with the key's last delimiter.
            let user = row.key().iter().rposition(|byte| *byte == b'#').unwrap();
            assert!(rows.next().await.is_none());
            let value = KeyRange::prefix(&row.key()[..=user]);
            rest = KeyRange::new(value.end().unwrap(), rest.end().map(<[u8]>::to_vec));
        }
    }
}
