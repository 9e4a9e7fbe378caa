//! Rows as types, written to the embedded Bigtable and read again.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::key::Value;
use crate::{Client, ErrorKind, RowKey, Table};

#[derive(RowKey, Clone, Debug, PartialEq)]
struct Key {
    id: u64,
}

#[derive(crate::Cell, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Login,
    #[row(name = "lo")]
    Logout,
}

mod hex {
    use std::fmt::Write as _;

    use crate::row::{Cell, CellError, CellWriter};

    pub(super) fn encode(value: &u32, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        write!(out, "{value:08x}").map_err(CellError::unsupported)
    }

    pub(super) fn decode(value: &[u8]) -> Result<u32, CellError> {
        u32::from_str_radix(<&str>::decode(value)?, 16).map_err(CellError::malformed)
    }
}

/// A row of all that a row can have.
#[derive(crate::Row, Clone, Debug, PartialEq)]
struct Event {
    kind: Kind,
    #[row(name = "a", alias = "amounts", alias = "old:amount")]
    amount: f64,
    note: Option<String>,
    #[row(counter)]
    views: i64,
    #[row(json)]
    tags: Vec<String>,
    #[row(json)]
    extra: Option<(u8, String)>,
    #[row(default)]
    retries: u32,
    #[row(default = "three")]
    tries: u32,
    #[row(ts(unit = "millis"))]
    at: std::time::SystemTime,
    #[row(ts(unit = "secs"))]
    until: Option<std::time::SystemTime>,
    #[row(with = "hex")]
    color: Option<u32>,
    level: Option<Timestamped<f64>>,
    #[row(family)]
    place: Place,
    #[row(family)]
    former: Option<Place>,
    #[row(family)]
    daily: BTreeMap<String, f64>,
    #[row(family)]
    by_kind: Option<HashMap<Kind, i64>>,
    #[row(family, json)]
    parts: BTreeMap<String, Vec<u8>>,
    #[row(family = "h")]
    state: Versions<String>,
    #[row(family = "h", json)]
    states: Versions<Vec<u8>>,
    #[row(family = "sums")]
    hits: Sum,
    #[row(family = "least")]
    least: Min,
    #[row(family)]
    hourly: BTreeMap<String, Sum>,
}

fn three() -> u32 {
    3
}

impl std::hash::Hash for Kind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self as u8).hash(state);
    }
}

#[derive(crate::Row, Clone, Debug, PartialEq)]
struct Place {
    city: String,
    #[row(alias = "level")]
    floor: Option<i32>,
}

fn event() -> Event {
    Event {
        kind: Kind::Logout,
        amount: 1.5,
        note: Some(String::new()),
        views: 3,
        tags: vec!["x".into(), "y".into()],
        extra: Some((1, "one".into())),
        retries: 7,
        tries: 8,
        at: UNIX_EPOCH + Duration::from_millis(1500),
        until: Some(UNIX_EPOCH - Duration::from_secs(9)),
        color: Some(0xff_8800),
        level: Some(Timestamped::new(9000, 0.5)),
        place: Place { city: "Zürich".into(), floor: Some(-1) },
        former: Some(Place { city: "Bern".into(), floor: None }),
        daily: BTreeMap::from([("0015".into(), 12.3)]),
        by_kind: Some(HashMap::from([(Kind::Login, 3), (Kind::Logout, -4)])),
        parts: BTreeMap::from([("a".into(), vec![1, 2])]),
        state: [Timestamped::new(7000, "new".into()), Timestamped::new(3000, "old".into())].into(),
        states: [Timestamped::new(7000, vec![1])].into(),
        hits: Sum::default(),
        least: Min::default(),
        hourly: BTreeMap::new(),
    }
}

/// The same event without all that may be absent.
fn least_event() -> Event {
    Event {
        note: None,
        extra: None,
        until: None,
        color: None,
        level: None,
        former: None,
        daily: BTreeMap::new(),
        by_kind: None,
        parts: BTreeMap::new(),
        state: Versions::new(),
        states: Versions::new(),
        place: Place { city: "Zürich".into(), floor: None },
        ..event()
    }
}

async fn events() -> Table<Key, Event> {
    let events = Client::embedded().table::<Key, Event>("events");
    events.create_if_absent().await.unwrap();
    events
}

const KEY: Key = Key { id: 7 };

