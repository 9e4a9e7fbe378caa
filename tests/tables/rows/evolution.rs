//! Programs with an older and with a newer row type on one table: what `changes_from` says of the types is what their programs
//! meet.

use std::collections::BTreeMap;

use keyderive::client::{Aggregate, Family};
use keyderive::row::{OwnedRow, Sum, Timestamped, Versions};
use keyderive::{Cell, Client, ErrorKind, GcRule, Row, Table};
use keyderive_tests::fixtures::assert_error;

use super::{PageKey, key};

/// What the programs of two row types meet.
#[derive(Debug, PartialEq)]
struct Met {
    /// Whether the newer program reads what the older one has written.
    older_rows_are_read: bool,
    /// Whether the older program reads what the newer one has written.
    newer_rows_are_read: bool,
}

/// A table with families for all row types below.
async fn table<R>(client: &Client) -> Table<PageKey, R>
where
    R: OwnedRow,
{
    let one = |name| Family::new(name, GcRule::max_versions(1));
    let all = |name| Family::new(name, GcRule::never());
    let sums = Family::aggregate("sums", Aggregate::Sum, GcRule::never());
    let families = [one("cf"), one("place"), one("daily"), all("h"), sums];
    drop(client.raw_table("events").create(families, [""; 0]).await);
    client.table("events")
}

/// Writes rows by each program, and reads them by the other; fails unless `changes_from` foretells it.
async fn meet<Older: OwnedRow, Newer: OwnedRow>(
    older_rows: impl IntoIterator<Item = Older>,
    newer_rows: impl IntoIterator<Item = Newer>,
) -> Met {
    let (mut older_rows_are_read, mut newer_rows_are_read) = (true, true);
    for row in older_rows {
        let client = Client::embedded();
        table::<Older>(&client).await.put(&key("/"), &row).await.unwrap();
        let newer = table::<Newer>(&client).await;
        let read = newer.get(&key("/")).await.map(Option::unwrap);
        let verified = newer.verify_rows().await;
        assert_eq!(verified.is_ok(), read.is_ok());
        if let Err(error) = verified {
            assert!(error.is_table_mismatch() && error.to_string().contains("1 of 1 rows"), "{error}");
        }
        older_rows_are_read &= read.is_ok();
    }
    for row in newer_rows {
        let client = Client::embedded();
        table::<Newer>(&client).await.put(&key("/"), &row).await.unwrap();
        newer_rows_are_read &=
            table::<Older>(&client).await.get(&key("/")).await.is_ok_and(|row| row.is_some());
    }
    let changes = Newer::SCHEMA.changes_from(&Older::SCHEMA.to_json()).unwrap();
    assert_eq!(changes.reads_older_rows(), older_rows_are_read, "{changes}");
    assert!(changes.breaks_older_programs() || newer_rows_are_read, "{changes}");
    assert_eq!(changes.are_compatible(), changes.reads_older_rows() && !changes.breaks_older_programs());
    Met { older_rows_are_read, newer_rows_are_read }
}

const BOTH: Met = Met { older_rows_are_read: true, newer_rows_are_read: true };
const OLDER_ROWS: Met = Met { older_rows_are_read: true, newer_rows_are_read: false };
const NEWER_ROWS: Met = Met { older_rows_are_read: false, newer_rows_are_read: true };
const NONE: Met = Met { older_rows_are_read: false, newer_rows_are_read: false };

#[derive(Row, Debug)]
struct Event {
    kind: String,
}

fn event() -> Event {
    Event { kind: "login".into() }
}

#[derive(Row)]
struct Place {
    city: String,
}

