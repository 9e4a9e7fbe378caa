//! Tables that are split at scan boundaries. The emulator has no tablets.

use std::collections::BTreeMap;

use keyderive::{Client, RowKey, Table};

type Row = BTreeMap<String, String>;

#[derive(RowKey)]
struct PlainKey {
    user: String,
    at: u32,
}

#[derive(RowKey)]
#[salt(range = 2, over = "user")]
struct SaltedKey {
    user: String,
    at: u32,
}

#[derive(RowKey)]
#[salt(range = 2, over = "at", after = "user")]
struct SaltedLaterKey {
    user: String,
    at: u32,
}

#[derive(RowKey)]
#[row_key(layout = "ordered", tag = "E")]
#[salt(range = 2, over = "user")]
struct OrderedKey {
    user: String,
    at: u32,
}

async fn splits<K>(table: &Table<K, Row>) -> Vec<String>
where
    K: keyderive::key::TableKey,
{
    let parts = table.partitions().await.unwrap();
    let start = |plan: &keyderive::plan::Plan<K>| {
        plan.requests().iter().map(|request| request.ranges()[0].start().escape_ascii().to_string()).next()
    };
    parts.iter().filter_map(start).collect()
}

#[tokio::test]
async fn a_table_is_split_where_scans_begin() {
    let client = Client::embedded();
    let plain: Table<PlainKey, Row> = client.table("plain");
    let declared =
        plain.create().split_before(PlainKey::scan()).split_before(PlainKey::scan().user_range("m"..));
    let declared = declared.split_before(PlainKey::scan().user_any_of(["p", "r"]).at_range(7..));
    declared.split_before(PlainKey::scan().user("z").at(3)).await.unwrap();
    assert_eq!(splits(&plain).await, ["", "m", "p#0000000007", "r#0000000007", "z#0000000003"]);
}

#[tokio::test]
async fn a_split_is_made_in_every_bucket() {
    let client = Client::embedded();
    let salted: Table<SaltedKey, Row> = client.table("salted");
    let range = SaltedKey::scan().user_range("m"..);
    salted.create().split_before(range).split_before(SaltedKey::scan().user("t")).await.unwrap();
    assert_eq!(splits(&salted).await, ["0#", "0#m", "0#t#", "1#", "1#m", "1#t#"]);

    let later: Table<SaltedLaterKey, Row> = client.table("later");
    let range = SaltedLaterKey::scan().user_range("m"..);
    later.create().split_before(range).split_before(SaltedLaterKey::scan().user("t")).await.unwrap();
    assert_eq!(splits(&later).await, ["", "m", "t#0#", "t#1#"]);
}

/// The splits are where an export of the same scan starts its partitions.
#[tokio::test]
async fn an_ordered_key_is_split_too() {
    let client = Client::embedded();
    let table: Table<OrderedKey, Row> = client.table("ordered");
    let from_m = || OrderedKey::scan().user_range("m"..);
    table.create().split_before(from_m()).await.unwrap();
    assert_eq!(table.partitions().await.unwrap().len(), 4);
    assert_eq!(table.partitions_of(from_m()).await.unwrap().len(), 2);
    let key = OrderedKey { user: "m".into(), at: 7 };
    assert_eq!(
        key.salt_bucket().unwrap(),
        OrderedKey::scan().user("m").into_plan().unwrap().requests()[0].bucket()
    );
    assert_eq!(PlainKey { user: "m".into(), at: 7 }.salt_bucket().unwrap(), None);
}

#[tokio::test]
async fn an_invalid_scan_fails_the_creation() {
    let table: Table<PlainKey, Row> = Client::embedded().table("plain");
    let error = table.create().split_before(PlainKey::scan().user("a#b")).await.unwrap_err();
    assert!(error.to_string().contains("`user`") && !error.is_not_found(), "{error}");
    assert!(table.info().await.unwrap_err().is_not_found());
}