/// The stored columns, as `family:qualifier`.
async fn stored<R>(table: &Table<Key, R>) -> Vec<String> {
    let row = table.get_raw(&KEY).await.unwrap();
    let name = |cell: RawCell<'_>| format!("{}:{}", cell.family(), cell.qualifier().escape_ascii());
    row.iter().flat_map(|row| row.cells().map(name).collect::<Vec<_>>()).collect()
}

#[tokio::test]
async fn what_is_put_is_read() {
    let events = events().await;
    for event in [event(), least_event(), event()] {
        events.put(&KEY, &event).await.unwrap();
        assert_eq!(events.get(&KEY).await.unwrap(), Some(event));
    }
    let raw = events.get_raw(&KEY).await.unwrap().unwrap();
    assert_eq!(raw.newest("cf", "kind").unwrap().value(), b"lo");
    assert_eq!(raw.newest("cf", "tags").unwrap().value(), br#"["x","y"]"#);
    assert_eq!(raw.newest("cf", "at").unwrap().value(), 1500_i64.to_be_bytes());
    assert_eq!(raw.newest("cf", "until").unwrap().value(), (-9_i64).to_be_bytes());
    assert_eq!(raw.newest("cf", "color").unwrap().value(), b"00ff8800");
    assert_eq!(raw.newest("former", "city").unwrap().value(), b"Bern");
}

#[tokio::test]
async fn absent_columns_are_none_default_or_an_error() {
    let events = events().await;
    events.put(&KEY, &least_event()).await.unwrap();
    let raw = events.handle.client.raw_table("events");
    let delete = async |column: &'static str| {
        raw.mutate_row(KEY.encode().unwrap(), [Mutation::delete_column("cf", column)]).await.unwrap();
    };
    for column in ["retries", "tries", "views"] {
        delete(column).await;
    }
    let read = events.get(&KEY).await.unwrap().unwrap();
    assert_eq!(read, Event { retries: 0, tries: 3, views: 0, ..least_event() });
    delete("kind").await;
    let text = events.get(&KEY).await.unwrap_err().to_string();
    assert!(text.contains("column `cf:kind` is missing, and the row type requires it"), "{text}");
    assert!(text.contains("the row has `cf:a`, `cf:at`, `cf:tags`, `place:city`"), "{text}");
}

#[tokio::test]
async fn former_names_are_read_and_deleted() {
    let events = events().await;
    events.put(&KEY, &Event { former: None, ..event() }).await.unwrap();
    let raw = events.handle.client.raw_table("events");
    let one = 2.5_f64.to_be_bytes().to_vec();
    let moved = [
        Mutation::delete_column("cf", "a"),
        Mutation::set("old", "amount", 1000, one),
        Mutation::delete_column("place", "floor"),
        Mutation::set("place", "level", 1000, 5_i64.to_be_bytes().to_vec()),
    ];
    raw.mutate_row(KEY.encode().unwrap(), moved).await.unwrap();
    let read = events.get(&KEY).await.unwrap().unwrap();
    assert_eq!((read.amount, read.place.floor), (2.5, Some(5)));
    let names = async || stored(&events).await;
    events.update(&KEY).set(Event::AMOUNT, 3.5).clear(Event::PLACE.floor).await.unwrap();
    assert!(!names().await.iter().any(|name| name == "old:amount" || name == "place:level"));
    events.put(&KEY, &read).await.unwrap();
    assert_eq!(events.get(&KEY).await.unwrap(), Some(read));
}

