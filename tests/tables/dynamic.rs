//! Tables by layouts that are data, beside the same tables by types: what one writes the other reads, and both refuse the same.

mod cursor;

use keyderive::dynamic::{KeyLayout, TableLayout, Value};
use keyderive::layouts::Layouts;
use keyderive::row::Mutation;
use keyderive::{Client, ErrorKind, OnForeign, Row, RowKey, Table};
use keyderive_tests::fixtures::{created, fails};

use crate::servers::on_every_bigtable;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user")]
struct EventKey {
    user: String,
    #[reverse_ts]
    at: u64,
    #[pad(3)]
    seq: u16,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Event {
    kind: String,
    note: Option<String>,
    #[row(counter)]
    views: i64,
}

on_every_bigtable! {
    rows_are_the_same_by_types_and_by_data
    scans_by_data_have_the_rows_of_scans_by_types
    what_is_not_of_the_layout_is_refused
    text_is_parsed_by_the_type_of_its_column
    aggregates_are_added_to_by_their_names
    some_columns_are_read_of_every_row
    rows_are_returned_as_stored
    pages_and_explained_scans_are_those_of_types
    layouts_of_the_registry_read_a_table
    loads_and_deletions_by_data_are_those_of_types
}

fn layout() -> TableLayout {
    let json = Layouts::new().table::<EventKey, Event>("events").to_json();
    Layouts::from_json(&json).unwrap().table_layout("events").unwrap()
}

async fn events(client: &Client) -> Table<EventKey, Event> {
    created::<EventKey, Event>(client, "events").await
}

fn key(user: &str, at: u64, seq: u16) -> EventKey {
    EventKey { user: user.into(), at, seq }
}

fn event(kind: &str) -> Event {
    Event { kind: kind.into(), note: None, views: 3 }
}

async fn rows_are_the_same_by_types_and_by_data(client: Client) {
    let typed = events(&client).await;
    let layout = layout();
    let events = client.dynamic_table(&layout);

    let one = layout.key().encode([("user", "alice"), ("at", "5"), ("seq", "7")]).unwrap();
    assert_eq!(one, key("alice", 5, 7).encode().unwrap());
    assert!(events.get(&one).await.unwrap().is_none());
    let mut row = events.new_row();
    row.set("kind", "login").unwrap().set("views", 3).unwrap();
    events.put(&one, &row).await.unwrap();
    assert_eq!(typed.get(&key("alice", 5, 7)).await.unwrap(), Some(event("login")));

    // A put makes the row equal to the value: a note that was there is gone.
    events.update(&one, [("note", "seen")]).await.unwrap();
    let note = typed.get(&key("alice", 5, 7)).await.unwrap().unwrap().note;
    assert_eq!(note.as_deref(), Some("seen"));
    events.put(&one, &row).await.unwrap();
    assert_eq!(typed.get(&key("alice", 5, 7)).await.unwrap(), Some(event("login")));

    typed.put(&key("alice", 5, 7), &Event { note: Some("x".into()), ..event("logout") }).await.unwrap();
    let read = events.get(&one).await.unwrap().unwrap();
    let newest = |name: &str| read.column(name).and_then(|column| column.value().newest().cloned());
    assert_eq!(newest("kind"), Some(Value::from("logout")));
    assert_eq!(newest("cf:note"), Some(Value::from("x")));
    assert_eq!(newest("views"), Some(Value::from(3)));
    events.delete(&one).await.unwrap();
    assert_eq!(typed.get(&key("alice", 5, 7)).await.unwrap(), None);
}

async fn scans_by_data_have_the_rows_of_scans_by_types(client: Client) {
    let typed = events(&client).await;
    let keys = (0..200_u16).map(|n| key(["alice", "bob", "carol"][usize::from(n % 3)], u64::from(n / 7), n));
    typed.put_all(keys.map(|key| (key, event("login")))).await.unwrap();
    let layout = layout();
    let events = client.dynamic_table(&layout);
    let scans = [
        (layout.key().scan().plan().unwrap(), EventKey::scan().into_plan().unwrap()),
        (
            layout.key().scan().fix("user", "bob").unwrap().range("at", 3..9).unwrap().plan().unwrap(),
            EventKey::scan().user("bob").at_range(3..9).into_plan().unwrap(),
        ),
        (
            layout.key().scan().any_of("user", ["alice", "carol", "dave"]).unwrap().plan().unwrap(),
            EventKey::scan().user_any_of(["alice", "carol", "dave"]).into_plan().unwrap(),
        ),
    ];
    for (from_data, plan) in scans {
        for reversed in [false, true] {
            let (mut one, mut other) = (events.scan(from_data.clone()), typed.scan(plan.clone()));
            if reversed {
                (one, other) = (one.reversed(), other.reversed());
            }
            let read: Vec<_> = one.limit(50).collect().await.unwrap();
            let expected: Vec<_> = other.limit(50).collect().await.unwrap();
            let shown = |key: &EventKey| {
                format!("EventKey {{ user: {:?}, at: {}, seq: {} }}", key.user, key.at, key.seq)
            };
            assert!(
                read.iter().map(|(key, _)| key.to_string()).eq(expected.iter().map(|(key, _)| shown(key)))
            );
            assert!(!read.is_empty());
        }
        // A page token of one is a page token of the other.
        let page = typed.scan(plan.clone()).page(20).await.unwrap();
        if let Some(token) = page.next {
            let rest = events.scan(from_data.clone()).after(&token).collect().await.unwrap();
            let all = typed.count(plan.clone()).await.unwrap();
            assert_eq!(rest.len() as u64 + 20, all);
        }
        assert_eq!(events.count(from_data).await.unwrap(), typed.count(plan).await.unwrap());
    }
    let mut counted = 0;
    for part in events.partitions().await.unwrap() {
        counted += events.count(part).await.unwrap();
    }
    assert_eq!(counted, 200);
    let bob = layout.key().scan().fix("user", "bob").unwrap();
    assert_eq!(events.delete_rows(bob).await.unwrap(), 67);
    assert_eq!(typed.count(EventKey::scan()).await.unwrap(), 133);
}

async fn what_is_not_of_the_layout_is_refused(client: Client) {
    let typed = events(&client).await;
    let layout = layout();
    let events = client.dynamic_table(&layout);
    let error = events.get(b"9#alice#5").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidKey);
    assert!(error.to_string().contains("these bytes are no key of it: "), "{error}");
    assert!(error.to_string().contains("does not decode as `EventKey`"), "{error}");