#[tokio::test]
async fn what_may_be_absent_is_added() {
    #[derive(Row)]
    struct More {
        kind: String,
        user: Option<String>,
        #[row(default)]
        retries: u32,
        #[row(counter)]
        views: i64,
        #[row(family = "h")]
        state: Versions<String>,
        #[row(family = "sums")]
        hits: Sum,
        #[row(family)]
        place: Option<Place>,
        #[row(family)]
        daily: BTreeMap<String, f64>,
    }
    let more = More {
        kind: "login".into(),
        user: Some("alice".into()),
        retries: 1,
        views: 2,
        state: [keyderive::row::Timestamped::new(1000, "on".into())].into_iter().collect(),
        hits: Sum::default(),
        place: Some(Place { city: "Oslo".into() }),
        daily: BTreeMap::from([("0015".into(), 0.5)]),
    };
    assert_eq!(meet([event()], [more]).await, BOTH);
}

#[tokio::test]
async fn a_required_column_is_not_added() {
    #[derive(Row)]
    struct More {
        kind: String,
        user: String,
    }
    let more = || More { kind: "login".into(), user: "alice".into() };
    assert_eq!(meet([event()], [more()]).await, NEWER_ROWS);

    #[derive(Row)]
    struct Optional {
        kind: String,
        user: Option<String>,
    }
    let optional = |user| Optional { kind: "login".into(), user };
    assert_eq!(meet([optional(None), optional(Some("a".into()))], [more()]).await, NEWER_ROWS);
    // An optional column is dropped; a required one is, and one becomes optional.
    assert_eq!(meet([optional(None), optional(Some("a".into()))], [event()]).await, BOTH);
    assert_eq!(meet([more()], [event()]).await, OLDER_ROWS);
    assert_eq!(meet([more()], [optional(None), optional(Some("a".into()))]).await, OLDER_ROWS);
}

#[tokio::test]
async fn a_renamed_column_needs_its_alias() {
    #[derive(Row, Debug)]
    struct Renamed {
        #[row(alias = "kind")]
        sort: String,
    }
    #[derive(Row)]
    struct Forgotten {
        sort: String,
    }
    let sort = || "login".to_owned();
    assert_eq!(meet([event()], [Renamed { sort: sort() }]).await, OLDER_ROWS);
    assert_eq!(meet([event()], [Forgotten { sort: sort() }]).await, NONE);

    // The former value does not return.
    let client = Client::embedded();
    let (older, newer) = (table::<Event>(&client).await, table::<Renamed>(&client).await);
    older.put(&key("/"), &event()).await.unwrap();
    assert_eq!(newer.get(&key("/")).await.unwrap().unwrap().sort, "login");
    newer.update(&key("/")).set(Renamed::SORT, "logout").await.unwrap();
    assert_eq!(newer.get(&key("/")).await.unwrap().unwrap().sort, "logout");
    let error = older.get(&key("/")).await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidRow, &["column `cf:kind` is missing"]);
}