#[tokio::test]
async fn columns_are_changed_by_their_constants() {
    let events = events().await;
    events.put(&KEY, &event()).await.unwrap();
    events
        .update(&KEY)
        .set(Event::KIND, Kind::Login)
        .set(Event::AMOUNT, 2.5)
        .set(Event::NOTE, "seen")
        .set_or_clear(Event::COLOR, None::<u32>)
        .set(Event::RETRIES, 9)
        .set(Event::TAGS, vec!["z".to_owned()])
        .clear(Event::EXTRA)
        .set(Event::PLACE.city, "Chur")
        .set(Event::FORMER.floor, 3)
        .set(Event::DAILY.at("0030"), 4.5)
        .clear(Event::DAILY.at("0015"))
        .set(Event::BY_KIND.at(&Kind::Login), 8)
        .set(Event::LEVEL, 0.75)
        .add_version(Event::STATE, 9000, "newer")
        .add(Event::HITS, 2)
        .add(Event::LEAST, -5)
        .add(Event::HOURLY.at("12"), 1)
        .await
        .unwrap();
    assert_eq!(events.increment(&KEY, Event::VIEWS, 2).await.unwrap(), 5);
    assert_eq!(events.increment(&KEY, Event::BY_KIND.at(&Kind::Login), 1).await.unwrap(), 9);
    assert_eq!(events.append(&KEY, Event::NOTE, "!").await.unwrap(), "seen!");
    let read = events.get(&KEY).await.unwrap().unwrap();
    assert_eq!((read.kind, read.amount, read.note.as_deref()), (Kind::Login, 2.5, Some("seen!")));
    assert_eq!((read.color, read.retries, &read.tags[..]), (None, 9, &["z".to_owned()][..]));
    assert_eq!((read.extra, &*read.place.city, read.former.unwrap().floor), (None, "Chur", Some(3)));
    assert_eq!(read.daily, BTreeMap::from([("0030".into(), 4.5)]));
    assert_eq!(read.by_kind.unwrap(), HashMap::from([(Kind::Login, 9), (Kind::Logout, -4)]));
    assert_eq!(read.level.unwrap().value, 0.75);
    assert_eq!(read.state.iter().map(|version| &*version.value).collect::<Vec<_>>(), ["newer", "new", "old"]);
    assert_eq!((read.hits.get(), read.least.get(), read.hourly["12"].get()), (2, Some(-5), 1));
    events.update(&KEY).clear(Event::HITS).clear_family(Event::DAILY).await.unwrap();
    assert!(events.update(&KEY).only_if(Event::HITS.absent().and(Event::HOURLY.exists())).await.unwrap());
    let read = events.get(&KEY).await.unwrap().unwrap();
    assert!(read.daily.is_empty() && read.hits == Sum::default());
}

#[derive(crate::Row, Debug, PartialEq)]
struct Lent<'a> {
    kind: &'a str,
    #[row(name = "a")]
    amount: f64,
    note: Option<&'a str>,
}

#[tokio::test]
async fn rows_borrow() {
    let client = Client::embedded();
    let lent = client.table::<Key, Lent<'_>>("lent");
    lent.create_if_absent().await.unwrap();
    let kind = String::from("Login");
    lent.put(&KEY, &Lent { kind: &kind, amount: 1.5, note: None }).await.unwrap();
    let owned = client.table::<Key, Event>("lent");
    let mut seen = 0;
    let visited = owned.scan(Key::scan()).raw().visit::<Key, crate::Error>(|_, row| {
        let lent = row.read::<Lent<'_>>()?;
        assert_eq!(lent, Lent { kind: "Login", amount: 1.5, note: None });
        seen += 1;
        Ok(())
    });
    assert_eq!(visited.await.unwrap_err().kind(), crate::ErrorKind::TableMismatch);
}

#[derive(crate::Row, Debug, PartialEq)]
struct Reading<T, const N: usize = 1> {
    value: T,
    before: Option<T>,
}

#[derive(crate::Row, Debug, PartialEq)]
struct Sensor {
    name: String,
    #[row(family)]
    inner: Reading<f64>,
    #[row(family)]
    outer: Option<Reading<f64, 2>>,
}

#[tokio::test]
async fn rows_are_generic() {
    let sensors = Client::embedded().table::<Key, Sensor>("sensors");
    sensors.create_if_absent().await.unwrap();
    let inner = Reading { value: 1.5, before: None };
    let sensor = Sensor { name: "north".into(), inner, outer: None };
    sensors.put(&KEY, &sensor).await.unwrap();
    assert_eq!(sensors.get(&KEY).await.unwrap(), Some(sensor));
    sensors.update(&KEY).set(Sensor::INNER.before, 3.5).set(Sensor::OUTER.value, 2.0).await.unwrap();
    let sensor = sensors.get(&KEY).await.unwrap().unwrap();
    assert_eq!(sensor.inner.before, Some(3.5));
    assert_eq!(sensor.outer, Some(Reading { value: 2.0, before: None }));
    let readings = Client::embedded().table::<Key, Reading<String>>("readings");
    readings.create_if_absent().await.unwrap();
    readings.update(&KEY).set(Reading::VALUE, "x").await.unwrap();
    assert_eq!(readings.get(&KEY).await.unwrap().unwrap().value, "x");
}

