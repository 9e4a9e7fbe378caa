//! Tables whose keys are not plain text: the ordered layout, and keys that do not decode.

use keyderive::plan::Plan;
use keyderive::{Client, RowKey};
use keyderive_tests::fixtures::created;

use crate::servers::on_every_bigtable;

on_every_bigtable! {
    ordered_keys_come_in_logical_order
    hashed_keys_are_handed_out_raw
}

/// Salts of one and two bytes, and keys whose trailing empty parts are dropped.
#[derive(RowKey, Clone, Debug, PartialEq, PartialOrd)]
#[row_key(layout = "ordered")]
#[salt(range = 70, over = "name")]
struct OrderedKey {
    id: i64,
    name: String,
    note: String,
}

async fn ordered_keys_come_in_logical_order(client: Client) {
    let table = created::<OrderedKey, ()>(&client, "ordered").await;
    let key = |id: i64, name: &str, note: &str| OrderedKey { id, name: name.into(), note: note.into() };
    let mut keys = Vec::new();
    for id in [i64::MIN, -65, -1, 0, 63, 64, i64::MAX] {
        for name in ["", "\0", "a", "a\0", "b"] {
            keys.extend([key(id, name, ""), key(id, name, "n")]);
        }
    }
    table.put_all(keys.iter().rev().map(|key| (key.clone(), ()))).await.unwrap();

    let scanned = async |plan: Plan<OrderedKey>| -> Vec<OrderedKey> {
        table.scan(plan).collect().await.unwrap().into_iter().map(|row| row.0).collect()
    };
    assert_eq!(scanned(OrderedKey::scan().into_plan().unwrap()).await, keys);
    let negative: Vec<_> = keys.iter().filter(|key| key.id < 0).cloned().collect();
    assert_eq!(scanned(OrderedKey::scan().id_range(..0).into_plan().unwrap()).await, negative);
    let fixed: Vec<_> = keys.iter().filter(|key| key.id == 63 && key.name.is_empty()).cloned().collect();
    assert_eq!(scanned(OrderedKey::scan().id(63).name("").into_plan().unwrap()).await, fixed);
    assert_eq!(table.get(&keys[0]).await.unwrap(), Some(()));
}

#[derive(RowKey)]
#[row_key(tag = "BATTERY")]
struct BatteryKey {
    user: String,
    #[pad(17)]
    #[row_key(hash(md5))]
    at: u64,
}

async fn hashed_keys_are_handed_out_raw(client: Client) {
    let table = created::<BatteryKey, ()>(&client, "battery").await;
    let key = |user: &str, at| BatteryKey { user: user.into(), at };
    let keys = [key("Corrie", 20_150_301_124_501_003), key("Jo", 20_150_301_124_501_002)];
    for key in &keys {
        table.put(key, &()).await.unwrap();
    }
    assert_eq!(table.get(&keys[0]).await.unwrap(), Some(()));
    let rows = table.scan(BatteryKey::scan().user("Corrie")).collect().await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].0.to_string(), "BATTERY#Corrie#5cbed828691915bd3ab68145f00b489d");
    table.delete(&keys[0]).await.unwrap();
    assert_eq!(table.scan(BatteryKey::scan()).collect().await.unwrap().len(), 1);
}
