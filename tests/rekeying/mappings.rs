//! One mapping of keys: programs and drivers with another one find out before they read or write a row by it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use keyderive::client::ReadRows;
use keyderive::dynamic::{KeyLayout, KeyMapping, TableLayout};
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::layouts::Layouts;
use keyderive::row::RawRow;
use keyderive::table::rekey::{PairKey, Rekeyed, State};
use keyderive::{Client, Row, RowKey};
use tokio::time::sleep;

#[derive(RowKey, Clone, Debug, PartialEq)]
struct Old {
    shop: u32,
    order: u32,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "shop")]
struct New {
    shop: u32,
    order: u32,
}

impl From<Old> for New {
    fn from(Old { shop, order }: Old) -> Self {
        Self { shop, order }
    }
}

impl From<&New> for Old {
    fn from(&New { shop, order }: &New) -> Self {
        Self { shop, order }
    }
}

/// The same layouts, with a mapping that exchanges the numbers: inverse to itself too.
mod exchanged {
    use keyderive::RowKey;

    #[derive(RowKey, Clone, Debug, PartialEq)]
    pub(super) struct Old {
        pub(super) shop: u32,
        pub(super) order: u32,
    }

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[salt(range = 4, over = "shop")]
    pub(super) struct New {
        pub(super) shop: u32,
        pub(super) order: u32,
    }

    impl From<Old> for New {
        fn from(Old { shop, order }: Old) -> Self {
            Self { shop: order, order: shop }
        }
    }

