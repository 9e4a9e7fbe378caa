//! What schemas say, and how they differ.

#![allow(dead_code, reason = "rows whose schemas alone are looked at")]

use std::collections::BTreeMap;

use super::*;
use crate::row::{Row as _, Sum, Versions};

mod old {
    use crate::row::{Sum, Versions};

    #[derive(crate::Cell, Debug)]
    pub(super) enum Kind {
        Login,
        Logout,
    }

    #[derive(crate::Row)]
    pub(super) struct Event {
        pub(super) kind: Kind,
        pub(super) amount: i32,
        pub(super) text: String,
        pub(super) note: Option<String>,
        pub(super) ratio: f32,
        pub(super) mail: String,
        #[row(json)]
        pub(super) tags: Vec<String>,
        #[row(family)]
        pub(super) place: Option<Place>,
        #[row(family)]
        pub(super) daily: std::collections::BTreeMap<String, i64>,
        #[row(family = "h")]
        pub(super) state: Versions<String>,
        #[row(family = "sums")]
        pub(super) hits: Sum,
    }

    #[derive(crate::Row)]
    pub(super) struct Place {
        pub(super) city: String,
    }
}

/// The changes from `old::Event` to a type, each with whether rows are read and whether older programs break.
fn changes(schema: &RowSchema) -> Vec<(String, bool, bool)> {
    let kept = old::Event::SCHEMA.to_json();
    let changes = schema.changes_from(&kept).unwrap();
    let change = |change: &LayoutChange| {
        (change.to_string(), change.reads_older_rows(), change.breaks_older_programs())
    };
    changes.iter().map(change).collect()
}

/// A type like the old one, but for some fields.
macro_rules! event {
    ($($fields:tt)*) => {{
        #[derive(crate::Row)]
        struct Event {
            $($fields)*
            #[row(json)]
            tags: Vec<String>,
            #[row(family)]
            place: Option<old::Place>,
            #[row(family)]
            daily: std::collections::BTreeMap<String, i64>,
            #[row(family = "h")]
            state: Versions<String>,
            #[row(family = "sums")]
            hits: Sum,
        }
        changes(Event::SCHEMA)
    }};
}

#[test]
fn a_type_without_changes_has_none() {
    assert_eq!(changes(old::Event::SCHEMA), []);
    let same = event! { kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32, mail: String, };
    assert_eq!(same, []);
}

#[test]
fn additions_are_compatible_unless_they_are_required() {
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32, mail: String,
        user: Option<String>,
        #[row(default)] retries: u32,
        #[row(counter)] views: i64,
        #[row(family = "h")] former: Versions<i64>,
    };
    let texts: Vec<_> = found.iter().map(|(text, ..)| &**text).collect();
    assert_eq!(texts, ["`cf:user` is new", "`cf:retries` is new", "`cf:views` is new", "`h:former` is new"]);
    assert!(found.iter().all(|(_, is_compatible, breaks)| *is_compatible && !breaks));
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: String, ratio: f32, mail: String, user: String,
    };
    let expected = [
        "`cf:note` is required: this type cannot read older rows, which can lack it; make the field an `Option` or give it \
         `#[row(default)]`",
        "`cf:user` is new and required: this type cannot read older rows, which lack it; make the field an `Option` or give it \
         `#[row(default)]`",
    ];
    assert_eq!(found, expected.map(|text| (text.to_owned(), false, false)));
}

#[test]
fn removals_break_older_programs_if_the_column_was_required() {
    let found = event! { kind: old::Kind, amount: i32, text: String, ratio: f32, };
    let expected = [
        ("`cf:note` is dropped".to_owned(), true, false),
        (
            "`cf:mail` is dropped: older programs cannot read rows without it; make it an `Option` in every program first, then drop \
             it"
                .to_owned(),
            true,
            true,
        ),
    ];
    assert_eq!(found, expected);
    let found = event! { kind: old::Kind, amount: i32, text: Option<String>, note: Option<String>, ratio: f32, mail: String, };
    let text = "`cf:text` can be absent: older programs cannot read rows without it; deploy this type to every reader before \
                any program writes such a row";
    assert_eq!(found, [(text.to_owned(), true, true)]);
}