    // A row of another program, with a key of another form.
    let foreign = client.raw_table("events");
    foreign
        .mutate_row(&b"0#zed#x"[..], [keyderive::row::Mutation::set("cf", "kind", 1_000, "x")])
        .await
        .unwrap();
    typed.put(&key("alice", 5, 7), &event("login")).await.unwrap();
    let scan = || events.scan(layout.key().scan());
    let [by_data, by_type] = [
        scan().collect().await.map(drop).unwrap_err(),
        typed.scan(EventKey::scan()).collect().await.map(drop).unwrap_err(),
    ];
    assert_eq!(by_data.kind(), by_type.kind());
    assert_eq!(by_data.to_string(), by_type.to_string());
    assert!(scan().count().await.is_err());
    assert_eq!(scan().on_foreign(OnForeign::Skip).collect().await.unwrap().len(), 1);
    assert_eq!(scan().on_foreign(OnForeign::Skip).count().await.unwrap(), 1);

    // A layout of other keys is not that of the table's stamp.
    #[derive(RowKey)]
    #[salt(range = 8, over = "user")]
    #[allow(dead_code)]
    struct OtherKey {
        user: String,
        #[reverse_ts]
        at: u64,
        #[pad(3)]
        seq: u16,
    }
    let json = Layouts::new().table::<OtherKey, Event>("events").to_json();
    let other = Layouts::from_json(&json).unwrap().table_layout("events").unwrap();
    let other_table = client.dynamic_table(&other);
    let bytes = other.key().encode([("user", "alice"), ("at", "5"), ("seq", "7")]).unwrap();
    for error in [
        other_table.get(&bytes).await.map(drop).unwrap_err(),
        other_table.delete(&bytes).await.unwrap_err(),
        other_table.count(other.key().scan()).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::TableMismatch, "{error}");
    }

    // A column that the row type does not have, and a value that is not of its type.
    let one = key("alice", 5, 7).encode().unwrap();
    fails(events.update(&one, [("knid", "x")]).await, "did you mean `cf:kind`?");
    fails(events.update(&one, [("views", "many")]).await, "cf:views");
    assert_eq!(typed.get(&key("alice", 5, 7)).await.unwrap(), Some(event("login")));
}