#[tokio::test]
async fn a_row_without_columns_has_a_marker() {
    #[derive(crate::Row, Debug, PartialEq)]
    struct Sparse {
        note: Option<String>,
        #[row(family)]
        place: Option<Floor>,
    }
    #[derive(crate::Row, Debug, PartialEq)]
    struct Floor {
        floor: Option<i64>,
    }
    let sparse = Client::embedded().table::<Key, Sparse>("sparse");
    sparse.create_if_absent().await.unwrap();
    let none = Sparse { note: None, place: None };
    sparse.put(&KEY, &none).await.unwrap();
    assert_eq!(stored(&sparse).await, ["cf:"]);
    assert_eq!(sparse.get(&KEY).await.unwrap(), Some(none));
    let empty = Sparse { note: None, place: Some(Floor { floor: None }) };
    sparse.put(&KEY, &empty).await.unwrap();
    assert_eq!(sparse.get(&KEY).await.unwrap(), Some(empty));
    let none = Sparse { note: None, place: None };
    sparse.put(&KEY, &none).await.unwrap();
    assert_eq!(sparse.get(&KEY).await.unwrap(), Some(none));
}

#[tokio::test]
async fn maps_are_rows() {
    let users = Client::embedded().table::<Key, BTreeMap<String, i64>>("users").family("u");
    users.create_if_absent().await.unwrap();
    let user = BTreeMap::from([("age".to_owned(), 42)]);
    users.put(&KEY, &user).await.unwrap();
    assert_eq!(users.get(&KEY).await.unwrap(), Some(user));
    assert_eq!(stored(&users).await, ["u:age"]);
    users.update(&KEY).set(users.column("visits"), 3).await.unwrap();
    assert_eq!(users.get(&KEY).await.unwrap().unwrap()["visits"], 3);
    users.put(&KEY, &BTreeMap::new()).await.unwrap();
    assert_eq!(users.get(&KEY).await.unwrap(), Some(BTreeMap::new()));
    let empty = users.put(&KEY, &BTreeMap::from([(String::new(), 1)])).await.unwrap_err().to_string();
    assert!(empty.contains("column `u:` has an empty name"), "{empty}");
}

#[tokio::test]
async fn columns_of_text_are_checked_before_sending() {
    let events = events().await;
    events.put(&KEY, &event()).await.unwrap();
    let set = async |path: &str, value: Value| {
        events.update(&KEY).set(Event::column(path)?, value).await.map_err(Error::from)
    };
    type Error = Box<dyn std::error::Error>;
    set("a", 2.5.into()).await.unwrap();
    set("place:city", "Chur".into()).await.unwrap();
    set("kind", "lo".into()).await.unwrap();
    set("daily:0030", 1.5.into()).await.unwrap();
    let fails = async |path: &str, value: Value, expected: &str| {
        let text = set(path, value).await.unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    };
    fails("cf:a", true.into(), "column `cf:a` holds an `f64`, which the value, a `bool`, is not; convert it")
        .await;
    fails("cf:a", "half".into(), "column `cf:a` holds an `f64`, which `half` is not").await;
    set("a", "-2.5".into()).await.unwrap();
    fails("kind", "Logout".into(), "column `cf:kind` holds an enum of `Login`, `lo`, which `Logout` is not")
        .await;
    fails("knid", "lo".into(), "column `cf:knid` is not a column of `Event`; did you mean `cf:kind`?").await;
    fails("places:city", "x".into(), "did you mean `place:city`?").await;
    fails("nothing:at_all", "x".into(), "it has `cf:kind`, ").await;
    fails("hits", 3.into(), "is not a column of `Event`").await;
    fails("sums:hits", 3.into(), "cannot be set; `add` to an aggregate").await;
    fails("h:state", "x".into(), "cannot be set").await;
    let cleared = events.update(&KEY).clear(Event::column("kind").unwrap()).await.unwrap_err().to_string();
    assert!(cleared.contains("column `cf:kind` cannot be cleared: a row without it"), "{cleared}");
    let counted = events.increment(&KEY, Event::column("a").unwrap(), 1).await.unwrap_err().to_string();
    assert!(counted.contains("column `cf:a` is no counter"), "{counted}");
    assert_eq!(events.increment(&KEY, Event::column("views").unwrap(), 1).await.unwrap(), 4);
    let appended = events.append(&KEY, Event::column("views").unwrap(), "1").await.unwrap_err().to_string();
    assert!(appended.contains("is neither text nor bytes"), "{appended}");
    let added = events.update(&KEY).add(Event::column("views").unwrap(), 1).await.unwrap_err().to_string();
    assert!(added.contains("is no aggregate"), "{added}");
    let is_chur = Event::column("place:city").unwrap().equals("Chur");
    assert!(
        events.update(&KEY).only_if(is_chur.and(Event::column("a").unwrap().less_than(3.0))).await.unwrap()
    );
}

