//! What the runs have found.

use keyderive::{Client, Row, RowKey};

use crate::layouts::Numbered;

#[derive(Row)]
struct Order {
    shop: Option<String>,
}

#[derive(RowKey, Debug)]
struct OfShop {
    shop: String,
    at: u64,
    seq: u8,
}

impl From<&OfShop> for Numbered {
    fn from(key: &OfShop) -> Self {
        Self { at: key.at, seq: key.seq }
    }
}

/// No row has the keys that the tablets begin at. The closure was asked for keys of theirs with an empty row (seed 15).
#[tokio::test(start_paused = true)]
async fn a_new_key_is_made_of_stored_rows_alone() {
    let client = Client::embedded();
    let old = client.table::<Numbered, Order>("orders");
    let create = old.create().without_row_key_schema();
    create.split_at(&Numbered { at: 3, seq: 0 }).await.unwrap();
    for at in 0..6 {
        old.put(&Numbered { at, seq: 1 }, &Order { shop: Some("a".to_owned()) }).await.unwrap();
    }
    let key_of = |old: &Numbered, order: &Order| OfShop {
        shop: order.shop.clone().expect("every order has a shop"),
        at: old.at,
        seq: old.seq,
    };
    let rekeyed =
        client.rekeyed_by_row::<_, OfShop, Order>("orders", "orders-of-shops", key_of).await.unwrap();
    rekeyed.migration().run().await.unwrap();
    rekeyed.migration().finish().await.unwrap();
    assert_eq!(client.table::<OfShop, Order>("orders-of-shops").count(OfShop::scan()).await.unwrap(), 6);
}
