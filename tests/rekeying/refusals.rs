//! What a re-keying refuses, and what becomes of programs that know nothing of it.

use std::time::Duration;

use futures_util::future::join_all;
use keyderive::client::{Aggregate, Family, FamilyChange};
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::table::diff::RowDifference;
use keyderive::table::rekey::{Rekeyed, State};
use keyderive::{Client, ErrorKind, GcRule, Row, RowKey};

const LEASE: Duration = Duration::from_millis(200);

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Old {
    order: u64,
    shop: String,
}

/// With the fields in another order.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "shop")]
struct New {
    shop: String,
    order: u64,
}

impl From<Old> for New {
    fn from(Old { order, shop }: Old) -> Self {
        Self { shop, order }
    }
}

impl From<&New> for Old {
    fn from(New { shop, order }: &New) -> Self {
        Self { order: *order, shop: shop.clone() }
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Order {
    total: i64,
    #[row(counter)]
    views: i64,
}

type Orders = Rekeyed<Old, New, Order>;

fn key(order: u64) -> New {
    New { shop: format!("shop-{}", order % 7), order }
}

const ORDER: Order = Order { total: 1, views: 0 };

async fn orders(client: &Client, rows: u64) -> Orders {
    let old = client.table::<Old, Order>("orders");
    old.create().without_row_key_schema().await.unwrap();
    let rows: Vec<_> = (0..rows).map(|order| (Old::from(&key(order)), ORDER)).collect();
    old.put_all(&rows).await.unwrap();
    open(client).await
}

async fn open(client: &Client) -> Orders {
    client.rekeyed("orders", "orders-by-shop").await.unwrap()
}

paused! {

async fn rows_are_found_in_no_order_where_the_fields_have_another_order() {
    let client = Client::embedded();
    let events = orders(&client, 600).await;
    let error = events.scan_both(New::scan(), Old::scan()).collect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("the field `shop` is in the place of `order`"), "{error}");
    let all = async || {
        let mut keys = events.scan_both(New::scan(), Old::scan()).unordered().keys_only().collect().await.unwrap();
        keys.sort_by_key(|key| key.order);
        keys
    };
    let expected: Vec<_> = (0..600).map(key).collect();
    assert_eq!(all().await, expected);
    events.migration().run().await.unwrap();
    assert_eq!(all().await, expected);
    events.delete(&key(3)).await.unwrap();
    events.put(&key(600), &ORDER).await.unwrap();
    events.migration().roll_back().await.unwrap();
    let expected: Vec<_> = (0..=600).filter(|order| *order != 3).map(key).collect();
    assert_eq!(all().await, expected);
}

/// A process that was stopped between two states.
async fn a_scan_in_no_order_ends_when_the_state_changes() {
    let client = Client::embedded();
    let events = orders(&client, 2000).await;
    let mut rows = events.scan_both(New::scan(), Old::scan()).unordered().stream();
    assert!(rows.next().await.unwrap().is_ok());
    events.migration().run().await.unwrap();
    let mut ended = None;
    while let Some(row) = rows.next().await {
        ended = row.err().or(ended);
    }
    let error = ended.unwrap();
    assert!(error.is_retryable() && !error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("next state"), "{error}");
}

async fn both_plans_of_a_scan_select_the_same_rows() {
    let client = Client::embedded();
    let events = orders(&client, 20).await;
    let one_shop = || New::scan().shop("shop-1");
    let error = events.scan_both(one_shop(), Old::scan()).unordered().collect().await.unwrap_err();
    assert!(error.to_string().contains("only the one of the old keys selects"), "{error}");
    let error = events.scan_both(New::scan(), Old::scan().order(1)).unordered().collect().await.map(drop);
    assert!(error.is_ok(), "the plan of the table that is not read may be wider: {error:?}");
    events.migration().run().await.unwrap();
    let error = events.scan_both(New::scan(), Old::scan().order(1)).unordered().collect().await.unwrap_err();
    assert!(error.to_string().contains("only the one of the new keys selects"), "{error}");
}

async fn other_programs_are_rejected_while_a_table_is_re_keyed() {
    let client = Client::embedded();
    let events = orders(&client, 3).await;
    events.migration().run().await.unwrap();
    for error in [
        client.table::<Old, Order>("orders").get(&Old::from(&key(1))).await.unwrap_err(),
        client.table::<New, Order>("orders-by-shop").get(&key(1)).await.unwrap_err(),
        client.table::<New, Order>("orders-by-shop").put(&key(1), &ORDER).await.unwrap_err(),
    ] {
        assert!(error.is_table_mismatch() && error.attempts() == 0, "{error}");
    }
    events.migration().finish().await.unwrap();
    client.table::<New, Order>("orders-by-shop").put(&key(1), &ORDER).await.unwrap();
    assert!(client.table::<Old, Order>("orders").verify().await.is_err());
}

/// A program that was not stopped, and does not check the table again.
async fn what_a_forgotten_program_writes_is_found_before_the_table_counts_as_moved() {
    let client = Client::embedded();
    let events = orders(&client, 3).await;
    let forgotten = client.table::<Old, Order>("orders").unchecked();
    let migration = events.migration();
    migration.run().await.unwrap();
    forgotten.put(&Old::from(&key(77)), &ORDER).await.unwrap();
    forgotten.put(&Old::from(&key(1)), &Order { total: 5, views: 0 }).await.unwrap();
    client.table::<New, Order>("orders-by-shop").unchecked().put(&key(99), &ORDER).await.unwrap();
    let found = migration.verify().await.unwrap();
    assert_eq!(found.different(), 3, "{found}");
    let is = |wanted: fn(&RowDifference) -> bool| found.first().iter().any(wanted);
    assert!(is(|found| matches!(found, RowDifference::Missing { .. })), "{found}");
    assert!(is(|found| matches!(found, RowDifference::Cells { .. })), "{found}");
    assert!(is(|found| matches!(found, RowDifference::WithoutOrigin { .. })), "{found}");
    assert!(found.to_string().contains("knows nothing of the re-keying"), "{found}");
}

async fn a_table_that_cannot_be_re_keyed_is_refused() {
    let client = Client::embedded();
    // Not created yet.
    let error = client.rekeyed::<Old, New, Order>("orders", "orders-by-shop").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    let old = client.table::<Old, Order>("orders");
    old.create().await.unwrap();
    let events = open(&client).await;
    assert_eq!(events.migration().state().await.unwrap(), State::Old);
    // With aggregates.
    let sums = Family::aggregate("sums", Aggregate::Sum, GcRule::never());
    old.modify_families([FamilyChange::add(sums)]).await.unwrap();
    let error = client.rekeyed::<Old, New, Order>("orders", "orders-by-shop").await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("copy_to"), "{error}");
    // Of another key type.
    client.table::<New, Order>("others").create().without_row_key_schema().await.unwrap();
    let error = client.rekeyed::<Old, New, Order>("others", "orders-by-shop").await.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    // To itself.
    let error = client.rekeyed::<Old, New, Order>("orders", "orders").await.unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("tags"), "{error}");
}

