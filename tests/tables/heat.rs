//! What a simulation says of the worked designs is what a table then holds: the same keys are simulated and loaded, and the rows that the
//! embedded Bigtable stores are counted by bucket and by range.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use keyderive::client::ReadRows;
use keyderive::heat::{self, Draw, GridBuilder, Measure, Workload};
use keyderive::key::TableKey;
use keyderive::plan::KeyRange;
use keyderive::{Client, Row, RowKey, Table};
use keyderive_tests::amount;
use keyderive_tests::fixtures::created;

#[derive(Row, Clone)]
struct Event {
    number: u64,
}

/// How many rows of each workload are loaded.
fn rows() -> u64 {
    amount("KEYDERIVE_HEAT_ROWS", "rows of each workload that is simulated and loaded", 1200, 40_000)
}

/// Where a stored key has its bucket: after which delimiter, and after how many parts.
#[derive(Clone, Copy)]
struct Salt(char, usize);

impl Salt {
    /// The bucket, read without the library.
    fn bucket(self, key: &[u8]) -> i32 {
        let Self(delimiter, parts) = self;
        let mut rest = std::str::from_utf8(key).unwrap();
        for _ in 0..parts {
            rest = rest.split_once(delimiter).unwrap().1;
        }
        // A sign can be the delimiter, too.
        let digits = rest.trim_start_matches('-');
        let number: i32 = digits.split(delimiter).next().unwrap().parse().unwrap();
        if digits.len() < rest.len() { -number } else { number }
    }
}

async fn stored(client: &Client) -> Vec<Vec<u8>> {
    let mut rows = client.raw_table("events").read_rows(ReadRows::all());
    let mut keys = Vec::new();
    while let Some(row) = rows.next().await {
        keys.push(row.unwrap().key().to_vec());
    }
    keys
}

/// A row that is written twice is counted once: the first event of each key.
fn of_distinct_keys(workload: &Workload, key: &dyn Fn(Draw) -> Vec<u8>) -> Vec<Draw> {
    let mut events = BTreeMap::new();
    for draw in workload.clone().events(rows()) {
        events.entry(key(draw)).or_insert(draw);
    }
    let mut events: Vec<_> = events.into_values().collect();
    events.sort_by_key(|draw| draw.index);
    events
}

async fn assert_as_foreseen<K: RowKey + TableKey>(
    workload: Workload,
    salt: Option<Salt>,
    key: impl Fn(Draw) -> K,
) {
    let events = of_distinct_keys(&workload, &|draw| key(draw).encode().unwrap());
    let name = K::SCHEMA.template();
    assert!(events.len() as u64 > rows() / 2, "{name}: {} keys", events.len());

    let client = Client::embedded();
    let table: Table<K, Event> = created(&client, "events").await;
    let loaded: Vec<_> = events.iter().map(|draw| (key(*draw), Event { number: draw.index })).collect();
    table.put_all(loaded).await.unwrap();
    let stored = stored(&client).await;
    assert_eq!(stored.len(), events.len(), "{name}");

    let simulate =
        |grid| heat::simulate(events.iter().map(|draw| (draw.time, key(*draw), 100))).sample(300).grid(grid);
    // Few ranges and columns, since each comparison reads all of them.
    let grid = || GridBuilder::new().limits(64, 64);
    let forecast = simulate(grid()).run().unwrap();
    assert_eq!(forecast.events, stored.len() as u64, "{name}");

    // Buckets.
    let mut counted: BTreeMap<i32, u64> = BTreeMap::new();
    if let Some(salt) = salt {
        stored.iter().for_each(|key| *counted.entry(salt.bucket(key)).or_default() += 1);
    }
    let foreseen: BTreeMap<_, _> =
        forecast.bucket_writes.iter().copied().filter(|(_, count)| *count > 0).collect();
    assert_eq!(foreseen, counted, "{name}");

    // The tablets that the table began with, and ranges that cut through the rows anywhere.
    let tablets = client.raw_table("events").sample_row_keys().await.unwrap();
    let tablets = tablets.into_iter().map(|(end, _)| end.to_vec()).filter(|end| !end.is_empty());
    let mut starts: Vec<_> = tablets.chain(stored.iter().step_by(stored.len() / 20).cloned()).collect();
    starts.sort_unstable();
    starts.dedup();
    let pinned = simulate(grid().boundaries(starts.iter().cloned())).run().unwrap();
    let ends = starts.iter().cloned().map(Some).chain([None]);
    let begins = std::iter::once(Vec::new()).chain(starts.iter().cloned());
    for range in begins.zip(ends).map(|(start, end)| KeyRange::new(start, end)) {
        let counted = stored.iter().filter(|key| range.contains(key)).count() as u64;
        let foreseen = pinned.grid().between(&range, Measure::Writes);
        assert_eq!(foreseen, (counted, counted), "{name}: {range:?}");
    }

    // The ranges that a grid takes by itself: those that it knows by themselves, exactly, and no other wrongly.
    let grid = forecast.grid();
    for row in (0..grid.rows()).step_by(5) {
        let range = grid.range(row);
        let counted = stored.iter().filter(|key| range.contains(key)).count() as u64;
        let (least, most) = grid.between(&range, Measure::Writes);
        assert!((least..=most).contains(&counted), "{name}: {least}, {counted}, {most} in {range:?}");
        if rows() <= 4096 {
            assert_eq!(least, most, "{name}: {range:?}");
        }
    }
}

