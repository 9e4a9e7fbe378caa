//! Keys of pages, without a salt and with one, and keys of sales, which are made of rows.

use keyderive::table::rekey::Rekeyed;
use keyderive::{Client, Row, RowKey, Table};

#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Old {
    pub(crate) id: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "id")]
pub(crate) struct New {
    pub(crate) id: u64,
}

impl From<Old> for New {
    fn from(key: Old) -> Self {
        Self { id: key.id }
    }
}

impl From<&New> for Old {
    fn from(key: &New) -> Self {
        Self { id: key.id }
    }
}

/// A key of which the shop is in the row. Several of them share a key of the old table.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OfShop {
    pub(crate) shop: String,
    pub(crate) id: u64,
}

impl From<&OfShop> for Old {
    fn from(key: &OfShop) -> Self {
        Self { id: key.id }
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
pub(crate) struct Sale {
    pub(crate) shop: String,
    pub(crate) total: i64,
    #[row(counter)]
    pub(crate) seen: i64,
}

/// The row with this number, and its key.
pub(crate) fn sale(shop: &str, id: u64, total: i64) -> (OfShop, Sale) {
    (OfShop { shop: shop.into(), id }, Sale { shop: shop.into(), total, seen: 0 })
}

/// Creates the table of sales without shops in its keys.
pub(crate) async fn create_sales(client: &Client) -> Table<Old, Sale> {
    let old = client.table::<Old, Sale>("sales");
    old.create().without_row_key_schema().await.unwrap();
    old
}

pub(crate) async fn open_sales(client: &Client) -> Rekeyed<Old, OfShop, Sale> {
    let key_of = |old: &Old, sale: &Sale| OfShop { shop: sale.shop.clone(), id: old.id };
    client.rekeyed_by_row("sales", "by-shop", key_of).await.unwrap()
}