async fn a_table_that_somebody_else_made_is_not_taken() {
    let client = Client::embedded();
    let events = orders(&client, 3).await;
    client.table::<New, Order>("orders-by-shop").create_if_absent().await.unwrap();
    let error = events.migration().run().await.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    assert_eq!(events.migration().state().await.unwrap(), State::Old);
    assert!(events.get(&key(1)).await.unwrap().is_some());
}

/// Origins of another re-keying would count for its rows.
async fn two_tables_do_not_become_one() {
    let client = Client::embedded();
    let events = orders(&client, 0).await;
    let second = client.table::<Old, Order>("second");
    second.create().without_row_key_schema().await.unwrap();
    second.put(&Old::from(&key(1)), &Order { total: 2, views: 0 }).await.unwrap();
    let other = client.rekeyed::<Old, New, Order>("second", "orders-by-shop").await.unwrap();
    let is_refused = async || {
        let error = other.migration().run().await.unwrap_err();
        assert!(error.is_table_mismatch() && error.to_string().contains("name another table"), "{error}");
        assert_eq!(other.migration().state().await.unwrap(), State::Old);
        assert_eq!(other.get(&key(1)).await.unwrap().unwrap().total, 2);
    };
    events.migration().run().await.unwrap();
    is_refused().await;
    events.put(&key(1), &ORDER).await.unwrap();
    is_refused().await;
    events.migration().roll_back().await.unwrap();
    is_refused().await;
}

