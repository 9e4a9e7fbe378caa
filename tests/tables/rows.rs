//! Rows as structs: families, versions, and work on parts of a row.

mod laws;
mod parts;
mod reads;
mod refused;
mod unreadable;

use std::collections::BTreeMap;

use keyderive::row::{Timestamped, Versions};
use keyderive::{Client, RowKey, Table};
use serde::{Deserialize, Serialize};

#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct PageKey {
    url: String,
}

/// A row with every kind of field.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Page {
    title: String,
    visits: Option<i64>,
    list: Option<Vec<u8>>,
    stats: Stats,
    extra: Option<Stats>,
    daily: BTreeMap<String, i64>,
    tags: Option<BTreeMap<String, String>>,
    #[serde(rename = "l", skip_serializing_if = "Option::is_none")]
    level: Option<Timestamped<u32>>,
    history: Versions<String>,
    series: BTreeMap<String, Versions<i64>>,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Stats {
    clicks: Option<u32>,
    open: Option<bool>,
    deep: Option<Deep>,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Deep {
    name: String,
    numbers: BTreeMap<String, f64>,
}

type Pages = Table<PageKey, Page>;

fn key(url: &str) -> PageKey {
    PageKey { url: url.into() }
}

async fn pages(client: &Client) -> Pages {
    let pages = client.table("pages");
    assert!(pages.create_if_absent().await.unwrap());
    pages
}

fn map<V: Clone>(entries: &[(&str, V)]) -> BTreeMap<String, V> {
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}