/// A value under the former name is the column's value for every call, and none returns after a write.
#[tokio::test]
async fn a_former_name_counts_in_conditions_and_writes() {
    #[derive(Row)]
    struct Older {
        kind: String,
        count: Option<i64>,
        log: Option<String>,
    }
    #[derive(Row, Debug, PartialEq)]
    struct Newer {
        #[row(alias = "kind")]
        sort: String,
        #[row(alias = "number", alias = "count")]
        total: Option<i64>,
        #[row(alias = "log")]
        notes: Option<String>,
        #[row(family = "h", alias = "former")]
        state: Versions<String>,
    }
    let client = Client::embedded();
    let (older, newer) = (table::<Older>(&client).await, table::<Newer>(&client).await);
    let put = async || {
        let row = Older { kind: "login".into(), count: Some(7), log: Some("in".into()) };
        older.put(&key("/"), &row).await.unwrap();
    };
    let logout = |total, notes| Newer { sort: "logout".into(), total, notes, state: Versions::default() };
    let holds = async |condition| newer.update(&key("/")).only_if(condition).await.unwrap();
    put().await;
    assert!(holds(Newer::SORT.exists()).await && holds(Newer::SORT.equals("login")).await);
    assert!(holds(Newer::TOTAL.at_least(7)).await && !holds(Newer::TOTAL.less_than(7)).await);
    assert!(!holds(Newer::TOTAL.absent()).await && !holds(Newer::SORT.equals("logout")).await);
    assert!(holds(Newer::NOTES.starts_with("i").and(Newer::TOTAL.one_of([6, 7]))).await);
    let found = newer.scan(PageKey::scan()).matching(Newer::TOTAL.equals(7)).collect().await.unwrap();
    assert_eq!(found.len(), 1);
    // The own name wins, also where its value does not meet the condition and the former one does.
    newer.merge(&key("/"), &logout(Some(8), None)).await.unwrap();
    put().await;
    assert!(!holds(Newer::TOTAL.equals(7)).await && holds(Newer::TOTAL.equals(8)).await);

    // A merge replaces the former values of what it sets alone.
    older.delete(&key("/")).await.unwrap();
    put().await;
    newer.merge(&key("/"), &logout(None, None)).await.unwrap();
    let stored =
        client.raw_table("events").read_row(key("/").encode().unwrap(), None).await.unwrap().unwrap();
    let names: Vec<_> =
        stored.cells().map(|cell| String::from_utf8_lossy(cell.qualifier()).into_owned()).collect();
    assert_eq!(names, ["count", "log", "sort"]);
    let row = newer.get(&key("/")).await.unwrap().unwrap();
    assert_eq!(row, logout(Some(7), Some("in".into())));

    // The server would count from 0, append to nothing, and begin another history.
    let increment = newer.increment(&key("/"), Newer::TOTAL, 1).await.unwrap_err();
    let append = newer.append(&key("/"), Newer::NOTES, "out").await.unwrap_err();
    let version = newer.update(&key("/")).add_version(Newer::STATE, 1000, "on").await.unwrap_err();
    for error in [increment, append, version] {
        assert!(error.to_string().contains("has an alias, and what is still stored under it"), "{error}");
    }
    assert_eq!(newer.get(&key("/")).await.unwrap().unwrap(), row);
}

#[tokio::test]
async fn types_that_read_all_former_values_replace_them() {
    #[derive(Cell)]
    enum Kind {
        Login,
        Logout,
    }
    #[derive(Cell)]
    enum MoreKinds {
        Login,
        Logout,
        Moved,
    }
    #[derive(Row)]
    struct Narrow {
        kind: Kind,
        count: i16,
        name: String,
        user: Kind,
    }
    #[derive(Row)]
    struct Wide {
        kind: MoreKinds,
        count: i64,
        name: Vec<u8>,
        user: String,
    }
    let narrow = |kind| Narrow { kind, count: i16::MIN, name: "ü".into(), user: Kind::Logout };
    let wide =
        |kind, count, name: &[u8], user: &str| Wide { kind, count, name: name.into(), user: user.into() };
    let all_new = [
        wide(MoreKinds::Moved, 1, b"a", "Login"),
        wide(MoreKinds::Login, i64::MAX, b"a", "Login"),
        wide(MoreKinds::Logout, 1, b"\xff", "Login"),
        wide(MoreKinds::Login, 1, b"a", "nobody"),
    ];
    for row in all_new {
        assert_eq!(meet([narrow(Kind::Login), narrow(Kind::Logout)], [row]).await, OLDER_ROWS);
    }
    let both = wide(MoreKinds::Login, 1, b"a", "Login");
    let client = Client::embedded();
    table::<Wide>(&client).await.put(&key("/"), &both).await.unwrap();
    assert!(table::<Narrow>(&client).await.get(&key("/")).await.unwrap().is_some());
    // The way back.
    let Met { older_rows_are_read, newer_rows_are_read: _ } =
        meet([wide(MoreKinds::Moved, i64::MAX, b"\xff", "nobody")], [narrow(Kind::Login)]).await;
    assert!(!older_rows_are_read);
}