#[test]
fn new_names_need_an_alias() {
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32,
        #[row(alias = "mail")] email: String,
    };
    let text = "`cf:email` was `cf:mail`: older programs do not find what is written to it, and this type does not find what they \
                write to such rows; first release the older type with `#[row(alias = \"email\")]` to every program: it reads both \
                names";
    assert_eq!(found, [(text.to_owned(), true, true)]);
    let found = event! {
        kind: old::Kind, amount: i32, text: String, note: Option<String>, ratio: f32, email: String,
    };
    let text = "`cf:mail` is dropped and `cf:email` added, of the same type: neither of the two programs can read rows of the \
                other; if this is a new name, write `#[row(alias = \"mail\")]`, so that older values are read";
    assert_eq!(found, [(text.to_owned(), false, true)]);
}

#[test]
fn types_may_widen() {
    #[derive(crate::Cell)]
    enum Kind {
        Login,
        Logout,
        Moved,
    }
    let found = event! {
        kind: Kind, amount: i64, text: Vec<u8>, note: Option<String>, ratio: f32, mail: String,
    };
    let expected = [
        "`cf:kind` was an enum of `Login`, `Logout` and is an enum of `Login`, `Logout`, `Moved`",
        "`cf:amount` was an integer of -2147483648 to 2147483647 and is an integer of -9223372036854775808 to 9223372036854775807",
        "`cf:text` was text and is bytes",
    ];
    let who = ": older programs cannot read all new values; deploy this type to every reader before any program writes such a \
               value";
    assert_eq!(found, expected.map(|text| (format!("{text}{who}"), true, true)));
    let found =
        event! { kind: String, amount: i32, text: String, note: Option<String>, ratio: f32, mail: String, };
    assert_eq!(
        found.iter().map(|(_, compatible, breaks)| (*compatible, *breaks)).collect::<Vec<_>>(),
        [(true, true)]
    );
}

#[test]
fn other_types_and_encodings_are_not_read() {
    #[derive(crate::Cell)]
    enum Kind {
        Login,
    }
    let found = event! {
        kind: Kind, amount: i16, #[row(json)] text: String, note: Option<String>, ratio: f64, mail: u64,
    };
    let texts: Vec<_> =
        found.iter().map(|(text, ..)| text.split_once(": this type cannot read").unwrap().0).collect();
    assert_eq!(
        texts,
        [
            "`cf:kind` was an enum of `Login`, `Logout` and is an enum of `Login`",
            "`cf:amount` was an integer of -2147483648 to 2147483647 and is an integer of -32768 to 32767",
            "`cf:text` was text and is JSON",
            "`cf:ratio` was an `f32` and is an `f64`",
            "`cf:mail` was text and is an integer of 0 to 9223372036854775807",
        ]
    );
    assert!(found.iter().all(|(_, reads_older_rows, _)| !reads_older_rows));
    // A narrower type is read by the older one.
    assert_eq!(
        found.iter().map(|(.., breaks)| *breaks).collect::<Vec<_>>(),
        [false, false, true, true, true]
    );
    #[derive(crate::Row)]
    struct Counted {
        #[row(family = "sums")]
        hits: i64,
    }
    let found = changes(Counted::SCHEMA);
    let text = "`sums:hits` was a sum and is an integer of -9223372036854775808 to 9223372036854775807: this type cannot read";
    assert!(
        found.iter().any(|(found, is_compatible, _)| found.starts_with(text) && !is_compatible),
        "{found:?}"
    );
}

