//! What fields and columns are in Arrow.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::prelude::SessionConfig;
use keyderive::dynamic::TableLayout;
use keyderive::row::{Sum, Timestamped, Versions};
use keyderive::{Cell, Client, KeyField, Row, RowKey};
use keyderive_datafusion::Exact;

use crate::shared::{lines, query};

#[derive(Clone, Copy, Debug, KeyField)]
#[repr(u8)]
enum Status {
    Open = 1,
    Closed = 2,
    Archived = 3,
}

#[derive(RowKey)]
#[row_key(tag = "T")]
struct WideKey {
    status: Status,
    flag: bool,
    small: i16,
    #[row_key(desc)]
    large: u128,
    letter: char,
    blob: Vec<u8>,
    name: String,
}

#[derive(Cell)]
enum Level {
    Low,
    High,
}

#[derive(Row)]
struct Address {
    city: String,
    zip: Option<i64>,
}

#[derive(Row)]
struct Wide {
    #[row(name = "name")]
    title: String,
    level: Level,
    #[row(counter)]
    views: i64,
    price: f32,
    is_new: bool,
    raw: Vec<u8>,
    history: Versions<i64>,
    checked: Option<Timestamped<String>>,
    #[row(family)]
    address: Option<Address>,
    #[row(family)]
    tags: BTreeMap<String, i64>,
    #[row(family)]
    sums: Totals,
}

#[derive(Row)]
struct Totals {
    bytes: Sum,
}

fn row(at: i64) -> Wide {
    Wide {
        title: format!("title {at}"),
        level: if at % 2 == 0 { Level::Low } else { Level::High },
        views: at,
        price: 1.5,
        is_new: at == 1,
        raw: vec![0, 255],
        history: [Timestamped::new(2_000, at), Timestamped::new(1_000, 7)].into_iter().collect(),
        checked: (at == 1).then(|| Timestamped::new(3_000, "yes".to_owned())),
        address: (at == 1).then(|| Address { city: "Chur".into(), zip: None }),
        tags: (0..at).map(|tag| (format!("tag{tag}"), tag)).collect(),
        sums: Totals { bytes: Sum::default() },
    }
}

async fn wide() -> Exact {
    let client = Client::embedded();
    let table = client.table::<WideKey, Wide>("wide");
    table.create_if_absent().await.unwrap();
    for (at, status) in [(0, Status::Open), (1, Status::Closed), (2, Status::Archived)] {
        let key = WideKey {
            status,
            flag: at == 1,
            small: -5 + at as i16,
            large: u128::MAX - at as u128,
            letter: 'ä',
            blob: vec![1, at as u8],
            name: "key".into(),
        };
        table.put(&key, &row(at)).await.unwrap();
    }
    let exact = Exact::new(SessionConfig::new());
    let wide = exact.table(&client, &TableLayout::of::<WideKey, Wide>("wide")).unwrap();
    exact.context().register_table("wide", Arc::new(wide)).unwrap();
    exact
}

#[tokio::test]
async fn every_type_is_read() {
    let exact = wide().await;
    let rows = async |sql: &str| lines(&query(&exact, sql).await.unwrap(), true);
    assert_eq!(
        rows("SELECT status, flag, small, large, letter, blob, name, \"cf:name\", level, views, price, is_new, raw FROM wide WHERE flag").await,
        ["|Closed|true|-4|340282366920938463463374607431768211454|ä|0101|key|title 1|High|1|1.5|true|00ff|"]
    );
    assert_eq!(
        rows("SELECT address['city'], address['zip'], map_keys(tags), history[1]['value'], checked['value'], bytes FROM wide ORDER BY small").await,
        ["|||[]|0||0|", "|Chur||[tag0]|1|yes|0|", "|||[tag0, tag1]|2||0|"]
    );
    assert_eq!(rows("SELECT count(*) FROM wide WHERE address IS NULL").await, ["|2|"]);
}

/// Keys of an enum are in the order of its codes, and text in the order of its letters.
#[tokio::test]
async fn constraints_of_every_type_are_those_of_arrow() {
    let exact = wide().await;
    for (filter, expected) in [
        ("status > 'Archived'", 2),
        ("status LIKE 'C%'", 1),
        ("status = 'nothing'", 0),
        // The codes that the keys have.
        ("status = '1' OR status = '2'", 0),
        ("status IN ('1', '01', '2', 'Closed')", 1),
        ("status IN ('Open', 'Closed') AND NOT flag", 1),
        ("status = 'Closed' AND flag AND small > -5", 1),
        ("status = 'Closed' AND flag AND small > -4", 0),
        (
            "status IN ('Open', 'Closed', 'Archived') AND flag IN (true, false) AND small IN (-5, -4) AND large < CAST('340282366920938463463374607431768211455' AS DECIMAL(39, 0))",
            1,
        ),
    ] {
        let batches = query(&exact, &format!("SELECT count(*) FROM wide WHERE {filter}")).await.unwrap();
        assert_eq!(lines(&batches, true), [format!("|{expected}|")], "{filter}");
    }
    let ordered = query(&exact, "SELECT status FROM wide ORDER BY status").await.unwrap();
    assert_eq!(lines(&ordered, true), ["|Archived|", "|Closed|", "|Open|"]);
}

/// The value of a hashed field is not in the key, so that its keys are no primary key.
#[tokio::test]
async fn a_hashed_field_has_no_column() {
    #[derive(RowKey)]
    struct HashedKey {
        seq: u32,
        #[row_key(hash(md5))]
        user: String,
    }
    #[derive(Row)]
    struct Event {
        kind: String,
    }
    let client = Client::embedded();
    let table = client.table::<HashedKey, Event>("hashed");
    table.create_if_absent().await.unwrap();
    table.put(&HashedKey { user: "a".into(), seq: 7 }, &Event { kind: "x".into() }).await.unwrap();
    let exact = Exact::new(SessionConfig::new());
    let hashed = exact.table(&client, &TableLayout::of::<HashedKey, Event>("hashed")).unwrap();
    exact.context().register_table("hashed", Arc::new(hashed)).unwrap();
    let rows = query(&exact, "SELECT * FROM hashed WHERE seq = 7").await.unwrap();
    assert_eq!(lines(&rows, true), ["|7|x|"]);
}