async fn a_table_that_is_made_again_does_not_become_what_the_one_before_became() {
    let client = Client::embedded();
    let events = orders(&client, 3).await;
    events.migration().run().await.unwrap();
    for order in 0..3 {
        events.put(&key(order), &ORDER).await.unwrap();
    }
    events.migration().roll_back().await.unwrap();
    client.delete_table("orders").await.unwrap();
    let events = orders(&client, 1).await;
    let error = events.migration().run().await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("name another table"), "{error}");
    assert_eq!(events.get(&key(2)).await.unwrap(), None);
}

/// A row that lies in none of the buckets is one that an older or a newer program wrote.
async fn foreign_rows_are_found_wherever_they_are() {
    #[derive(RowKey, Clone, Debug)]
    #[salt(range = 4)]
    struct Salted {
        order: u64,
    }
    #[derive(RowKey, Clone, Debug)]
    struct Unsalted {
        order: u64,
    }
    impl From<Salted> for Unsalted {
        fn from(Salted { order }: Salted) -> Self {
            Self { order }
        }
    }
    impl From<&Unsalted> for Salted {
        fn from(Unsalted { order }: &Unsalted) -> Self {
            Self { order: *order }
        }
    }
    let client = Client::embedded();
    client.table::<Salted, Order>("t").create().without_row_key_schema().await.unwrap();
    let events = client.rekeyed::<Salted, Unsalted, Order>("t", "t-new").await.unwrap();
    events.put(&Unsalted { order: 1 }, &ORDER).await.unwrap();
    let raw = client.raw_table("t");
    for (count, key) in ["!before", "4#00000000000000000001", "7", "zzz"].into_iter().enumerate() {
        let set = [keyderive::row::Mutation::set("cf", "total", 0, vec![0; 8])];
        raw.mutate_row(key, set).await.unwrap();
        let found = events.migration().check().await.unwrap();
        assert_eq!((found.faulty, found.rows), (count as u64 + 1, count as u64 + 2), "{found}");
    }
    let error = events.migration().run().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignRow, "{error}");
}

async fn two_handles_to_different_tables_do_not_share_a_re_keying() {
    let client = Client::embedded();
    let events = orders(&client, 3).await;
    let other = client.rekeyed::<Old, New, Order>("orders", "elsewhere").await.unwrap();
    events.migration().run().await.unwrap();
    let error = other.get(&key(1)).await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("re-keyed in another way"), "{error}");
    assert!(client.rekeyed::<Old, New, Order>("orders", "elsewhere").await.is_err());
}

async fn foreign_rows_and_rows_without_a_new_key_are_found_first() {
    let client = Client::embedded();
    let events = orders(&client, 5).await;
    let raw = client.raw_table("orders");
    let set = [keyderive::row::Mutation::set("cf", "total", 0, vec![0; 8])];
    raw.mutate_row("no key", set).await.unwrap();
    // The new key is longer than a row key can be.
    let long = Old { order: 1, shop: "x".repeat(4096 - 21) };
    client.table::<Old, Order>("orders").put(&long, &ORDER).await.unwrap();
    let found = events.migration().check().await.unwrap();
    assert!(!found.is_ok() && found.faulty == 2 && found.rows == 7, "{found}");
    assert!(found.to_string().contains("no key"), "{found}");
    assert!(events.migration().run().await.is_err());
}

/// Both drivers do all of it; neither harms the other.
async fn two_drivers_come_to_one_end() {
    let client = Client::embedded();
    let events = orders(&client, 3000).await;
    let other = open(&client).await;
    let (one, two) = (events.migration(), other.migration());
    let (first, second) = tokio::join!(one.run(), two.run());
    first.unwrap();
    second.unwrap();
    let (first, second) = tokio::join!(one.finish(), two.finish());
    first.unwrap();
    second.unwrap();
    let plain = client.table::<New, Order>("orders-by-shop");
    assert_eq!(plain.count(New::scan()).await.unwrap(), 3000);
}