fn day(draw: Draw) -> u32 {
    20_150_301 + (draw.random % 28) as u32
}

fn at(draw: Draw) -> u64 {
    draw.time as u64
}

fn user(draw: Draw) -> String {
    format!("u{}", draw.item)
}

#[tokio::test]
async fn quotes_of_an_exchange() {
    #[derive(RowKey)]
    struct QuoteKey {
        #[pad(6)]
        exchange: String,
        #[pad(5)]
        symbol: String,
        #[pad(13)]
        quote_time: u64,
    }
    assert_as_foreseen(Workload::zipf(300, 1.0), None, |draw| QuoteKey {
        exchange: ["NASDAQ", "NYSE"][draw.random as usize % 2].into(),
        symbol: format!("S{}", draw.item),
        quote_time: at(draw),
    })
    .await;
}

#[tokio::test]
async fn readings_of_meters() {
    #[derive(RowKey)]
    struct ReadingKey {
        #[pad(10)]
        meter: u64,
        #[row_key(sequential)]
        #[pad(8)]
        date: u32,
    }
    assert_as_foreseen(Workload::uniform(50_000), None, |draw| ReadingKey {
        meter: draw.item,
        date: day(draw),
    })
    .await;
}

#[tokio::test]
async fn metrics_of_hosts() {
    #[derive(RowKey)]
    struct MetricKey {
        host: String,
        #[pad(13)]
        at: u64,
    }
    let bursts = Workload::uniform(40).bursts(Duration::from_secs(600), Duration::from_secs(60), 20.0);
    assert_as_foreseen(bursts, None, |draw| MetricKey {
        host: format!("server{}.aaa.bbb.com", draw.item),
        at: at(draw),
    })
    .await;
}

#[tokio::test]
async fn scores_of_players() {
    #[derive(RowKey)]
    struct ScoreKey {
        game: String,
        player: String,
        #[pad(8)]
        date: u32,
    }
    assert_as_foreseen(Workload::uniform(9000), None, |draw| ScoreKey {
        game: ["LoL", "Go", "Chess"][draw.random as usize % 3].into(),
        player: user(draw),
        date: day(draw),
    })
    .await;
}

#[tokio::test]
async fn battery_levels_with_the_date_first() {
    #[derive(RowKey)]
    #[row_key(tag = "BATTERY", allow(hotspot))]
    struct BatteryKey {
        #[row_key(sequential)]
        #[pad(17)]
        at: u64,
    }
    assert_as_foreseen(Workload::uniform(1), None, |draw| BatteryKey { at: at(draw) }).await;
}

#[tokio::test]
async fn battery_levels_with_the_user_promoted() {
    #[derive(RowKey)]
    #[row_key(tag = "BATTERY")]
    struct BatteryKey {
        user: String,
        #[row_key(sequential)]
        #[pad(17)]
        at: u64,
    }
    let users = Workload::zipf(400, 1.2);
    assert_as_foreseen(users, None, |draw| BatteryKey { user: user(draw), at: at(draw) }).await;
}

