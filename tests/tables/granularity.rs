//! Tables whose timestamps have whole milliseconds, and tables whose timestamps have whole microseconds: what is written, compared
//! and deleted is exact in both.

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds as _;

use futures_util::TryStreamExt as _;
use keyderive::client::{Family, Granularity, RawTable, ReadRows};
use keyderive::row::{Mutation, RawCell, RowFilter, Sum, Timestamped, Versions};
use keyderive::{Client, GcRule, Row, Table};
use keyderive_tests::fixtures::{SaltedKey, UserKey, created, fails};
use keyderive_tests::left_out;

use crate::servers::on_every_bigtable;

#[derive(Row, Clone, Debug, PartialEq)]
struct Trade {
    symbol: String,
    price: Option<Timestamped<i64>>,
    #[row(family = "history")]
    prices: Versions<i64>,
    #[row(family = "sums")]
    volume: Sum,
    #[row(family = "hourly", window = "1h")]
    hourly: Versions<Sum>,
}

const KEY: UserKey = UserKey { id: 7 };

/// Microseconds that are no whole millisecond.
const AT: i64 = 1_700_000_000_123_456;

on_every_bigtable! {
    ranges_are_exact
    times_of_its_own_are_kept_to_the_microsecond
    a_compared_version_is_one_microsecond
    a_copy_keeps_each_microsecond
}

/// A table of this granularity; none if the server has no such tables, as emulators before September 2026.
async fn trades(client: &Client, name: &str, granularity: Granularity) -> Option<Table<UserKey, Trade>> {
    let trades = client.table(name);
    trades.create().granularity(granularity).await.unwrap();
    if trades.info().await.unwrap().granularity() == granularity {
        return Some(trades);
    }
    left_out(&format!("tables of {granularity} on the emulator, since this one has none"));
    trades.delete_table().await.unwrap();
    None
}

fn trade(at: i64) -> Trade {
    Trade {
        symbol: "K".into(),
        price: Some(Timestamped::new(at, 7)),
        prices: [Timestamped::new(at, 7), Timestamped::new(at - 1, 6)].into(),
        volume: Sum::default(),
        hourly: Versions::new(),
    }
}

/// The timestamps of the column `q` that a filter passes, in ascending order.
async fn times(table: &RawTable, filter: Option<RowFilter>) -> Vec<i64> {
    let row = table.read_row("/", filter).await.unwrap();
    let cells = row.iter().flat_map(|row| row.cells()).filter(|cell| cell.qualifier() == b"q");
    let mut times: Vec<_> = cells.map(RawCell::timestamp_micros).collect();
    times.sort_unstable();
    times
}

/// Filters and deletions, in every call that takes one, of ranges with bounds of any kind.
async fn ranges_are_exact(client: Client) {
    const TIMES: [i64; 9] = [0, 1, 999, 1000, 1001, 1999, 2000, 2001, AT];
    let bounds = |at: i64| [Included(at), Excluded(at)];
    let ends = || TIMES.into_iter().chain([-1, 500, i64::MIN, i64::MAX]).flat_map(bounds).chain([Unbounded]);
    let ranges: Vec<(Bound<i64>, Bound<i64>)> =
        ends().flat_map(|start| ends().map(move |end| (start, end))).collect();
    for granularity in [Granularity::Millis, Granularity::Micros] {
        let table = client.raw_table(&format!("ranges-{granularity}"));
        let families = [Family::new("cf", GcRule::never())];
        table.create_with_granularity(granularity, families, [""; 0]).await.unwrap();
        if table.info().await.unwrap().granularity() != granularity {
            continue;
        }
        let unit = if granularity == Granularity::Millis { 1000 } else { 1 };
        let stored: Vec<_> = TIMES.into_iter().map(|at| at / unit * unit).collect();
        let set = || stored.iter().map(|at| Mutation::set("cf", "q", *at, "v"));
        let writer = table.writer();
        for (place, range) in ranges.iter().enumerate() {
            table.mutate_row("/", set()).await.unwrap();
            let expected = |is_left: bool| {
                let mut left: Vec<_> =
                    stored.iter().copied().filter(|at| range.contains(at) != is_left).collect();
                left.dedup();
                left
            };
            let passed = times(&table, Some(RowFilter::timestamps(*range))).await;
            assert_eq!(passed, expected(false), "{granularity}: the filter {range:?}");
            let deletion = || vec![Mutation::delete_versions("cf", "q", *range)];
            match place % 4 {
                0 => table.mutate_row("/", deletion()).await.unwrap(),
                1 => {
                    table.mutate_rows(vec![("/".into(), deletion())]).await.all_written().unwrap();
                }
                2 => {
                    assert!(table.check_and_mutate_row("/", None, deletion(), vec![]).await.unwrap());
                }
                _ => {
                    writer.write("/", deletion()).await.unwrap();
                    writer.flush().await.unwrap();
                }
            }
            assert_eq!(times(&table, None).await, expected(true), "{granularity}: the deletion of {range:?}");
        }
    }
}