    impl From<&New> for Old {
        fn from(&New { shop, order }: &New) -> Self {
            Self { shop: order, order: shop }
        }
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Order {
    total: i64,
    note: Option<String>,
}

type Orders = Rekeyed<Old, New, Order>;
type Exchanged = Rekeyed<exchanged::Old, exchanged::New, Order>;

const ROWS: u32 = 300;

fn order(number: u32) -> (Old, Order) {
    let note = number.is_multiple_of(3).then(|| format!("note {number}"));
    (Old { shop: number % 7, order: number + 1000 }, Order { total: i64::from(number), note })
}

async fn fill(client: &Client, rows: u32) {
    let old = client.table::<Old, Order>("orders");
    let split = Old { shop: 3, order: 0 };
    old.create().without_row_key_schema().split_at(&split).await.unwrap();
    let rows: Vec<_> = (0..rows).map(order).collect();
    old.put_all(&rows).await.unwrap();
}

async fn open(client: &Client) -> Result<Orders, keyderive::Error> {
    client.rekeyed("orders", "orders-4").await
}

async fn open_exchanged(client: &Client) -> Result<Exchanged, keyderive::Error> {
    client.rekeyed("orders", "orders-4").await
}

/// The layouts of both tables, as a tool that has no types reads them.
fn layouts() -> [TableLayout; 2] {
    let json = Layouts::new().table::<Old, Order>("orders").table::<New, Order>("orders-4").to_json();
    let layouts = Layouts::from_json(&json).unwrap();
    ["orders", "orders-4"].map(|name| layouts.table_layout(name).unwrap())
}

fn mapping(text: &str) -> KeyMapping {
    KeyMapping::new(&KeyLayout::of::<Old>(), &KeyLayout::of::<New>(), text).unwrap()
}

async fn by_data(
    client: &Client,
    text: &str,
) -> Result<keyderive::table::rekey::Migration, keyderive::Error> {
    let [old, new] = layouts();
    client.dynamic_migration(&old, &new, Some(&mapping(text))).await
}

async fn without_mapping(client: &Client) -> keyderive::table::rekey::Migration {
    let [old, new] = layouts();
    client.dynamic_migration(&old, &new, None).await.unwrap()
}

const EXCHANGED: &str = "shop=order,order=shop";

async fn stored(client: &Client, table: &str) -> Vec<RawRow> {
    client.raw_table(table).read_rows(ReadRows::all()).try_collect().await.unwrap()
}

/// The row, both new keys, and what to do.
#[track_caller]
fn is_refused(error: &keyderive::Error) {
    let text = error.to_string();
    assert!(error.is_table_mismatch(), "{text}");
    for part in [
        "has another mapping of keys",
        "gives the row Old {",
        "the key New {",
        "take it back by `roll_back()`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// How a read fails once it does not fail for a state that its process has to learn first.
async fn final_error<O, N>(orders: &Rekeyed<O, N, Order>, key: &N) -> keyderive::Error
where
    O: PairKey + for<'a> From<&'a N>,
    N: PairKey,
{
    loop {
        let error = orders.get(key).await.unwrap_err();
        if !error.is_retryable() {
            return error;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn programs_with_other_conversions_refuse_each_other() {
    let client = Client::embedded();
    fill(&client, ROWS).await;
    // Opened while there is nothing to compare yet.
    let other = open_exchanged(&client).await.unwrap();
    let orders = open(&client).await.unwrap();
    orders.migration().run().await.unwrap();
    let key = exchanged::New { shop: 1001, order: 1 };
    is_refused(&final_error(&other, &key).await);
    let row = Order { total: 0, note: None };
    is_refused(&other.put(&key, &row).await.unwrap_err());
    is_refused(&other.delete(&key).await.unwrap_err());
    is_refused(&other.scan_both(exchanged::New::scan(), exchanged::Old::scan()).collect().await.unwrap_err());
    let migration = other.migration();
    for refused in [migration.run().await, migration.finish().await, migration.roll_back().await] {
        is_refused(&refused.unwrap_err());
    }
    is_refused(&migration.state().await.unwrap_err());
    is_refused(&open_exchanged(&client).await.unwrap_err());
    // The other one goes on.
    let (old, value) = order(1);
    assert_eq!(orders.get(&New::from(old)).await.unwrap(), Some(value));
    orders.migration().finish().await.unwrap();
}

/// A program that has opened the table and does nothing for a while does not act by another mapping once the state says so.
#[tokio::test(start_paused = true)]
async fn a_program_with_other_conversions_writes_nothing_while_rows_are_copied() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, ROWS).await;
    let slow =
        bigtable.with_faults(Faults::seeded(0).delay(Method::CheckAndMutateRow, 1.0, Duration::from_secs(2)));
    let other = open_exchanged(&client).await.unwrap();
    let driver = open(&slow.client()).await.unwrap().migration();
    let writer = tokio::spawn(async move {
        let mut refused = None;
        for number in 0..10_000_u32 {
            let key = exchanged::New { shop: 5_000_000 + number, order: 1 };
            if let Err(error) = other.put(&key, &Order { total: 1, note: None }).await
                && error.is_table_mismatch()
            {
                refused = Some(error);
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        refused.unwrap()
    });
    driver.run().await.unwrap();
    is_refused(&writer.await.unwrap());
    // What it wrote before is in the old table, and was copied by the mapping of the driver.
    let rows = stored(&client, "orders-4").await;
    let orders = open(&client).await.unwrap();
    assert_eq!(orders.scan_both(New::scan(), Old::scan()).count().await.unwrap(), rows.len() as u64);
    assert!(
        rows.iter().all(|row| New::decode(row.key()).unwrap().shop < 5_000_000),
        "written by the other mapping"
    );
}

#[tokio::test(start_paused = true)]
async fn a_program_and_a_mapping_by_data_refuse_each_other() {
    let client = Client::embedded();
    fill(&client, ROWS).await;
    let exchanged = by_data(&client, EXCHANGED).await.unwrap();
    let orders = open(&client).await.unwrap();
    orders.migration().run().await.unwrap();
    is_refused(&exchanged.run().await.unwrap_err());
    is_refused(&exchanged.finish().await.unwrap_err());
    is_refused(&by_data(&client, EXCHANGED).await.unwrap_err());
    // The other way round.
    let client = Client::embedded();
    fill(&client, ROWS).await;
    let orders = open(&client).await.unwrap();
    by_data(&client, EXCHANGED).await.unwrap().run().await.unwrap();
    is_refused(&final_error(&orders, &New::from(order(1).0)).await);
    is_refused(&open(&client).await.unwrap_err());
    assert_eq!(open_exchanged(&client).await.unwrap().migration().state().await.unwrap(), State::Moved);
}

#[tokio::test(start_paused = true)]
async fn a_mapping_by_data_and_the_same_conversions_agree() {
    let client = Client::embedded();
    fill(&client, ROWS).await;
    let (orders, migration) = (open(&client).await.unwrap(), by_data(&client, "").await.unwrap());
    assert!(migration.check().await.unwrap().is_ok());
    assert_eq!(migration.status().await.unwrap().examples, []);
    migration.run().await.unwrap();
    let status = migration.status().await.unwrap();
    assert_eq!((status.state, status.is_by_row, status.is_finishing), (State::Moved, false, false));
    // Of both tablets.
    let shops: Vec<_> = status.examples.iter().map(|(old, _)| Old::decode(old).unwrap().shop).collect();
    assert!(shops.len() == 16 && shops.contains(&0) && shops.contains(&3), "{shops:?}");
    for (old, new) in &status.examples {
        assert_eq!(New::from(Old::decode(old).unwrap()), New::decode(new).unwrap());
    }
    for number in 0..ROWS {
        let (old, value) = order(number);
        assert_eq!(orders.get(&New::from(old)).await.unwrap(), Some(value));
    }
    orders.delete(&New::from(order(0).0)).await.unwrap();
    // A typed driver takes it back, and the next attempt goes on.
    assert!(orders.migration().verify().await.unwrap().is_equal());
    orders.migration().roll_back().await.unwrap();
    assert_eq!(migration.state().await.unwrap(), State::RolledBack);
    let rows = client.table::<Old, Order>("orders").count(Old::scan()).await.unwrap();
    assert_eq!(rows, u64::from(ROWS) - 1);
}

#[tokio::test(start_paused = true)]
async fn a_mapping_by_data_and_conversions_write_the_same_bytes() {
    let (typed, data) = (Client::embedded(), Client::embedded());
    for client in [&typed, &data] {
        fill(client, ROWS).await;
    }
    // Both have their own times.
    let times: Vec<_> = stored(&typed, "orders").await;
    open(&typed).await.unwrap().migration().run().await.unwrap();
    by_data(&data, "order=order,shop=shop").await.unwrap().run().await.unwrap();
    let cells = |rows: &[RawRow]| {
        let cells = rows.iter().flat_map(|row| {
            row.cells().map(|cell| {
                let column = (cell.qualifier().to_vec(), cell.value().to_vec());
                (row.key().to_vec(), cell.family().to_owned(), column.0, column.1)
            })
        });
        cells.collect::<Vec<_>>()
    };
    let (of_types, of_data) = (stored(&typed, "orders-4").await, stored(&data, "orders-4").await);
    assert_eq!(cells(&of_types), cells(&of_data));
    assert_eq!(of_types.len(), times.len());
    // And after the end, without origins.
    open(&typed).await.unwrap().migration().finish().await.unwrap();
    by_data(&data, "").await.unwrap().finish().await.unwrap();
    assert_eq!(cells(&stored(&typed, "orders-4").await), cells(&stored(&data, "orders-4").await));
    assert_eq!(data.table::<New, Order>("orders-4").count(New::scan()).await.unwrap(), u64::from(ROWS));
}

/// What cannot be known: the page says so.
#[tokio::test(start_paused = true)]
async fn of_an_empty_table_there_is_nothing_to_compare() {
    let client = Client::embedded();
    fill(&client, 0).await;
    open(&client).await.unwrap().migration().run().await.unwrap();
    let migration = by_data(&client, EXCHANGED).await.unwrap();
    assert_eq!(migration.status().await.unwrap().examples, []);
    assert_eq!(migration.state().await.unwrap(), State::Moved);
}

#[tokio::test(start_paused = true)]
async fn another_attempt_may_have_another_mapping() {
    let client = Client::embedded();
    fill(&client, ROWS).await;
    let orders = open(&client).await.unwrap();
    orders.migration().run().await.unwrap();
    orders.migration().roll_back().await.unwrap();
    // The same new table is of the old mapping.
    is_refused(&open_exchanged(&client).await.unwrap_err());
    let next: Exchanged = client.rekeyed("orders", "orders-exchanged").await.unwrap();
    next.migration().run().await.unwrap();
    let (old, value) = order(1);
    let key = exchanged::New { shop: old.order, order: old.shop };
    assert_eq!(next.get(&key).await.unwrap(), Some(value));
    is_refused(&client.rekeyed::<Old, New, Order>("orders", "orders-exchanged").await.unwrap_err());
}

/// A lease on the state before `copying` outlives the first copies, which stand where another mapping looks for other rows.
#[tokio::test(start_paused = true)]
async fn a_program_with_other_conversions_reads_no_row_of_another_key() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, ROWS).await;
    let old = client.table::<Old, Order>("orders");
    for (shop, number) in [(1, 2), (2, 1)] {
        let row = Order { total: i64::from(shop), note: None };
        old.put(&Old { shop, order: number }, &row).await.unwrap();
    }
    let other = open_exchanged(&client).await.unwrap();
    let reader = tokio::spawn(async move {
        let mut reads = 0;
        loop {
            // Of its old key, the shop is 1.
            match other.get(&exchanged::New { shop: 2, order: 1 }).await {
                Ok(row) => assert_eq!(row.map(|row| row.total), Some(1)),
                Err(error) if error.is_table_mismatch() => return (reads, error),
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
            reads += 1;
            sleep(Duration::from_millis(20)).await;
        }
    });
    open(&client).await.unwrap().migration().run().await.unwrap();
    let (reads, error) = reader.await.unwrap();
    is_refused(&error);
    assert!(reads > 0);
}

/// What is recorded comes with the first state.
#[tokio::test(start_paused = true)]
async fn a_driver_that_dies_before_it_copies_leaves_its_mapping() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, ROWS).await;
    let orders = Arc::new(open(&client).await.unwrap());
    let driver = paused_driver(&orders).await;
    driver.abort();
    assert_eq!(without_mapping(&client).await.status().await.unwrap().examples.len(), 16);
    is_refused(&by_data(&client, EXCHANGED).await.unwrap_err());
    orders.migration().roll_back().await.unwrap();
    let next: Exchanged = client.rekeyed("orders", "orders-exchanged").await.unwrap();
    next.migration().run().await.unwrap();
}

/// A driver, once its state is `paused`.
async fn paused_driver(orders: &Orders) -> tokio::task::JoinHandle<Result<(), keyderive::Error>> {
    let migration = orders.migration();
    let driver = tokio::spawn(async move { migration.run().await });
    while orders.migration().state().await.unwrap() != State::Paused {
        sleep(Duration::from_millis(50)).await;
    }
    driver
}

/// Of a table that was empty when it began, the rows are recorded that writers still wrote.
#[tokio::test(start_paused = true)]
async fn rows_that_came_after_the_beginning_are_recorded_before_they_are_copied() {
    let client = Client::embedded();
    fill(&client, 0).await;
    let orders = open(&client).await.unwrap();
    let late = client.table::<Old, Order>("orders").unchecked();
    let driver = paused_driver(&orders).await;
    assert_eq!(orders.migration().status().await.unwrap().examples, []);
    let (key, row) = order(1);
    late.put(&key, &row).await.unwrap();
    driver.await.unwrap().unwrap();
    assert_eq!(orders.migration().status().await.unwrap().examples.len(), 1);
    is_refused(&by_data(&client, EXCHANGED).await.unwrap_err());
}

/// Without the mapping: the state, and its end.
#[tokio::test(start_paused = true)]
async fn a_re_keying_by_rows_shows_its_state_and_finishes_without_its_mapping() {
    let client = Client::embedded();
    fill(&client, ROWS).await;
    let new_key = |old: &Old, _: &Order| New::from(old.clone());
    let by_row: Orders = client.rekeyed_by_row("orders", "orders-4", new_key).await.unwrap();
    let unknown = without_mapping(&client).await;
    assert_eq!(unknown.state().await.unwrap(), State::Old);
    let refused = |error: keyderive::Error| {
        assert!(error.to_string().contains("the mapping of its keys is not known here"), "{error}");
    };
    refused(unknown.run().await.unwrap_err());
    refused(unknown.check().await.unwrap_err());
    by_row.migration().run().await.unwrap();
    let status = unknown.status().await.unwrap();
    assert_eq!((status.state, status.is_by_row, status.examples), (State::Moved, true, Vec::new()));
    refused(unknown.verify().await.unwrap_err());
    let error = unknown.roll_back().await.unwrap_err().to_string();
    assert!(error.contains("no way back from `copying` on"), "{error}");
    // Conversions are another mapping, whatever they give.
    let error = by_data(&client, "").await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("makes new keys of rows"), "{error}");
    assert!(open(&client).await.unwrap_err().is_table_mismatch());
    unknown.run().await.unwrap();
    unknown.finish().await.unwrap();
    assert_eq!(client.table::<New, Order>("orders-4").count(New::scan()).await.unwrap(), u64::from(ROWS));
}

#[tokio::test(start_paused = true)]
async fn without_the_mapping_nothing_is_taken_back() {
    let client = Client::embedded();
    fill(&client, ROWS).await;
    open(&client).await.unwrap().migration().run().await.unwrap();
    let unknown = without_mapping(&client).await;
    let error = unknown.roll_back().await.unwrap_err().to_string();
    assert!(error.contains("the mapping of its keys is not known here"), "{error}");
    assert_eq!(unknown.state().await.unwrap(), State::Moved);
}

#[tokio::test(start_paused = true)]
async fn a_mapping_without_a_way_back_is_refused_before_anything_is_sent() {
    #[derive(RowKey)]
    struct Shop {
        shop: u32,
    }
    let client = Client::embedded();
    fill(&client, 3).await;
    let json = Layouts::new().table::<Old, Order>("orders").table::<Shop, Order>("shops").to_json();
    let layouts = Layouts::from_json(&json).unwrap();
    let [old, new] = ["orders", "shops"].map(|name| layouts.table_layout(name).unwrap());
    let mapping = KeyMapping::new(old.key(), new.key(), "").unwrap();
    let error = client.dynamic_migration(&old, &new, Some(&mapping)).await.unwrap_err().to_string();
    assert!(error.contains("the field `order` of `Old` is dropped"), "{error}");
    // The mapping of other tables.
    let error = client.dynamic_migration(&new, &old, Some(&mapping)).await.unwrap_err().to_string();
    assert!(error.contains("make the mapping of the layouts of both tables"), "{error}");
}

/// A driver that only looks makes no registry.
#[tokio::test(start_paused = true)]
async fn to_look_at_the_state_changes_nothing() {
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    fill(&client, 3).await;
    client.delete_table("keyderive").await.unwrap();
    let migration = by_data(&client, "").await.unwrap();
    assert_eq!(migration.state().await.unwrap(), State::Old);
    assert!(migration.check().await.unwrap().is_ok());
    assert_eq!(client.list_tables().await.unwrap(), ["orders"]);
    migration.run().await.unwrap();
    migration.finish().await.unwrap();
    assert_eq!(client.table::<New, Order>("orders-4").count(New::scan()).await.unwrap(), 3);
}