/// Rows with one column of a type each.
macro_rules! of_type {
    ($($name:ident { $(#[$meta:meta])* $type:ty })*) => {$(
        #[derive(Row)]
        struct $name {
            $(#[$meta])*
            value: $type,
        }
    )*};
}

#[tokio::test]
async fn other_types_and_encodings_do_not_replace_each_other() {
    of_type! {
        Small { f32 }
        Double { f64 }
        Text { String }
        Json { #[row(json)] String }
        Integer { i64 }
    }
    assert_eq!(meet([Small { value: 0.5 }], [Double { value: 0.5 }]).await, NONE);
    // The older program takes JSON for text.
    assert_eq!(meet([Text { value: "a".into() }], [Json { value: "a".into() }]).await, NEWER_ROWS);
    assert_eq!(meet([Text { value: "a".into() }], [Integer { value: -1 }]).await, NONE);
}

/// The older program keeps the version that it puts alone.
#[test]
fn a_column_of_one_version_that_gets_several_breaks_older_programs() {
    #[derive(Row)]
    struct Older {
        #[row(family = "h")]
        _state: Option<Timestamped<String>>,
    }
    #[derive(Row)]
    struct Newer {
        #[row(family = "h", gc(never))]
        _state: Versions<String>,
    }
    let changes = Newer::SCHEMA.changes_from(&Older::SCHEMA.to_json()).unwrap();
    let text = changes.to_string();
    assert!(text.contains("`put` of older programs deletes all but the one that it writes"), "{text}");
    assert!(changes.reads_older_rows() && changes.breaks_older_programs(), "{text}");
}

/// Inside JSON, serde decides what is read, and `changes_from` does not look.
#[tokio::test]
async fn what_is_inside_json_is_not_compared() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Narrow {
        a: u8,
    }
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Wide {
        a: u64,
        #[serde(default)]
        b: Option<String>,
    }
    of_type! {
        Older { #[row(json)] Narrow }
        Newer { #[row(json)] Wide }
    }
    let newer = Newer { value: Wide { a: 1, b: Some("b".into()) } };
    assert_eq!(meet([Older { value: Narrow { a: 1 } }], [newer]).await, BOTH);
    assert_eq!(Newer::SCHEMA.changes_from(&Older::SCHEMA.to_json()).unwrap().iter().count(), 0);
}

/// Pairs of which the newer type does not read a row of the older one, or with another value, or hides its own from it.
#[tokio::test]
async fn changes_that_look_harmless_are_not_compatible() {
    #[derive(Row)]
    struct Town {
        city: String,
        floor: Option<i32>,
    }
    #[derive(Row)]
    struct WithZip {
        city: String,
        floor: Option<i32>,
        zip: String,
    }
    #[derive(Row)]
    struct WithFloor {
        city: String,
        floor: i32,
    }
    #[derive(Row)]
    struct Floor {
        floor: Option<i32>,
    }
    macro_rules! at {
        ($($name:ident { $($field:tt)* })*) => {$(
            #[derive(Row)]
            #[allow(dead_code)]
            struct $name { kind: String, $($field)* }
        )*};
    }
    at! {
        Optional { #[row(family)] place: Option<Town> }
        Zip { #[row(family)] place: Option<WithZip> }
        Floored { #[row(family)] place: Option<WithFloor> }
        Loose { #[row(family = "place")] floor: Option<i32> }
        Always { #[row(family)] place: Floor }
        Map { #[row(family)] place: BTreeMap<String, String> }
        Two { note: Option<String>, count: Option<i64> }
        Aliased { #[row(alias = "count")] note: Option<String> }
        Sums { #[row(family)] sums: BTreeMap<String, Sum> }
        Windows { #[row(family)] sums: BTreeMap<String, Versions<Sum>> }
        Json { #[row(json)] name: String }
        Text { name: String }
        Renamed { #[row(alias = "name")] title: String }
    }
    let kind = || "login".to_owned();
    let town = || Town { city: "Oslo".into(), floor: None };
    // Whether the newer type reads the row, then what is said: that it reads older rows, and that older programs break.
    macro_rules! pair {
        ($older:ident, $newer:ident, $row:expr, $is_read:pat, ($reads_older_rows:expr, $breaks:expr)) => {{
            let client = Client::embedded();
            let older = table::<$older>(&client).await;
            older.put(&key("/"), &$row).await.unwrap();
            let read = table::<$newer>(&client).await.get(&key("/")).await.map(Option::unwrap);
            match read {
                $is_read => {}
                _ => panic!("{}", stringify!($older to $newer)),
            }
            let changes = $newer::SCHEMA.changes_from(&$older::SCHEMA.to_json()).unwrap();
            let said = (changes.reads_older_rows(), changes.breaks_older_programs());
            assert_eq!(said, ($reads_older_rows, $breaks), "{}: {changes}", stringify!($older to $newer));
        }};
    }
    let city = || Optional { kind: kind(), place: Some(town()) };
    pair!(Optional, Zip, city(), Err(_), (false, true));
    pair!(Optional, Floored, city(), Err(_), (false, false));
    pair!(Loose, Optional, Loose { kind: kind(), floor: Some(1) }, Err(_), (false, false));
    pair!(Always, Optional, Always { kind: kind(), place: Floor { floor: Some(1) } }, Err(_), (false, false));
    let map = || Map { kind: kind(), place: [("floor".to_owned(), "x".to_owned())].into() };
    pair!(Map, Optional, map(), Err(_), (false, true));
    // An integer is read as text, and JSON with its quotes.
    let count = || Two { kind: kind(), note: None, count: Some(7) };
    pair!(Two, Aliased, count(), Ok(Aliased { note: Some(_), .. }), (false, true));
    pair!(Json, Text, Json { kind: kind(), name: "a".into() }, Ok(Text { .. }), (false, true));
    let text = |name: &str| Text { kind: kind(), name: name.into() };
    pair!(Text, Renamed, text("a"), Ok(Renamed { .. }), (true, true));
    pair!(Renamed, Text, Renamed { kind: kind(), title: "a".into() }, Err(_), (false, true));
    let changes = Windows::SCHEMA.changes_from(&Sums::SCHEMA.to_json()).unwrap();
    assert!(!changes.reads_older_rows() && changes.breaks_older_programs(), "{changes}");
}

/// A variant that has the code of another one would be read as that.
#[tokio::test]
async fn variants_that_exchange_their_codes_are_not_compatible() {
    #[derive(Cell, Clone, Debug, PartialEq)]
    #[row(code)]
    enum State {
        Open = 1,
        Closed = 2,
    }
    #[derive(Cell, Clone, Debug, PartialEq)]
    #[row(code)]
    enum Exchanged {
        Closed = 1,
        Open = 2,
    }
    /// The same codes by other names.
    #[derive(Cell, Clone, Debug, PartialEq)]
    #[row(code)]
    enum Renamed {
        Active = 1,
        Done = 2,
    }
    macro_rules! rows {
        ($($row:ident: $state:ident),*) => {$(
            #[derive(Row, Clone, Debug, PartialEq)]
            struct $row { state: $state }
        )*};
    }
    rows! { Older: State, Newer: Exchanged, Named: Renamed }
    let client = Client::embedded();
    table::<Older>(&client).await.put(&key("/"), &Older { state: State::Open }).await.unwrap();
    let read = table::<Newer>(&client).await.get(&key("/")).await.unwrap().unwrap();
    assert_eq!(read.state, Exchanged::Closed);
    let changes = Newer::SCHEMA.changes_from(&Older::SCHEMA.to_json()).unwrap();
    assert!(!changes.are_compatible() && changes.breaks_older_programs(), "{changes}");
    assert!(Named::SCHEMA.changes_from(&Older::SCHEMA.to_json()).unwrap().are_compatible());
    assert_ne!(
        (State::Closed, Renamed::Active, Renamed::Done),
        (State::Open, Renamed::Done, Renamed::Active)
    );
}