async fn times_of_its_own_are_kept_to_the_microsecond(client: Client) {
    let Some(micros) = trades(&client, "micros", Granularity::Micros).await else { return };
    micros.put(&KEY, &trade(AT)).await.unwrap();
    assert_eq!(micros.get(&KEY).await.unwrap().unwrap(), trade(AT));
    let next = Trade { prices: [Timestamped::new(AT + 1, 8)].into(), ..trade(AT + 1) };
    micros.merge(&KEY, &next).await.unwrap();
    micros
        .update(&KEY)
        .set_at(Trade::PRICE, AT + 2, 9)
        .add_version(Trade::PRICES, AT + 3, 10)
        .add(Trade::VOLUME, 5)
        .add_at(Trade::HOURLY, AT, 3)
        .await
        .unwrap();
    let read = micros.get(&KEY).await.unwrap().unwrap();
    assert_eq!(read.price, Some(Timestamped::new(AT + 2, 9)));
    let times: Vec<_> = read.prices.iter().map(|version| version.timestamp_micros - AT).collect();
    assert_eq!(times, [3, 1, 0, -1]);
    assert_eq!(read.volume.get(), 5);
    let hour = 3_600_000_000;
    assert_eq!(read.hourly.iter().next().unwrap().timestamp_micros, AT / hour * hour);

    // Loads and writers write as `put` does.
    let loaded = UserKey { id: 8 };
    micros.load_iter([(loaded.clone(), trade(AT))]).await.unwrap().all_written().unwrap();
    assert_eq!(micros.get(&loaded).await.unwrap().unwrap(), trade(AT));
    let writer = micros.writer();
    writer.put(&UserKey { id: 9 }, &trade(AT)).await.unwrap();
    writer.close().await.unwrap();
    assert_eq!(micros.get(&UserKey { id: 9 }).await.unwrap().unwrap(), trade(AT));

    let Some(millis) = trades(&client, "millis", Granularity::Millis).await else { panic!() };
    let refused = [
        millis.put(&KEY, &trade(AT)).await.unwrap_err(),
        millis.update(&KEY).set_at(Trade::PRICE, AT, 9).await.unwrap_err(),
        millis.update(&KEY).add_version(Trade::PRICES, AT, 9).await.unwrap_err(),
        millis.put_all([(KEY, trade(AT))]).await.unwrap_err(),
    ];
    for error in refused {
        let text = error.to_string();
        assert!(text.contains(&format!("has the timestamp {AT}")), "{text}");
        assert!(text.contains("the table stores whole milliseconds; round it"), "{text}");
    }
    assert_eq!(millis.get(&KEY).await.unwrap(), None);
}

async fn a_compared_version_is_one_microsecond(client: Client) {
    for granularity in [Granularity::Micros, Granularity::Millis] {
        let Some(trades) = trades(&client, &granularity.to_string(), granularity).await else { continue };
        let at = if granularity == Granularity::Micros { AT } else { AT / 1000 * 1000 };
        let seen = Trade { prices: Versions::new(), ..trade(at) };
        trades.put(&KEY, &seen).await.unwrap();
        for other in [at - 1, at + 1, at + 999] {
            assert!(!trades.delete_if(&KEY, Trade::PRICE.version(other)).await.unwrap(), "{granularity}");
        }
        let mine = Trade { price: Some(Timestamped::new(at, 8)), ..seen.clone() };
        assert!(trades.put_if(&KEY, &mine, Trade::PRICE.version(at)).await.unwrap());
        assert!(!trades.put_if(&KEY, &mine, Trade::PRICE.version(at)).await.unwrap());
        let price = trades.get(&KEY).await.unwrap().unwrap().price.unwrap();
        assert!(price.value == 8 && price.timestamp_micros > at, "{price:?}");
    }
}