#[test]
fn windows_of_another_width_are_another_column() {
    #[derive(crate::Row)]
    struct Hourly {
        #[row(family = "sums", window = "1h")]
        views: Versions<Sum>,
    }
    #[derive(crate::Row)]
    struct Daily {
        #[row(family = "sums", window = "1d")]
        views: Versions<Sum>,
    }
    assert_ne!(Hourly::SCHEMA.fingerprint(), Daily::SCHEMA.fingerprint());
    let changes = Daily::SCHEMA.changes_from(&Hourly::SCHEMA.to_json()).unwrap();
    assert!(!changes.are_compatible());
    let text =
        "`sums:views` was a sum in windows of 3600s and is a sum in windows of 86400s: this type cannot read";
    assert!(changes.to_string().starts_with(text), "{changes}");
    let same = Hourly::SCHEMA.changes_from(&Hourly::SCHEMA.to_json()).unwrap();
    assert_eq!(same.iter().count(), 0);
}

#[test]
fn a_struct_that_becomes_a_map_is_compared_with_it() {
    #[derive(crate::Row)]
    struct Counts {
        visits: Option<i64>,
    }
    #[derive(crate::Row)]
    struct Named {
        #[row(family)]
        p: Option<Counts>,
    }
    #[derive(crate::Row)]
    struct Floats {
        #[row(family)]
        p: BTreeMap<String, f64>,
    }
    #[derive(crate::Row)]
    struct Integers {
        #[row(family)]
        p: BTreeMap<String, i64>,
    }
    #[derive(crate::Row)]
    struct ById {
        #[row(family)]
        p: BTreeMap<uuid::Uuid, i64>,
    }
    // Text reads UUIDs as names.
    let incompatible = [
        (Named::SCHEMA, Floats::SCHEMA, true),
        (Floats::SCHEMA, Named::SCHEMA, true),
        (Integers::SCHEMA, Floats::SCHEMA, true),
        (Integers::SCHEMA, ById::SCHEMA, false),
        (Named::SCHEMA, ById::SCHEMA, true),
    ];
    for (old, new, breaks) in incompatible {
        let changes = new.changes_from(&old.to_json()).unwrap();
        let said = (changes.reads_older_rows(), changes.breaks_older_programs());
        assert_eq!(said, (false, breaks), "{} to {}: {changes}", old.name(), new.name());
        assert_ne!(old.fingerprint(), new.fingerprint());
    }
    for (old, new) in [(Named::SCHEMA, Integers::SCHEMA), (Integers::SCHEMA, Named::SCHEMA)] {
        let changes = new.changes_from(&old.to_json()).unwrap();
        assert!(changes.are_compatible(), "{changes}");
    }
}

#[test]
fn types_with_fewer_values_do_not_read_all() {
    #[derive(crate::Row)]
    struct Wide {
        few: i64,
        address: std::net::IpAddr,
    }
    #[derive(crate::Row)]
    struct Narrow {
        few: std::num::NonZeroI64,
        address: std::net::Ipv4Addr,
    }
    let changes = Narrow::SCHEMA.changes_from(&Wide::SCHEMA.to_json()).unwrap();
    assert_eq!(changes.iter().filter(|change| !change.reads_older_rows()).count(), 2, "{changes}");
    let back = Wide::SCHEMA.changes_from(&Narrow::SCHEMA.to_json()).unwrap();
    assert!(back.reads_older_rows() && back.iter().all(LayoutChange::breaks_older_programs), "{back}");
    assert_ne!(Wide::SCHEMA.fingerprint(), Narrow::SCHEMA.fingerprint());
}