async fn finish_and_back_say_when_they_cannot() {
    let client = Client::embedded();
    let events = orders(&client, 3).await;
    let migration = events.migration();
    assert!(migration.finish().await.unwrap_err().to_string().contains("run()"));
    migration.roll_back().await.unwrap();
    assert_eq!(migration.verify().await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    migration.run().await.unwrap();
    migration.finish().await.unwrap();
    assert!(migration.roll_back().await.unwrap_err().to_string().contains("no way back"));
    migration.run().await.unwrap();
    migration.finish().await.unwrap();
}

async fn a_key_without_a_place_in_the_old_table_is_an_error_from_the_first_call_on() {
    #[derive(RowKey, Clone, Debug)]
    struct Lossy {
        order: u64,
    }
    impl From<Lossy> for New {
        fn from(Lossy { order }: Lossy) -> Self {
            Self { shop: "any".into(), order }
        }
    }
    impl From<&New> for Lossy {
        fn from(key: &New) -> Self {
            Self { order: key.order }
        }
    }
    let client = Client::embedded();
    client.table::<Lossy, Order>("lossy").create().without_row_key_schema().await.unwrap();
    let events = client.rekeyed::<Lossy, New, Order>("lossy", "by-shop").await.unwrap();
    events.put(&New { shop: "any".into(), order: 1 }, &ORDER).await.unwrap();
    for error in [
        events.put(&New { shop: "other".into(), order: 1 }, &ORDER).await.map(drop),
        events.get(&New { shop: "other".into(), order: 1 }).await.map(drop),
        events.delete(&New { shop: "other".into(), order: 1 }).await.map(drop),
    ] {
        let error = error.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
    }
    assert!(events.get(&New { shop: "any".into(), order: 1 }).await.unwrap().is_some());
}

}

mod of_rows {
    //! New keys that are made of a row's fields.

    use super::*;
    use crate::keys::{self, OfShop, Sale, create_sales, open_sales};