#[tokio::test]
async fn no_version_comes_after_the_last_one() {
    let trades = trades(&Client::embedded(), "last", Granularity::Micros).await.unwrap();
    let of =
        |at, value| Trade { price: Some(Timestamped::new(at, value)), prices: Versions::new(), ..trade(at) };
    trades.put(&KEY, &of(i64::MAX, 1)).await.unwrap();
    fails(
        trades.put_if(&KEY, &of(i64::MAX, 2), Trade::PRICE.version(i64::MAX)).await,
        "after which no newer version can come",
    );
    assert_eq!(trades.get(&KEY).await.unwrap().unwrap().price.unwrap().value, 1);
    assert!(trades.delete_if(&KEY, Trade::PRICE.version(i64::MAX)).await.unwrap());
}

/// All cells of a table but for their row: family, qualifier, timestamp and value.
async fn cells(table: &RawTable) -> Vec<(String, Vec<u8>, i64, Vec<u8>)> {
    let rows: Vec<_> = table.read_rows(ReadRows::all()).try_collect().await.unwrap();
    let cells = rows.iter().flat_map(|row| row.cells());
    let mut cells: Vec<_> = cells
        .map(|cell| {
            let (family, value) = (cell.family().to_owned(), cell.value().to_vec());
            (family, cell.qualifier().to_vec(), cell.timestamp_micros(), value)
        })
        .collect();
    cells.sort();
    cells
}

async fn a_copy_keeps_each_microsecond(client: Client) {
    let Some(old) = trades(&client, "old", Granularity::Micros).await else { return };
    for id in 0..20 {
        old.put(&UserKey { id }, &trade(AT + id.cast_signed())).await.unwrap();
        old.update(&UserKey { id }).add(Trade::VOLUME, 1).await.unwrap();
    }
    let salted = |name: &str| client.table::<SaltedKey, Trade>(name);
    let (same, coarse) = (salted("same"), salted("coarse"));
    same.create().granularity(Granularity::Micros).await.unwrap();
    coarse.create().await.unwrap();
    old.copy_to(&same, |key, _| SaltedKey::from(key)).await.unwrap();
    assert_eq!(cells(&client.raw_table("old")).await, cells(&client.raw_table("same")).await);

    let error = old.copy_to(&coarse, |key, _| SaltedKey::from(key)).await.unwrap_err().to_string();
    assert!(error.contains("its timestamps are whole milliseconds, and those of table `old`"), "{error}");
    assert!(cells(&client.raw_table("coarse")).await.is_empty());
}

#[tokio::test]
async fn a_declared_granularity_is_compared() {
    let client = Client::embedded();
    let trades = client.table::<UserKey, Trade>("trades");
    assert!(trades.create().granularity(Granularity::Micros).if_absent().await.unwrap());
    assert_eq!(trades.info().await.unwrap().granularity(), Granularity::Micros);
    assert!(!trades.create().granularity(Granularity::Micros).if_absent().await.unwrap());
    assert!(!trades.create_if_absent().await.unwrap());
    trades.verify().await.unwrap();
    let declared = trades.create().granularity(Granularity::Millis);
    for error in [declared.clone().verify().await.unwrap_err(), declared.if_absent().await.unwrap_err()] {
        assert!(error.is_table_mismatch());
        assert_eq!(
            error.to_string(),
            "table `trades`: the granularity of its timestamps is not the declared one: expected `milliseconds`, found \
             `microseconds`; a table keeps its granularity, so declare that one, or copy the rows to another table"
        );
    }
    let plain = created::<UserKey, Trade>(&client, "plain").await;
    assert_eq!(plain.info().await.unwrap().granularity(), Granularity::Millis);
}

#[tokio::test(start_paused = true)]
async fn a_rekeyed_table_keeps_its_granularity() {
    #[derive(Row, Clone, Debug, PartialEq)]
    struct Plain {
        price: Timestamped<i64>,
    }
    let client = Client::embedded();
    for granularity in [Granularity::Micros, Granularity::Millis] {
        let (old, new) = (format!("old-{granularity}"), format!("new-{granularity}"));
        let table = client.table::<UserKey, Plain>(&old);
        table.create().granularity(granularity).without_row_key_schema().await.unwrap();
        let at = if granularity == Granularity::Micros { AT } else { AT / 1000 * 1000 };
        table.put(&KEY, &Plain { price: Timestamped::new(at, 7) }).await.unwrap();
        let rekeyed = client.rekeyed::<UserKey, SaltedKey, Plain>(&old, &new).await.unwrap();
        rekeyed.migration().run().await.unwrap();
        let info = client.table_info(&new).await.unwrap();
        assert_eq!(info.granularity(), granularity);
        let row = rekeyed.get(&SaltedKey { id: 7 }).await.unwrap().unwrap();
        assert_eq!(row.price.timestamp_micros, at);
    }
}