#[tokio::test]
async fn battery_levels_with_a_salt() {
    #[derive(RowKey)]
    #[row_key(tag = "BATTERY")]
    #[salt(range = 3, over = "at")]
    struct BatteryKey {
        #[row_key(sequential)]
        #[pad(17)]
        at: u64,
    }
    let salt = Some(Salt('#', 1));
    assert_as_foreseen(Workload::uniform(1), salt, |draw| BatteryKey { at: at(draw) }).await;
}

#[tokio::test]
async fn battery_levels_with_a_hash() {
    #[derive(RowKey)]
    #[row_key(tag = "BATTERY")]
    struct BatteryKey {
        #[row_key(sequential, hash(md5))]
        #[pad(17)]
        at: u64,
    }
    assert_as_foreseen(Workload::uniform(1), None, |draw| BatteryKey { at: at(draw) }).await;
}

/// Posts, in the buckets of a salt.
macro_rules! posts {
    ($test:ident: $($salt:tt)*) => {
        #[tokio::test]
        async fn $test() {
            #[derive(RowKey)]
            #[row_key(delimiter = '-')]
            #[salt($($salt)*)]
            struct PostKey {
                user_id: String,
                site: String,
                #[pad(13)]
                timestamp: u64,
            }
            assert_as_foreseen(Workload::zipf(100, 1.3), Some(Salt('-', 0)), |draw| PostKey {
                user_id: user(draw),
                site: ["home", "shop"][draw.random as usize % 2].into(),
                timestamp: at(draw),
            })
            .await;
        }
    };
}

posts!(posts_of_celebrities: range = 4, over = "user_id,site");
posts!(posts_in_buckets_of_the_java_sample: range = 4, hash = "java");

#[tokio::test]
async fn users_by_last_access_in_shards() {
    #[derive(RowKey)]
    #[salt(range = 3, over = "last_access,user_id")]
    struct AccessKey {
        #[row_key(ts(unit = "millis"))]
        last_access: std::time::SystemTime,
        #[pad(10)]
        user_id: u64,
    }
    assert_as_foreseen(Workload::zipf(5000, 0.8), Some(Salt('#', 0)), |draw| AccessKey {
        last_access: UNIX_EPOCH + Duration::from_millis(at(draw)),
        user_id: draw.item,
    })
    .await;
}

#[tokio::test]
async fn users_by_their_latest_access() {
    #[derive(RowKey)]
    struct AccessKey {
        #[pad(10)]
        user_id: u64,
        #[row_key(desc, ts(unit = "millis"))]
        last_access: std::time::SystemTime,
    }
    assert_as_foreseen(Workload::zipf(5000, 0.8), None, |draw| AccessKey {
        user_id: draw.item,
        last_access: UNIX_EPOCH + Duration::from_millis(at(draw)),
    })
    .await;
}

#[tokio::test]
async fn orders_by_uuid() {
    #[derive(RowKey)]
    struct OrderKey {
        #[row_key(uuid(v4))]
        id: uuid::Uuid,
    }
    assert_as_foreseen(Workload::uniform(1), None, |draw| {
        let half = draw.random.to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half);
        OrderKey { id: uuid::Builder::from_random_bytes(bytes).into_uuid() }
    })
    .await;
}

#[tokio::test]
async fn orders_with_reversed_bits() {
    #[derive(RowKey)]
    struct OrderKey {
        #[row_key(sequential, bit_reverse)]
        number: u32,
    }
    assert_as_foreseen(Workload::uniform(1), None, |draw| OrderKey { number: draw.index as u32 }).await;
}

/// A salt after a field, which is in the middle of the key and of no use to a new table's splits.
#[tokio::test]
async fn posts_with_a_salt_after_the_user() {
    #[derive(RowKey)]
    #[salt(range = 4, after = "user_id")]
    struct PostKey {
        user_id: String,
        #[reverse_ts]
        at: u64,
    }
    let users = Workload::zipf(50, 1.0);
    let salt = Some(Salt('#', 1));
    assert_as_foreseen(users, salt, |draw| PostKey { user_id: user(draw), at: at(draw) }).await;
}