/// As an argument of a command line has them.
async fn text_is_parsed_by_the_type_of_its_column(client: Client) {
    let typed = events(&client).await;
    typed.put(&key("alice", 5, 7), &event("login")).await.unwrap();
    let events = client.dynamic_table(&layout());
    let (alice, row) = events.scan(layout().key().scan()).collect().await.unwrap().remove(0);
    events.update(&alice, [("note", "hot")]).await.unwrap();
    assert_eq!(typed.get(&key("alice", 5, 7)).await.unwrap().unwrap().note.as_deref(), Some("hot"));
    events.put(&alice, &row).await.unwrap();
    assert_eq!(typed.get(&key("alice", 5, 7)).await.unwrap(), Some(event("login")));
    let stored = events.get_raw(&alice).await.unwrap().unwrap();
    assert!(stored.cells().any(|cell| cell.qualifier() == b"kind" && cell.value() == b"login"));
    events.delete(&alice).await.unwrap();
    assert_eq!(events.get_raw(&alice).await.unwrap(), None);
}

async fn aggregates_are_added_to_by_their_names(client: Client) {
    #[derive(Row, Clone, Debug, PartialEq)]
    struct Page {
        title: Option<String>,
        ratio: Option<f64>,
        size: Option<u32>,
        #[row(family = "sums")]
        views: keyderive::row::Sum,
    }
    let typed = created::<EventKey, Page>(&client, "pages").await;
    let json = Layouts::new().table::<EventKey, Page>("pages").to_json();
    let layout = Layouts::from_json(&json).unwrap().table_layout("pages").unwrap();
    let pages = client.dynamic_table(&layout);
    let alice = key("alice", 5, 7).encode().unwrap();
    pages.add(&alice, [("sums:views", 2)]).await.unwrap();
    pages.add(&alice, [("sums:views", 3)]).await.unwrap();
    pages.update(&alice, [("title", "Home"), ("ratio", "1"), ("size", "512")]).await.unwrap();
    let page = typed.get(&key("alice", 5, 7)).await.unwrap().unwrap();
    assert_eq!((page.views.get(), page.ratio, page.size), (5, Some(1.0), Some(512)));
    pages.update(&alice, [("ratio", 3)]).await.unwrap();
    assert_eq!(
        pages.get(&alice).await.unwrap().unwrap().column("ratio").unwrap().value().newest(),
        Some(&Value::F64(3.0))
    );

    for (name, value, expected) in [
        ("size", "-1", "`cf:size` holds an integer of 0 to 4294967295, which `-1` is not"),
        ("size", "5 ", "`cf:size` holds an integer of 0 to 4294967295, which `5 ` is not"),
        ("ratio", "half", "`cf:ratio` holds an `f64`, which `half` is not"),
    ] {
        fails(pages.update(&alice, [(name, value)]).await, expected);
    }
    // No float is this number.
    fails(pages.update(&alice, [("ratio", (1_i64 << 53) + 1)]).await, "which `9007199254740993` is not");
    fails(pages.add(&alice, [("title", 1)]).await, "is no aggregate");
    assert!(pages.add(&alice, [("sums:clicks", 1)]).await.is_err());

    let mut row = pages.new_row();
    row.set("size", "7").unwrap();
    assert_eq!(row.column("size").unwrap().value().newest(), Some(&Value::Integer(7)));
}