#[tokio::test]
async fn updates_of_many_rows_are_applied_in_order() {
    let events = events().await;
    let key = |id| Key { id };
    let rows = (0..3).map(|id| (key(id), least_event()));
    events.put_all(rows).await.unwrap();
    let updates = [
        events.update(&key(0)).set(Event::NOTE, "one").add(Event::HITS, 1),
        events.update(&key(1)).add(Event::HITS, 2),
        events.update(&key(0)).set(Event::NOTE, "two").add(Event::HITS, 3),
    ];
    events.update_all(updates).await.unwrap();
    let writer = events.writer();
    writer.update(events.update(&key(2)).set(Event::NOTE, "three").add(Event::HITS, 5)).await.unwrap();
    assert_eq!(writer.close().await.unwrap(), 1);
    let read = events.scan(Key::scan()).select((Event::NOTE, Event::HITS)).collect().await.unwrap();
    let found: Vec<_> =
        read.into_iter().map(|(_, (note, hits))| (note.unwrap_or_default(), hits.get())).collect();
    assert_eq!(found, [("two".into(), 4), (String::new(), 2), ("three".into(), 5)]);
    events.update_all([events.update(&key(0))]).await.unwrap();
    let other = events.handle.client.table::<Key, Event>("others");
    let wrong = events.update_all([other.update(&key(0)).add(Event::HITS, 1)]).await.unwrap_err().to_string();
    assert!(wrong.contains("an update of the table `others`"), "{wrong}");
}

#[derive(crate::Row, Clone, Debug, PartialEq)]
#[row(ttl = "1h")]
struct Session {
    user: Option<String>,
    #[row(family = "kept")]
    name: Option<String>,
    #[row(family = "days", ttl = "30d", gc(max_age = "60d"))]
    day: Option<i64>,
}

/// Now, so many hours ago, in microseconds.
fn hours_ago(hours: i64) -> i64 {
    now_micros() - hours * 3_600_000_000
}

/// Rows that are hidden whole: `tests/tables/expired.rs`.
#[tokio::test]
async fn cells_are_hidden_by_the_ttl_of_their_family() {
    let sessions = Client::embedded().table::<Key, Session>("sessions");
    // The server keeps what is not read.
    let keep = crate::GcRule::never;
    sessions.create().family("cf", keep()).family("days", keep()).await.unwrap();
    let raw = sessions.handle.client.raw_table("sessions");
    let key = |id| Key { id };
    let set = async |id, family: &'static str, column: &'static str, hours: i64, value: Vec<u8>| {
        let cell = Mutation::set(family, column, hours_ago(hours), value);
        raw.mutate_row(key(id).encode().unwrap(), [cell]).await.unwrap();
    };
    set(2, "cf", "user", 2, b"old".to_vec()).await;
    set(2, "cf", "user", 0, b"new".to_vec()).await;
    set(3, "cf", "user", 2, b"old".to_vec()).await;
    set(3, "kept", "name", 2, b"kept".to_vec()).await;
    set(4, "days", "day", 2, 7_i64.to_be_bytes().to_vec()).await;
    set(5, "days", "day", 31 * 24, 7_i64.to_be_bytes().to_vec()).await;
    let session = |user: Option<&str>, name: Option<&str>, day| Session {
        user: user.map(str::to_owned),
        name: name.map(str::to_owned),
        day,
    };
    let expected = [
        (key(2), session(Some("new"), None, None)),
        (key(3), session(None, Some("kept"), None)),
        (key(4), session(None, None, Some(7))),
    ];
    assert_eq!(sessions.scan(Key::scan()).collect().await.unwrap(), expected);
    assert_eq!(sessions.get_many([key(5), key(2)]).await.unwrap(), [None, Some(expected[0].1.clone())]);
    assert!(sessions.exists(&key(3)).await.unwrap());
    assert_eq!(sessions.select(Session::USER).get(&key(3)).await.unwrap(), Some(None));
    let holds = async |id, condition| sessions.update(&key(id)).only_if(condition).await.unwrap();
    assert!(holds(3, Session::USER.absent()).await && holds(3, Condition::row_exists()).await);
    assert!(holds(2, Session::USER.equals("new")).await);
    assert!(holds(5, Session::DAY.absent()).await && holds(4, Session::DAY.at_least(7)).await);
    let matching = sessions.scan(Key::scan()).matching(Session::USER.exists());
    assert_eq!(matching.collect().await.unwrap(), expected[..1]);
}

