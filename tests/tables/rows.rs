//! Rows: families, versions, and work on parts of a row.

mod attacked;
mod compatible;
mod evolution;
mod fits;
mod kinds;
mod laws;
mod parts;
mod reads;
mod refused;
mod selected;
mod unreadable;
mod wide;

use std::collections::BTreeMap;

use keyderive::row::{Timestamped, Versions};
use keyderive::{Client, Row, RowKey, Table};
use keyderive_tests::fixtures::created;

#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct PageKey {
    url: String,
}

/// A row with every kind of field.
#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Page {
    title: String,
    visits: Option<i64>,
    #[row(json)]
    list: Option<Vec<u8>>,
    #[row(family)]
    stats: Stats,
    #[row(family)]
    extra: Option<Stats>,
    #[row(family)]
    daily: BTreeMap<String, i64>,
    #[row(family)]
    tags: Option<BTreeMap<String, String>>,
    #[row(name = "l")]
    level: Option<Timestamped<u32>>,
    history: Versions<String>,
    #[row(family)]
    series: BTreeMap<String, Versions<i64>>,
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Stats {
    clicks: Option<u32>,
    open: Option<bool>,
    #[row(json)]
    deep: Option<Deep>,
}

#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Deep {
    name: String,
    numbers: BTreeMap<String, f64>,
}

type Pages = Table<PageKey, Page>;

fn key(url: &str) -> PageKey {
    PageKey { url: url.into() }
}

async fn pages(client: &Client) -> Pages {
    created(client, "pages").await
}

fn map<V: Clone>(entries: &[(&str, V)]) -> BTreeMap<String, V> {
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}