async fn layouts_of_the_registry_read_a_table(client: Client) {
    let typed = events(&client).await;
    typed.put(&key("alice", 5, 7), &event("login")).await.unwrap();
    let layouts = client.registered_layouts("events").await.unwrap();
    let [layout] = &layouts[..] else { panic!("{layouts:?}") };
    assert_eq!(layout.key().schema().fingerprint(), EventKey::SCHEMA.fingerprint());
    assert_eq!(
        layout.row_type().map(keyderive::row::RowSchema::fingerprint),
        Some(Event::SCHEMA.fingerprint())
    );
    let rows = client.dynamic_table(layout).scan(layout.key().scan()).collect().await.unwrap();
    assert_eq!(rows[0].0.to_string(), r#"EventKey { user: "alice", at: 5, seq: 7 }"#);
    assert_eq!(rows[0].1.column("kind").unwrap().value().newest(), Some(&Value::from("login")));

    // A table that was made again under its name: its record is of the earlier one until a program has written.
    client.delete_table("events").await.unwrap();
    assert!(client.registered_layouts("events").await.is_err());
    assert!(client.registered_layouts("never").await.is_err());
}

/// A name as it is shown is the column that it is shown for.
async fn loads_and_deletions_by_data_are_those_of_types(client: Client) {
    let typed = events(&client).await;
    let layout = layout();
    let events = client.dynamic_table(&layout);
    let row = |user: &str, at: u64| {
        let fields = [("user", user.into()), ("at", at.into()), ("seq", Value::from(7))];
        let key = layout.key().decode(&layout.key().encode(fields).unwrap()).unwrap();
        let mut row = events.new_row();
        row.set("kind", "login").unwrap().set("views", 3).unwrap();
        (key, row)
    };
    // The note of the row that is replaced is gone.
    let old = Event { note: Some("old".into()), ..event("view") };
    typed.put(&key("alice", 0, 7), &old).await.unwrap();
    let mut rows: Vec<_> = (0..100).map(|at| row("alice", at)).collect();
    let checkpoint = {
        let half = futures_util::stream::iter(&rows[..50]);
        events.load(half).await.unwrap().checkpoint().clone()
    };
    let report = events.load(futures_util::stream::iter(&rows)).resume(checkpoint).await.unwrap();
    assert_eq!((report.written(), report.checkpoint().items()), (50, 100));
    let stored = typed.scan(EventKey::scan()).collect().await.unwrap();
    let expected = (0..100).rev().map(|at| (key("alice", at, 7), event("login")));
    assert_eq!(stored, expected.collect::<Vec<_>>());

    // A row that lacks a column is not written; the others are.
    let mut without_kind = events.new_row();
    without_kind.set("views", 3).unwrap();
    rows[1].1 = without_kind;
    let report = events.load(futures_util::stream::iter(&rows)).await.unwrap();
    assert_eq!((report.written(), report.failed_count()), (99, 1));
    assert_eq!(report.failed()[0].index(), 1);

    let mut keys = events.scan(layout.key().scan()).keys_only().stream();
    let mut found = Vec::new();
    while let Some(key) = keys.next().await {
        found.push(key.unwrap());
    }
    assert_eq!(found.len(), 100);
    // None is deleted if one is no key.
    let faulty = [&b"no key"[..], found[0].as_ref()];
    assert!(events.delete_all(faulty).await.is_err());
    assert_eq!(typed.count(EventKey::scan()).await.unwrap(), 100);
    events.delete_all(&found[..60]).await.unwrap();
    assert_eq!(typed.count(EventKey::scan()).await.unwrap(), 40);
}

#[tokio::test]
async fn columns_named_by_bytes() {
    #[derive(Row, Clone, Debug, PartialEq)]
    struct Blobs {
        #[row(family)]
        counts: std::collections::BTreeMap<Vec<u8>, i64>,
    }
    let client = Client::embedded();
    let typed = created::<EventKey, Blobs>(&client, "events").await;
    typed.put(&key("alice", 5, 7), &Blobs { counts: [(vec![0xff], 1)].into() }).await.unwrap();
    let layouts = client.registered_layouts("events").await.unwrap();
    let events = client.dynamic_table(&layouts[0]);
    let one = key("alice", 5, 7).encode().unwrap();
    let row = events.get(&one).await.unwrap().unwrap();
    let name = row.columns().next().unwrap().name().into_owned();
    events.update(&one, [(format!("counts:{name}"), 2)]).await.unwrap();
    let counts = typed.get(&key("alice", 5, 7)).await.unwrap().unwrap().counts;
    assert_eq!(counts, [(vec![0xff], 2)].into());
    assert!(events.update(&one, [("counts:\\z", 2)]).await.is_err());
}

/// An empty row would be one that the program with the type cannot read.
#[tokio::test]
async fn nothing_is_put_without_a_row_type() {
    let client = Client::embedded();
    let typed = created::<EventKey, Event>(&client, "events").await;
    let layouts = client.registered_layouts("events").await.unwrap();
    let events = client.dynamic_table(&layouts[0]);
    let one = key("alice", 5, 7).encode().unwrap();
    fails(events.put(&one, &events.new_row()).await, "no row type is chosen");
    assert!(events.update(&one, [("kind", "x")]).await.is_err());
    assert_eq!(typed.count(EventKey::scan()).await.unwrap(), 0);
}

/// A layout needs no struct: as a program in another language would write its JSON.
#[test]
fn a_layout_names_its_faults() {
    let json = serde_json::to_string(EventKey::SCHEMA).unwrap();
    let broken = json.replace(r#""range":4"#, r#""range":1"#).replace(r#""name":"at""#, r#""name":"""#);
    let error = KeyLayout::from_json(&broken).unwrap_err();
    let faults = error.faults().join("\n");
    assert!(faults.contains("`fields[1].name`: the name is empty"), "{faults}");
    assert!(faults.contains("`salt.range`: a salt has 2 to 4096 buckets, not 1"), "{faults}");
    fails(
        KeyLayout::from_json(&json.replace(r#""name":"seq""#, r#""name":"sequence""#)),
        "`fingerprint`: it is",
    );
    fails(
        KeyLayout::from_json(&json.replace(r#""version":1"#, r#""version":9"#)),
        "use the release that wrote it",
    );
}

async fn some_columns_are_read_of_every_row(client: Client) {
    let typed = events(&client).await;
    let layout = layout();
    let events = client.dynamic_table(&layout);
    typed.put(&key("alice", 5, 7), &Event { note: Some("x".into()), ..event("login") }).await.unwrap();
    typed.put(&key("bob", 5, 7), &event("view")).await.unwrap();

    let scan = events.scan(layout.key().scan()).select(["note", "cf:views"]).unwrap();
    let rows = scan.collect().await.unwrap();
    let shown: Vec<_> = rows.iter().map(|(_, row)| row.to_string()).collect();
    // Rows without the column are read too, and no other column is sent.
    assert_eq!(
        shown,
        ["Event\n  cf:note: \"x\"\n  cf:views: 3\n", "Event\n  cf:note: absent\n  cf:views: 3\n"]
    );
    assert!(rows.iter().all(|(_, row)| row.foreign().len() == 0));
    let notes = events.scan(layout.key().scan()).select(["note"]).unwrap().collect().await.unwrap();
    let typed_notes = typed.select(Event::NOTE).scan(EventKey::scan()).collect().await.unwrap();
    for ((_, row), (_, note)) in notes.iter().zip(&typed_notes) {
        let found = row.column("note").unwrap().value().newest().cloned();
        assert_eq!(found, note.as_ref().map(|note| Value::from(note.as_str())));
    }
    assert_eq!(notes.len(), 2);
    fails(events.scan(layout.key().scan()).select(["nte"]), "did you mean `cf:note`?");
}

async fn rows_are_returned_as_stored(client: Client) {
    let typed = events(&client).await;
    let layout = layout();
    let events = client.dynamic_table(&layout);
    typed.put(&key("alice", 5, 7), &event("login")).await.unwrap();
    // An increment of a row that does not exist makes one of the counted column alone.
    typed.increment(&key("bob", 5, 7), Event::VIEWS, 1).await.unwrap();
    client.raw_table("events").mutate_row("1#zoe", vec![Mutation::set("cf", "kind", 0, "x")]).await.unwrap();

    let mut rows = events.scan(layout.key().scan()).on_foreign(OnForeign::Skip).stored().stream();
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next().await {
        let (key, stored) = row.unwrap();
        assert_eq!(key.as_ref(), stored.key());
        match rows.read(&stored) {
            Ok(row) => read.push(row),
            Err(error) => unread.push(error),
        }
    }
    assert_eq!((read.len(), unread.len(), rows.skipped().foreign()), (1, 1, 1));
    assert_eq!(unread[0].kind(), ErrorKind::InvalidRow);
    let kept = events.scan(layout.key().scan()).on_foreign(OnForeign::Skip);
    let kept =
        kept.filter_key(|key| key.get("user") == Some(&Value::from("bob"))).raw().stream().next().await;
    assert_eq!(kept.unwrap().unwrap().1.cells().len(), 1);
}

async fn pages_and_explained_scans_are_those_of_types(client: Client) {
    let typed = events(&client).await;
    let layout = layout();
    let events = client.dynamic_table(&layout);
    for at in 0..5 {
        typed.put(&key("alice", at, 7), &event("login")).await.unwrap();
    }
    let by_data = || events.scan(layout.key().scan().fix("user", "alice").unwrap());
    let by_type = || typed.scan(EventKey::scan().user("alice"));
    assert_eq!(by_data().explain().unwrap().to_string(), by_type().explain().unwrap().to_string());
    assert_eq!(by_data().explain_analyze().await.unwrap().rows, 5);
    let (one, other) = (by_data().page(2).await.unwrap(), by_type().page(2).await.unwrap());
    assert_eq!(one.next, other.next);
    assert_eq!(by_data().after(&one.next.unwrap()).collect().await.unwrap().len(), 3);

    let start = layout.key().decode_start(b"1#alice#9223");
    assert_eq!((start.bucket(), start.rest()), (Some(1), &b"9223"[..]));
    assert_eq!(start.fields().collect::<Vec<_>>(), [("user", &Value::from("alice"))]);
}

/// On the embedded Bigtable alone: the emulator chooses the keys that it samples at random, for each call anew.
#[tokio::test]
async fn sizes_are_those_of_types() {
    let client = Client::embedded();
    let typed = events(&client).await;
    for at in 0..5 {
        typed.put(&key("alice", at, 7), &event("login")).await.unwrap();
    }
    let of_type = typed.sizes().await.unwrap().to_string();
    assert_eq!(client.dynamic_table(&layout()).sizes().await.unwrap().to_string(), of_type);
    assert_eq!(client.raw_table("events").sizes().await.unwrap().to_string(), of_type);
}

/// The number that is stored is a date too.
#[test]
fn a_date_of_a_key_may_be_its_number() {
    #[derive(RowKey)]
    struct DayKey {
        user: String,
        day: chrono::NaiveDate,
    }
    let layout = KeyLayout::of::<DayKey>();
    let encode = |day: &Value| layout.encode([("user", Value::from("a")), ("day", day.clone())]);
    for day in [Value::from(20_150_316), Value::from("20150316"), Value::from("2015-03-16")] {
        assert_eq!(encode(&day).unwrap(), b"a#20150316", "{day:?}");
    }
    for day in [Value::from(20_150_229), Value::from("20150229"), Value::from(-1)] {
        fails(encode(&day), "is not a date as `YYYYMMDD`");
    }
}

#[test]
fn a_character_of_a_key_is_one() {
    #[derive(RowKey)]
    struct LetterKey {
        letter: char,
    }
    let layout = KeyLayout::of::<LetterKey>();
    assert_eq!(layout.decode("é".as_bytes()).unwrap().get("letter"), Some(&Value::from('é')));
    for bytes in ["ab", "éa", ""] {
        assert!(layout.decode(bytes.as_bytes()).is_err(), "{bytes}");
    }
}