#[tokio::test]
async fn families_are_created_with_the_rules_of_the_type() {
    #[derive(crate::Row)]
    #[row(gc(max_age = "2d", max_versions = 3))]
    struct Ruled {
        kind: String,
        #[row(family = "h", gc(all(max_age = "1d", max_versions = 2)))]
        state: Versions<String>,
        #[row(family = "sums")]
        hits: Sum,
        #[row(family = "hourly", window = "1h", gc(max_age = "90d"))]
        hourly: Versions<Sum>,
        #[row(family = "most")]
        most: Max,
        #[row(family, ttl = "7d")]
        daily: BTreeMap<String, f64>,
        #[row(family, gc(never))]
        all: BTreeMap<String, f64>,
    }
    let client = Client::embedded();
    let ruled = client.table::<Key, Ruled>("ruled");
    assert!(ruled.create_if_absent().await.unwrap());
    assert!(!ruled.create_if_absent().await.unwrap());
    ruled.verify().await.unwrap();
    let info = ruled.info().await.unwrap();
    let shown = |name: &str| {
        let family = info.family(name).unwrap();
        format!("{}; {}", family.cells(), family.gc_rule())
    };
    assert_eq!(shown("cf"), "bytes; older than 2 days or all but the newest 3 versions");
    assert_eq!(shown("h"), "bytes; older than 1 day and all but the newest 2 versions");
    assert_eq!(shown("sums"), "sums; never");
    assert_eq!(shown("hourly"), "sums; older than 90 days");
    assert_eq!(shown("most"), "greatest values; never");
    assert_eq!(shown("daily"), "bytes; older than 7 days or all but the newest version");
    assert_eq!(shown("all"), "bytes; never");
    let change = crate::client::FamilyChange::gc_rule("cf", crate::GcRule::max_versions(1));
    ruled.modify_families([change]).await.unwrap();
    let error = ruled.verify().await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("`cf`"), "{error}");

    #[derive(crate::Row, Debug)]
    struct Plain {
        #[row(family = "sums")]
        hits: Option<i64>,
    }
    let error = client.table::<Key, Plain>("ruled").get(&KEY).await.unwrap_err();
    assert!(error.is_table_mismatch() && error.to_string().contains("found `sums`"), "{error}");
}

#[tokio::test]
async fn an_aggregate_in_windows_has_one_for_each() {
    #[derive(crate::Row, Debug)]
    struct Page {
        title: Option<String>,
        #[row(family = "hourly", window = "1h")]
        views: Versions<Sum>,
        #[row(family = "sums")]
        total: Sum,
    }
    const HOUR: i64 = 3_600_000_000;
    let pages = Client::embedded().table::<Key, Page>("pages");
    pages.create_if_absent().await.unwrap();
    for (at, amount) in [(0, 1), (HOUR - 1000, 2), (HOUR, 3), (2 * HOUR - 1, 4), (5 * HOUR + 7, 5)] {
        pages
            .update(&KEY)
            .add_at(Page::VIEWS, 24 * HOUR + at, amount)
            .add(Page::TOTAL, amount)
            .await
            .unwrap();
    }
    let page = pages.get(&KEY).await.unwrap().unwrap();
    let views: Vec<_> =
        page.views.iter().map(|view| (view.timestamp_micros / HOUR, view.value.get())).collect();
    assert_eq!((views, page.total.get()), (vec![(29, 5), (25, 7), (24, 3)], 15));
    // `put` leaves them alone, although it has read older ones.
    pages.update(&KEY).add(Page::TOTAL, 1).await.unwrap();
    pages.put(&KEY, &Page { title: Some("Home".into()), ..page }).await.unwrap();
    let page = pages.get(&KEY).await.unwrap().unwrap();
    assert_eq!((page.views.len(), page.total.get(), page.title.as_deref()), (3, 16, Some("Home")));
    let negative = pages.update(&KEY).add_at(Page::VIEWS, -1, 1).await.unwrap_err().to_string();
    assert!(negative.contains("has the timestamp -3600000000; it counts microseconds"), "{negative}");
    // An aggregate of another time is not the one of all time.
    let raw = pages.handle.client.raw_table("pages");
    raw.mutate_row(KEY.encode().unwrap(), [Mutation::add_to_cell("sums", "total", HOUR, 1)]).await.unwrap();
    let error = pages.get(&KEY).await.unwrap_err().to_string();
    assert!(error.contains("column `sums:total` has an aggregate of the time 3600000000"), "{error}");
}

