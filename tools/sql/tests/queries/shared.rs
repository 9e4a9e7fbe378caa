//! A table of events, and what queries return.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::TableProvider;
use datafusion::prelude::SessionConfig;
use keyderive::dynamic::TableLayout;
use keyderive::{Client, Row, RowKey};
use keyderive_datafusion::{BigtableTable, Exact};

#[derive(Clone, Debug, RowKey)]
#[salt(range = 4, over = "user_id,site")]
pub(crate) struct EventKey {
    pub(crate) user_id: String,
    pub(crate) site: String,
    #[reverse_ts]
    pub(crate) at: u64,
    #[pad(6)]
    pub(crate) seq: u32,
}

#[derive(Clone, Debug, Row)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) amount: f64,
    pub(crate) clicks: Option<i64>,
}

pub(crate) const SITES: [&str; 4] = ["blog", "home", "shop", "wiki"];
pub(crate) const USERS: [&str; 8] = ["", "a", "user", "user0", "user00", "user01", "user\u{10ffff}", "v"];
pub(crate) const TIMES: [u64; 6] = [0, 1, 5, 6, 1 << 40, i64::MAX as u64];

/// Rows with few values, so that literals are often values of rows.
pub(crate) fn rows(count: u32) -> Vec<(EventKey, Event)> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..count)
        .map(|seq| {
            let key = EventKey {
                user_id: USERS[seq as usize % USERS.len()].into(),
                site: SITES[random.usize(0..SITES.len())].into(),
                at: TIMES[random.usize(0..TIMES.len())],
                seq,
            };
            let kind = ["login", "click", "buy"][random.usize(0..3)];
            let clicks = (random.u32(0..3) > 0).then(|| random.i64(0..100));
            (key, Event { kind: kind.into(), amount: f64::from(random.u32(0..10_000)) / 4.0, clicks })
        })
        .collect()
}

/// A table of these rows, in several tablets.
pub(crate) async fn events(rows: &[(EventKey, Event)]) -> Client {
    let client = Client::embedded();
    let events = client.table::<EventKey, Event>("events");
    events.create_if_absent().await.unwrap();
    events.put_all(rows).await.unwrap();
    client
}

pub(crate) fn layout() -> TableLayout {
    TableLayout::of::<EventKey, Event>("events")
}

pub(crate) fn table(client: &Client, layout: &TableLayout) -> BigtableTable {
    Exact::new(SessionConfig::new()).table(client, layout).unwrap()
}

pub(crate) fn provider(client: &Client) -> Arc<BigtableTable> {
    Arc::new(table(client, &layout()))
}

pub(crate) fn session(table: Arc<dyn TableProvider>, config: SessionConfig) -> Exact {
    let exact = Exact::new(config);
    exact.context().register_table("events", table).unwrap();
    exact
}

pub(crate) async fn query(exact: &Exact, sql: &str) -> datafusion::error::Result<Vec<RecordBatch>> {
    exact.sql(sql).await?.collect().await
}

/// The rows as lines of text.
pub(crate) fn lines(batches: &[RecordBatch], is_sorted: bool) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let rows = text.lines().skip(3).filter(|line| line.starts_with('|'));
    let cells = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>().join("|"));
    let mut lines: Vec<String> = cells.collect();
    if !is_sorted {
        lines.sort();
    }
    lines
}

/// The lines of a plan that is run, with its metrics.
pub(crate) async fn analyzed(exact: &Exact, sql: &str) -> String {
    let batches = query(exact, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
    pretty_format_batches(&batches).unwrap().to_string()
}

/// The sum of a metric over the lines of a plan.
pub(crate) fn metric(plan: &str, name: &str) -> usize {
    let (name, scan) = (format!("{name}="), plan.lines().filter(|line| line.contains("BigtableExec")));
    let values = scan.filter_map(|line| line.split_once(&name)).map(|(_, rest)| {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        number.parse::<usize>().unwrap()
    });
    values.sum()
}