#[test]
fn a_text_that_is_no_schema_is_an_error() {
    let error = |json: &str| old::Event::SCHEMA.changes_from(json).unwrap_err().to_string();
    let start = "this is not the JSON of a row's schema, as `SCHEMA.to_json()` makes it: ";
    assert!(error("{").starts_with(start), "{}", error("{"));
    let json = old::Event::SCHEMA.to_json();
    let text = "this schema is of version 2, and this release of keyderive reads version 1; update keyderive to the release that \
                wrote it";
    assert_eq!(error(&json.replace("\"version\": 1", "\"version\": 2, \"zip\": true")), text);
    assert!(error(&json.replace("\"version\": 1,", "")).contains("has a `version`, and this has none"));
    // A name that is not known could say how values are stored.
    for (known, unknown) in [
        ("\"row\":", "\"packed\": 1, \"row\":"),
        ("\"optional\":", "\"packed\": 1, \"optional\":"),
        ("\"absent\":", "\"packed\": 1, \"absent\":"),
        ("\"min\":", "\"packed\": 1, \"min\":"),
    ] {
        let error = error(&json.replacen(known, unknown, 1));
        assert!(error.starts_with(start) && error.contains("unknown field `packed`"), "{error}");
    }
    let error = error(&json.replace("-2147483648", "many"));
    assert!(error.contains("`many` is not an integer of 64 bits, as text"), "{error}");
}

/// What the schema says of every kind of field.
#[derive(crate::Row)]
#[row(family = "d", gc(max_versions = 3))]
struct Everything {
    #[row(name = "k", alias = "kind", alias = "h:kind")]
    kind: Level,
    #[row(default)]
    count: u8,
    at: Option<crate::row::Timestamped<String>>,
    #[row(ts(unit = "millis"))]
    due: Option<std::time::SystemTime>,
    #[row(counter)]
    views: i64,
    #[row(family = "h", ttl = "1h", gc(max_age = "1d", max_versions = 10), exclusive)]
    log: Versions<String>,
    #[row(family = "sums", window = "1h")]
    hits: Versions<Sum>,
    #[row(family)]
    place: Option<old::Place>,
    #[row(family)]
    daily: Option<BTreeMap<uuid::Uuid, Versions<f64>>>,
}

#[derive(crate::Cell, Debug)]
#[row(code)]
enum Level {
    Low = 1,
    High = 20,
}

#[test]
fn the_schema_says_all_that_reading_and_writing_needs() {
    use serde_json::{Value, json};

    let column = |name: &str, stored: Value, kind: Value, absent: &str| json!({ "name": name, "aliases": [], "stored": stored, "kind": kind, "absent": absent });
    let own = |family: &str, column: Value| json!({ "column": { "family": family, "column": column } });
    let integer = |min: &str, max: &str| json!({ "integer": { "min": min, "max": max } });
    let whole = || integer("-9223372036854775808", "9223372036854775807");
    let codes = json!({ "code": [{ "code": "1", "name": "Low" }, { "code": "20", "name": "High" }] });
    let mut kind = column("k", codes, json!("value"), "error");
    kind["aliases"] = json!([{ "family": "d", "name": "kind" }, { "family": "h", "name": "kind" }]);
    let expected = json!({
        "version": 1,
        "row": "Everything",
        "fingerprint": Everything::SCHEMA.fingerprint().to_string(),
        "family": "d",
        "fields": [
            own("d", kind),
            own("d", column("count", integer("0", "255"), json!("value"), "default")),
            own("d", column("at", json!("text"), json!("timestamped"), "none")),
            own("d", column("due", json!({ "unix_time": "millis" }), json!("value"), "none")),
            own("d", column("views", whole(), json!("counter"), "default")),
            own("h", column("log", json!("text"), json!("versions"), "none")),
            own("sums", column("hits", whole(), json!({ "sum_versions": { "window_micros": 3_600_000_000_u64 } }), "none")),
            json!({ "struct": {
                "family": "place",
                "optional": true,
                "columns": [column("city", json!("text"), json!("value"), "error")],
            } }),
            json!({ "map": {
                "family": "daily", "optional": true, "key": "uuid", "stored": "f64", "kind": "versions",
            } }),
        ],
        "rules": [
            {
                "family": "d",
                "gc": { "any": { "max_age_secs": null, "max_versions": 3 } },
                "ttl_secs": null,
                "exclusive": false,
            },
            {
                "family": "h",
                "gc": { "any": { "max_age_secs": 86_400, "max_versions": 10 } },
                "ttl_secs": 3600,
                "exclusive": true,
            },
        ],
    });
    let json = Everything::SCHEMA.to_json();
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
    for schema in [Everything::SCHEMA, old::Event::SCHEMA, <BTreeMap<String, f64>>::SCHEMA, <()>::SCHEMA] {
        let layout = layout::RowLayout::of(schema);
        assert_eq!(layout::RowLayout::from_json(&schema.to_json()).unwrap(), layout);
        assert_eq!(schema.changes_from(&schema.to_json()).unwrap().iter().count(), 0);
    }
    // A map of the table is told from one that names its family.
    let map: Value = serde_json::from_str(&<BTreeMap<String, f64>>::SCHEMA.to_json()).unwrap();
    assert_eq!((&map["family"], &map["fields"][0]["map"]["family"]), (&Value::Null, &Value::Null));
}