#[tokio::test]
async fn an_exclusive_family_has_what_was_put_last_alone() {
    #[derive(crate::Row, Clone, Debug, PartialEq)]
    #[row(exclusive)]
    struct Exclusive {
        kind: String,
        note: Option<String>,
        #[row(family = "shared")]
        other: Option<String>,
    }
    let table = Client::embedded().table::<Key, Exclusive>("exclusive");
    table.create_if_absent().await.unwrap();
    let raw = table.handle.client.raw_table("exclusive");
    let cells = [
        Mutation::set("cf", "unknown", i64::MAX / 1000 * 1000, "ahead of every clock"),
        Mutation::set("cf", "kind", i64::MAX / 1000 * 1000, "ahead of every clock"),
        Mutation::set("shared", "unknown", 1000, "of another program"),
    ];
    raw.mutate_row(KEY.encode().unwrap(), cells).await.unwrap();
    let row = Exclusive { kind: "new".into(), note: None, other: None };
    table.put(&KEY, &row).await.unwrap();
    assert_eq!(table.get(&KEY).await.unwrap(), Some(row.clone()));
    assert_eq!(stored(&table).await, ["cf:kind", "shared:unknown"]);
    // A merge deletes nothing.
    raw.mutate_row(KEY.encode().unwrap(), [Mutation::set("cf", "unknown", 1000, "")]).await.unwrap();
    table.merge(&KEY, &row).await.unwrap();
    assert!(stored(&table).await.contains(&"cf:unknown".to_owned()));
}

/// A program sets no aggregate, and a marker cannot be among them.
#[tokio::test]
async fn a_row_of_aggregates_alone_is_added_to_and_not_put() {
    #[derive(crate::Row, Debug, Default, PartialEq)]
    struct Views {
        #[row(family = "sums")]
        views: Sum,
    }
    let client = Client::embedded();
    let views = client.table::<Key, Views>("views");
    views.create_if_absent().await.unwrap();
    for error in [
        views.put(&KEY, &Views::default()).await.unwrap_err(),
        views.put_if_absent(&KEY, &Views::default()).await.unwrap_err(),
    ] {
        assert!(
            error.kind() == ErrorKind::InvalidRow && error.to_string().contains("has aggregates alone"),
            "{error}"
        );
    }
    views.update(&KEY).add(Views::VIEWS, 2).await.unwrap();
    assert_eq!(views.get(&KEY).await.unwrap().unwrap().views.get(), 2);
}

/// A time in milliseconds is in the year 1970 if it is taken for microseconds.
#[tokio::test]
async fn a_window_that_has_expired_is_not_added_to() {
    #[derive(crate::Row, Debug)]
    struct Views {
        title: Option<String>,
        #[row(family = "hourly", window = "1h", gc(max_age = "90d"))]
        views: Versions<Sum>,
    }
    let client = Client::embedded();
    let views = client.table::<Key, Views>("views");
    views.create_if_absent().await.unwrap();
    let now = i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
    let at = |time| views.update(&KEY).add_at(Views::VIEWS, time, 1);
    for error in [at(now / 1000).await.unwrap_err(), views.update_all([at(now / 1000)]).await.unwrap_err()] {
        assert!(error.to_string().contains("would be gone at once"), "{error}");
    }
    let error = at(1).await.unwrap_err();
    assert!(error.to_string().contains("has an aggregate for each window of time"), "{error}");
    views.update(&KEY).add_at(Views::VIEWS, now, 1).await.unwrap();
    assert_eq!(views.get(&KEY).await.unwrap().unwrap().views.newest().map(|sum| sum.get()), Some(1));
}