    fn sale(order: u64) -> (OfShop, Sale) {
        keys::sale(&format!("shop-{}", order % 3), order, 1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_field_of_the_row_becomes_one_of_the_key() {
        let client = Client::embedded();
        let old = create_sales(&client).await;
        for id in 0..20 {
            old.put(&keys::Old { id }, &sale(id).1).await.unwrap();
        }
        let sales = open_sales(&client).await;
        assert!(sales.migration().check().await.unwrap().is_ok());
        let check = async |rows: u64| {
            for order in 0..rows {
                let (key, row) = sale(order);
                assert_eq!(sales.get(&key).await.unwrap(), Some(row), "{order}");
                let other = OfShop { shop: "shop-x".into(), id: order };
                assert_eq!(sales.get(&other).await.unwrap(), None, "{order}");
                assert!(!sales.exists(&other).await.unwrap());
            }
            let all = sales.scan_both(OfShop::scan(), keys::Old::scan()).unordered().collect().await.unwrap();
            assert_eq!(all.len() as u64, rows);
            assert!(all.iter().all(|(key, row)| key.shop == row.shop));
        };
        check(20).await;
        sales.migration().run().await.unwrap();
        let (key, row) = sale(20);
        sales.put(&key, &row).await.unwrap();
        check(21).await;
        let error = sales.migration().roll_back().await.unwrap_err();
        assert!(error.to_string().contains("no way back"), "{error}");
        sales.migration().finish().await.unwrap();
        check(21).await;
    }

    /// Two new keys that differ in what the row gives share a key of the old table. A call by one of them must not reach the row of
    /// the other.
    #[tokio::test(start_paused = true)]
    async fn a_key_does_not_reach_the_row_of_another_key() {
        let client = Client::embedded();
        let old = create_sales(&client).await;
        let sales = open_sales(&client).await;
        let (own, row) = sale(1);
        sales.put(&own, &row).await.unwrap();
        let (other, others) = keys::sale("shop-x", 1, 9);
        let absent = OfShop { shop: "shop-x".into(), id: 2 };
        let exists = || Sale::TOTAL.at_least(0);

        // Nothing to delete.
        sales.delete(&other).await.unwrap();
        sales.delete(&absent).await.unwrap();
        for error in [
            sales.put(&other, &others).await.unwrap_err(),
            sales.put_all([(other.clone(), others.clone())]).await.unwrap_err(),
            sales.merge(&other, &others).await.unwrap_err(),
            sales.update(&other).set(Sale::TOTAL, 5).await.unwrap_err(),
            sales.put_if(&other, &others, exists()).await.unwrap_err(),
            sales.put_if_absent(&other, &others).await.unwrap_err(),
            sales.delete_if(&other, exists()).await.unwrap_err(),
            sales.increment(&other, Sale::SEEN, 1).await.unwrap_err(),
        ] {
            assert!(!error.is_retryable() && error.to_string().contains("cannot have both"), "{error}");
        }
        for error in [
            // Rows that would have another key than that of the call, or none.
            sales.put(&own, &others).await.unwrap_err(),
            sales.put(&OfShop { shop: "shop-y".into(), id: 2 }, &others).await.unwrap_err(),
            sales.update(&own).set(Sale::SHOP, "shop-x").await.unwrap_err(),
            sales.update(&absent).set(Sale::TOTAL, 5).await.unwrap_err(),
            sales.increment(&absent, Sale::SEEN, 1).await.unwrap_err(),
        ] {
            assert!(!error.is_retryable() && error.to_string().contains("key"), "{error}");
        }
        assert!(!sales.put_if(&absent, &others, exists()).await.unwrap());
        assert!(!sales.delete_if(&absent, exists()).await.unwrap());
        assert_eq!(sales.get(&own).await.unwrap(), Some(row.clone()));
        assert_eq!(old.count(keys::Old::scan()).await.unwrap(), 1);

        // Calls by the row's own key do what they say.
        sales.update(&own).set(Sale::TOTAL, 2).await.unwrap();
        assert_eq!(sales.increment(&own, Sale::SEEN, 1).await.unwrap(), 1);
        assert!(sales.put_if(&own, &row, exists()).await.unwrap());
        assert!(!sales.put_if_absent(&own, &row).await.unwrap());
        assert!(sales.put_if_absent(&absent, &others).await.unwrap());
        assert!(sales.delete_if(&absent, exists()).await.unwrap());
        sales.put_all([(own.clone(), row.clone()), (absent.clone(), others.clone())]).await.unwrap();
        sales.delete(&own).await.unwrap();
        // Its place is free.
        sales.put(&other, &others).await.unwrap();
        assert_eq!(sales.get(&own).await.unwrap(), None);
        sales.migration().run().await.unwrap();
        // In a table of their own, both have a place.
        sales.put(&own, &row).await.unwrap();
        sales.migration().finish().await.unwrap();
        let new = client.table::<OfShop, Sale>("by-shop");
        assert_eq!(
            new.get_many([&own, &other, &absent]).await.unwrap(),
            [Some(row), Some(others.clone()), Some(others)]
        );
    }

    /// A write that was applied, and whose answer was lost, finds its own row.
    #[tokio::test(start_paused = true)]
    async fn lost_answers_do_no_harm() {
        let bigtable = Bigtable::in_memory();
        let old = create_sales(&bigtable.client()).await;
        let lost = || Fault::unavailable().after_the_call();
        let faults = Faults::seeded(7).fail(Method::CheckAndMutateRow, 0.3, lost()).fail(
            Method::MutateRow,
            0.3,
            lost(),
        );
        let sales = open_sales(&bigtable.with_faults(faults).client()).await;
        for order in 0..100 {
            let (key, row) = sale(order);
            sales.put(&key, &row).await.unwrap();
            assert_eq!(sales.get(&key).await.unwrap(), Some(row));
            if order % 3 == 0 {
                sales.delete(&key).await.unwrap();
                assert!(!sales.exists(&key).await.unwrap());
            }
        }
        assert_eq!(old.count(keys::Old::scan()).await.unwrap(), 66);
    }

    /// Of several programs that give the place of a row to several keys, one wins, and the others are told.
    #[tokio::test(start_paused = true)]
    async fn one_of_several_keys_gets_a_place() {
        let bigtable = Bigtable::in_memory();
        create_sales(&bigtable.client()).await;
        let slow = Faults::seeded(0).delay(Method::CheckAndMutateRow, 1.0, Duration::from_millis(200));
        let sales = open_sales(&bigtable.with_faults(slow).client()).await;
        let rows: Vec<_> = ["a", "b", "c"].map(|shop| keys::sale(shop, 1, 1)).into();
        let puts = join_all(rows.iter().map(|(key, row)| sales.put(key, row))).await;
        assert_eq!(puts.iter().filter(|put| put.is_ok()).count(), 1, "{puts:?}");
        for ((key, row), put) in rows.iter().zip(&puts) {
            assert_eq!(sales.get(key).await.unwrap().as_ref(), put.is_ok().then_some(row));
        }
        let deleted = sales.put_all(rows.clone()).await.unwrap_err();
        assert!(deleted.to_string().contains("cannot have both"), "{deleted}");
    }
}

mod of_one_table {
    //! Two key types that share a table.

    use super::*;

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "order")]
    struct Tagged {
        order: u64,
    }

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "salted")]
    #[salt(range = 4, over = "order")]
    struct Salted {
        order: u64,
    }

    #[derive(RowKey, Clone, Debug, PartialEq)]
    #[row_key(tag = "user")]
    struct Neighbour {
        id: u64,
    }

    impl From<Tagged> for Salted {
        fn from(key: Tagged) -> Self {
            Self { order: key.order }
        }
    }

    impl From<&Salted> for Tagged {
        fn from(key: &Salted) -> Self {
            Self { order: key.order }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_table_has_both_and_its_other_rows_stay() {
        let client = Client::embedded();
        let (old, neighbours) = (client.table::<Tagged, Order>("t"), client.table::<Neighbour, Order>("t"));
        old.create().without_row_key_schema().await.unwrap();
        neighbours.create_if_absent().await.unwrap();
        neighbours.put(&Neighbour { id: 7 }, &ORDER).await.unwrap();
        for order in 0..50 {
            old.put(&Tagged { order }, &ORDER).await.unwrap();
        }
        let orders = client.rekeyed::<Tagged, Salted, Order>("t", "t").await.unwrap();
        orders.migration().lease(LEASE).run().await.unwrap();
        orders.put(&Salted { order: 50 }, &ORDER).await.unwrap();
        assert_eq!(orders.scan_both(Salted::scan(), Tagged::scan()).count().await.unwrap(), 51);
        neighbours.put(&Neighbour { id: 8 }, &ORDER).await.unwrap();
        orders.migration().finish().await.unwrap();
        // The table is not stamped with the old type, so that no program writes rows of it.
        assert!(old.drop_rows(Tagged::scan()).await.unwrap_err().is_table_mismatch());
        old.unchecked().drop_rows(Tagged::scan()).await.unwrap();
        assert_eq!(client.table::<Salted, Order>("t").count(Salted::scan()).await.unwrap(), 51);
        assert_eq!(neighbours.count(Neighbour::scan()).await.unwrap(), 2);
        assert!(client.table::<Tagged, Order>("t").count(Tagged::scan()).await.is_err());
    }
}

/// Keys of which the conversions change the field.
mod turned {
    use super::*;

    #[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Old {
        id: u64,
    }

    #[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[salt(range = 4, over = "id")]
    struct New {
        id: u64,
    }

    impl From<Old> for New {
        fn from(Old { id }: Old) -> Self {
            Self { id: 9 - id }
        }
    }

    impl From<&New> for Old {
        fn from(New { id }: &New) -> Self {
            Self { id: 9 - id }
        }
    }

    /// The first rows by old keys are the last ones by new keys.
    #[tokio::test(start_paused = true)]
    async fn a_scan_in_order_is_refused_where_a_conversion_changes_a_field() {
        let client = Client::embedded();
        let old = client.table::<Old, Order>("orders");
        old.create().without_row_key_schema().await.unwrap();
        old.put_all((0..10).map(|id| (Old { id }, ORDER))).await.unwrap();
        let orders = client.rekeyed::<Old, New, Order>("orders", "orders-turned").await.unwrap();
        let check = async |state| {
            assert_eq!(orders.migration().state().await.unwrap(), state);
            let scan = || orders.scan_both(New::scan(), Old::scan());
            for scan in [scan().limit(3), scan().reversed().limit(3), scan()] {
                let error = scan.collect().await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{state} {error}");
                assert!(error.to_string().contains("keep the value of each field"), "{state} {error}");
            }
            let mut all = scan().unordered().keys_only().collect().await.unwrap();
            all.sort();
            assert_eq!(all, (0..10).map(|id| New { id }).collect::<Vec<_>>(), "{state}");
        };
        check(State::Old).await;
        orders.migration().lease(LEASE).run().await.unwrap();
        check(State::Moved).await;
        orders.migration().roll_back().await.unwrap();
        check(State::RolledBack).await;
    }
}