/// Stored layouts are compared by these numbers in every release.
#[test]
fn fingerprints_do_not_change() {
    assert_eq!(old::Event::SCHEMA.fingerprint().to_string(), "5d19a60c5f9d6b11");
    assert_ne!(old::Place::SCHEMA.fingerprint(), old::Event::SCHEMA.fingerprint());
}

/// Random layouts, against a small model of how rows are put and read.
mod model {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::row::LayoutChange;
    use crate::row::schema::changes::compare;
    use crate::row::schema::layout::RowLayout;

    type Place = (&'static str, &'static str);

    /// What a column holds. Bytes read text.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Type {
        Text,
        Bytes,
        Float,
    }

    impl Type {
        fn reads(self, other: Self) -> bool {
            self == other || (self == Self::Bytes && other == Self::Text)
        }

        fn json(self) -> Value {
            json!(match self {
                Self::Text => "text",
                Self::Bytes => "bytes",
                Self::Float => "f64",
            })
        }
    }

    #[derive(Clone, Debug)]
    struct Column {
        place: Place,
        aliases: Vec<Place>,
        stored: Type,
        is_required: bool,
    }

    #[derive(Clone, Debug)]
    enum Group {
        /// A struct that may be absent.
        Optional(Vec<Column>),
        Always(Vec<Column>),
        /// Whether it is named by `a` and `b` alone.
        Map {
            stored: Type,
            is_enum: bool,
            is_optional: bool,
        },
    }

    #[derive(Clone, Debug)]
    struct Layout {
        columns: Vec<Column>,
        /// The family `p`.
        group: Option<Group>,
        is_exclusive: bool,
    }

    const NAMES: [&str; 3] = ["a", "b", "c"];

    /// Columns of a family, none an alias of another.
    fn columns(family: &'static str) -> impl Strategy<Value = Vec<Column>> {
        let stored = prop_oneof![3 => Just(Type::Text), 1 => Just(Type::Bytes), 1 => Just(Type::Float)];
        let column = (any::<bool>(), stored, any::<bool>(), proptest::option::weighted(0.4, 0..3_usize));
        proptest::collection::vec(column, 3).prop_map(move |columns| {
            let mut taken: BTreeSet<&str> = BTreeSet::new();
            let is_column: Vec<_> = columns.iter().map(|(is_column, ..)| *is_column).collect();
            let mut made = Vec::new();
            for (at, (_, stored, is_required, alias)) in columns.into_iter().enumerate() {
                let former = alias.filter(|alias| !is_column[*alias]).map(|alias| NAMES[alias]);
                let aliases: Vec<_> =
                    former.filter(|name| taken.insert(name)).map(|name| (family, name)).into_iter().collect();
                let column = Column { place: (family, NAMES[at]), aliases, stored, is_required };
                made.extend(Some(column).filter(|_| is_column[at]));
            }
            made
        })
    }

    fn layout() -> impl Strategy<Value = Layout> {
        let map =
            (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(is_bytes, is_enum, is_optional)| {
                Group::Map { stored: if is_bytes { Type::Bytes } else { Type::Text }, is_enum, is_optional }
            });
        // The derive refuses a struct without columns.
        let of_struct = || columns("p").prop_filter("a struct", |columns| !columns.is_empty());
        let group = prop_oneof![
            2 => of_struct().prop_map(Group::Optional),
            1 => of_struct().prop_map(Group::Always),
            1 => map,
        ];
        (columns("cf"), proptest::option::of(group), proptest::bool::weighted(0.1))
            .prop_map(|(columns, group, is_exclusive)| Layout { columns, group, is_exclusive })
    }

    impl Layout {
        fn json(&self) -> String {
            let column = |column: &Column| {
                let aliases =
                    column.aliases.iter().map(|(family, name)| json!({ "family": family, "name": name }));
                json!({
                    "name": column.place.1,
                    "aliases": aliases.collect::<Vec<_>>(),
                    "stored": column.stored.json(),
                    "kind": "value",
                    "absent": if column.is_required { "error" } else { "none" },
                })
            };
            let own = |own: &Column| json!({ "column": { "family": own.place.0, "column": column(own) } });
            let of_struct = |columns: &[Column], optional: bool| {
                let columns: Vec<_> = columns.iter().map(column).collect();
                json!({ "struct": { "family": "p", "optional": optional, "columns": columns } })
            };
            let group = self.group.as_ref().map(|group| match group {
                Group::Optional(columns) => of_struct(columns, true),
                Group::Always(columns) => of_struct(columns, false),
                Group::Map { stored, is_enum, is_optional } => json!({ "map": {
                    "family": "p",
                    "optional": is_optional,
                    "key": if *is_enum { json!({ "enum": ["a", "b"] }) } else { json!("text") },
                    "stored": stored.json(),
                    "kind": "value",
                } }),
            });
            let fields: Vec<_> = self.columns.iter().map(own).chain(group).collect();
            let rule = json!({ "family": "cf", "gc": null, "ttl_secs": null, "exclusive": true });
            let rules: Vec<_> = Some(rule).filter(|_| self.is_exclusive).into_iter().collect();
            json!({
                "version": 1, "row": "R", "fingerprint": "0", "family": "cf", "fields": fields, "rules": rules,
            })
            .to_string()
        }

        fn all(&self) -> impl Iterator<Item = &Column> {
            let of_group = self.group.iter().flat_map(|group| match group {
                Group::Optional(columns) | Group::Always(columns) => &columns[..],
                Group::Map { .. } => &[],
            });
            self.columns.iter().chain(of_group)
        }
    }

    /// A stored row: what each column holds, by a number that no other value has.
    type Cells = BTreeMap<Place, (Type, u32)>;

    /// What a program has read: the numbers of the values.
    type Read = BTreeMap<Place, u32>;

    struct Source(u64);

    impl Source {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }
    }

    impl Layout {
        /// Puts a row, as the derive's code does: deletions before cells.
        fn put(&self, cells: &mut Cells, source: &mut Source, next: &mut u32) {
            if self.is_exclusive {
                cells.retain(|(family, _), _| *family != "cf");
            }
            let mut set = Cells::new();
            let mut put = |column: &Column, cells: &mut Cells, source: &mut Source, set: &mut Cells| {
                for place in [column.place].iter().chain(&column.aliases) {
                    cells.remove(place);
                }
                if column.is_required || source.below(2) == 0 {
                    *next += 1;
                    set.insert(column.place, (column.stored, *next));
                }
            };
            self.columns.iter().for_each(|column| put(column, cells, source, &mut set));
            match &self.group {
                None => {}
                Some(Group::Always(columns)) => {
                    columns.iter().for_each(|column| put(column, cells, source, &mut set));
                }
                Some(Group::Optional(columns)) => {
                    let is_some = source.below(3) > 0;
                    let before = set.len();
                    if is_some {
                        columns.iter().for_each(|column| put(column, cells, source, &mut set));
                        if set.len() == before {
                            set.insert(("p", ""), (Type::Text, 0));
                        }
                    } else {
                        let places = columns
                            .iter()
                            .flat_map(|column| [column.place].into_iter().chain(column.aliases.clone()));
                        places.chain([("p", "")]).for_each(|place| _ = cells.remove(&place));
                    }
                }
                Some(Group::Map { stored, is_enum, is_optional }) => {
                    cells.retain(|(family, _), _| *family != "p");
                    let is_some = !is_optional || source.below(3) > 0;
                    let before = set.len();
                    for name in NAMES.into_iter().take(if *is_enum { 2 } else { 3 }).filter(|_| is_some) {
                        if source.below(2) == 0 {
                            *next += 1;
                            set.insert(("p", name), (*stored, *next));
                        }
                    }
                    if *is_optional && is_some && set.len() == before {
                        set.insert(("p", ""), (Type::Text, 0));
                    }
                }
            }
            if set.is_empty() {
                set.insert(("cf", ""), (Type::Text, 0));
            }
            cells.extend(set);
        }

        fn read(&self, cells: &Cells) -> Option<Read> {
            let mut read = Read::new();
            let column = |column: &Column, read: &mut Read| {
                let mut places = [column.place].into_iter().chain(column.aliases.clone());
                match places.find_map(|place| cells.get(&place)) {
                    Some((stored, number)) => {
                        read.insert(column.place, *number);
                        column.stored.reads(*stored)
                    }
                    None => !column.is_required,
                }
            };
            let all = |columns: &[Column], read: &mut Read| columns.iter().all(|one| column(one, read));
            let is_read = all(&self.columns, &mut read)
                && match &self.group {
                    None => true,
                    Some(Group::Always(columns)) => all(columns, &mut read),
                    Some(Group::Optional(columns)) => {
                        let owns = |place: &Place| {
                            *place == ("p", "")
                                || columns
                                    .iter()
                                    .any(|column| column.place == *place || column.aliases.contains(place))
                        };
                        !cells.keys().any(owns) || all(columns, &mut read)
                    }
                    Some(Group::Map { stored, is_enum, .. }) => {
                        let entries =
                            cells.iter().filter(|((family, name), _)| *family == "p" && !name.is_empty());
                        entries.clone().for_each(|(place, (_, number))| _ = read.insert(*place, *number));
                        entries
                            .clone()
                            .all(|((_, name), (of, _))| stored.reads(*of) && (!is_enum || *name != "c"))
                    }
                };
            is_read.then_some(read)
        }

        /// Where this program reads what another stores for its column.
        fn place_of(&self, column: &Column) -> Option<Place> {
            let at = |place: Place| {
                let own = |one: &&Column| one.place == place || one.aliases.contains(&place);
                let is_map = matches!(self.group, Some(Group::Map { .. })) && place.0 == "p";
                self.all().find(own).map(|column| column.place).or(is_map.then_some(place))
            };
            [column.place].into_iter().chain(column.aliases.clone()).find_map(at)
        }

        /// Whether it reads a row as the writer, and what it wrote before as far as the writer has no such column.
        fn agrees(&self, before: &Read, writer: &Self, written: &Read, cells: &Cells) -> bool {
            let Some(read) = self.read(cells) else { return false };
            let mut expected = Read::new();
            let mut shared = BTreeSet::new();
            for column in writer.all() {
                let Some(place) = self.place_of(column) else { continue };
                shared.insert(place);
                if let Some(number) = written.get(&column.place)
                    && expected.insert(place, *number).is_some()
                {
                    return false;
                }
            }
            if let Some(Group::Map { .. }) = &writer.group {
                let entries = written.iter().filter(|((family, _), _)| *family == "p");
                for (place, number) in entries {
                    let entry =
                        Column { place: *place, aliases: Vec::new(), stored: Type::Text, is_required: false };
                    expected.extend(self.place_of(&entry).map(|place| (place, *number)));
                }
            }
            let is_of_map = |place: &Place| matches!(writer.group, Some(Group::Map { .. })) && place.0 == "p";
            for (place, number) in before {
                if !shared.contains(place) && !is_of_map(place) {
                    expected.insert(*place, *number);
                }
            }
            read == expected
        }
    }

    /// Whether the newer program reads rows of the older one, and whether each reads its row after a write of the other.
    fn meet(older: &Layout, newer: &Layout, source: &mut Source) -> (bool, bool) {
        let mut next = 0;
        let (mut reads, mut beside) = (true, true);
        for _ in 0..24 {
            let (mut of_old, mut of_new) = (Cells::new(), Cells::new());
            let nothing = Read::new();
            older.put(&mut of_old, source, &mut next);
            newer.put(&mut of_new, source, &mut next);
            let (Some(by_old), Some(by_new)) = (older.read(&of_old), newer.read(&of_new)) else {
                unreachable!()
            };
            reads &= newer.agrees(&nothing, older, &by_old, &of_old);
            beside &= older.agrees(&nothing, newer, &by_new, &of_new);
            newer.put(&mut of_old, source, &mut next);
            older.put(&mut of_new, source, &mut next);
            // A program always reads what it has just put, if no other column is in the way.
            let (after_new, after_old) = (newer.read(&of_old), older.read(&of_new));
            beside &= after_new.is_some_and(|written| older.agrees(&by_old, newer, &written, &of_old));
            beside &= after_old.is_some_and(|written| newer.agrees(&by_new, older, &written, &of_new));
        }
        (reads, beside)
    }

    /// Fails unless what is said of two types is what their programs meet.
    fn check(older: &Layout, newer: &Layout, seed: u64) -> Result<(), TestCaseError> {
        let [new, old] = [newer, older].map(|layout| RowLayout::from_json(&layout.json()).unwrap());
        let changes = compare(&new, &old);
        let reads_older_rows = changes.iter().all(LayoutChange::reads_older_rows);
        let breaks = changes.iter().any(LayoutChange::breaks_older_programs);
        let (reads, beside) = meet(older, newer, &mut Source(seed));
        let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
        prop_assert!(reads || !reads_older_rows, "{texts:#?}");
        // Rows that the newer program cannot read fail after a write of the older one, too.
        prop_assert!(beside || breaks || !reads_older_rows, "{texts:#?}");
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

        #[test]
        fn what_is_called_compatible_is(older in layout(), newer in layout(), seed in any::<u64>()) {
            check(&older, &newer, seed)?;
        }
    }

    /// An older row can be the mark of an empty map alone, which few samples of this seed have.
    #[test]
    fn a_struct_in_place_of_a_map_need_not_meet_the_row_that_it_cannot_read() {
        let column = |place, stored, is_required| Column { place, aliases: Vec::new(), stored, is_required };
        let older = Layout {
            columns: vec![column(("cf", "b"), Type::Text, false)],
            group: Some(Group::Map { stored: Type::Bytes, is_enum: true, is_optional: true }),
            is_exclusive: false,
        };
        let newer = Layout {
            columns: Vec::new(),
            group: Some(Group::Optional(vec![column(("p", "b"), Type::Bytes, true)])),
            is_exclusive: false,
        };
        check(&older, &newer, 14_677_745_862_018_276_940).unwrap();
    }

    /// The former name is a column of the older type, beside the column itself, which each of its rows has.
    #[test]
    fn an_alias_takes_a_column_that_is_never_read_in_its_place() {
        let column = |name, former: Option<&'static str>, is_required| Column {
            place: ("cf", name),
            aliases: former.map(|name| ("cf", name)).into_iter().collect(),
            stored: Type::Text,
            is_required,
        };
        let layout = |columns: Vec<Column>| Layout { columns, group: None, is_exclusive: false };
        let older = layout(vec![column("a", None, false), column("c", None, true)]);
        let newer = layout(vec![column("c", Some("a"), false)]);
        check(&older, &newer, 0).unwrap();
    }
}
