//! What a row type says of its columns.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use crate::row::shape::{Field, Kind, Shape};
use crate::row::{Timestamped, Versions};

#[derive(Deserialize)]
#[expect(dead_code, reason = "the type is only asked for its shape")]
struct Row {
    text: String,
    maybe: Option<u8>,
    #[serde(rename = "l", alias = "level")]
    renamed: Timestamped<f64>,
    history: Versions<u8>,
    stats: Box<Stats>,
    none: Option<Newtype>,
    map: HashMap<Channel, Versions<u8>>,
    dates: BTreeMap<String, Option<u8>>,
    list: Vec<Stats>,
    variant: Channel,
    #[serde(with = "crate::row::json")]
    json: Stats,
    recursive: Option<Box<Row>>,
    #[serde(skip)]
    skipped: u8,
}

#[derive(Deserialize)]
struct Newtype(#[expect(dead_code, reason = "the type is only asked for its shape")] Stats);

#[derive(Deserialize, Default)]
#[expect(dead_code, reason = "the type is only asked for its shape")]
struct Stats {
    clicks: u8,
    seen: Option<u8>,
}

#[derive(Deserialize, PartialEq, Eq, Hash)]
enum Channel {
    Web,
}

fn column(name: &'static str) -> Field {
    Field { name, kind: Kind::Column { versions: false }, optional: false }
}

fn family(name: &'static str, columns: Option<&[&'static str]>, versions: bool) -> Field {
    Field { name, kind: Kind::Family { columns: columns.map(<[_]>::to_vec), versions }, optional: false }
}

#[test]
fn a_struct_says_what_its_fields_are() {
    let shape = Shape::of::<Row>();
    let fields = shape.fields();
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    let columns: &[&str] = &["clicks", "seen"];
    let expected = [
        column("text"),
        Field { optional: true, ..column("maybe") },
        column("l"),
        column("level"),
        Field { name: "history", kind: Kind::Column { versions: true }, optional: true },
        family("stats", Some(columns), false),
        Field { optional: true, ..family("none", Some(columns), false) },
        family("map", None, true),
        family("dates", None, false),
        column("list"),
        column("variant"),
        column("json"),
        Field { optional: true, ..family("recursive", Some(&names), true) },
    ];
    assert_eq!(fields, expected);
}

#[test]
fn a_map_and_a_flattened_struct_name_no_columns() {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "the type is only asked for its shape")]
    struct Flattened {
        a: u8,
        stats: Stats,
        #[serde(flatten)]
        rest: Stats,
    }

    let map = Shape::of::<BTreeMap<String, u8>>();
    assert!(matches!(map, Shape::Map { versions: false, untyped: false }), "{map:?}");
    let map = Shape::of::<HashMap<Channel, Versions<u8>>>();
    assert!(matches!(map, Shape::Map { versions: true, untyped: false }), "{map:?}");
    let map = Shape::of::<BTreeMap<String, serde_json::Value>>();
    assert!(matches!(map, Shape::Map { versions: false, untyped: true }), "{map:?}");
    let flattened = Shape::of::<Flattened>();
    assert!(matches!(flattened, Shape::Flattened(_)), "{flattened:?}");
    assert!(!flattened.is_family(b"a") && !flattened.is_family(b"clicks") && flattened.is_family(b"stats"));
    let unit = Shape::of::<()>();
    assert!(matches!(unit, Shape::Struct(_)) && unit.fields().is_empty(), "{unit:?}");
    assert!(matches!(Shape::of::<serde_json::Value>(), Shape::NoRow));
    assert!(matches!(Shape::of::<Vec<i64>>(), Shape::NoRow));
    assert!(matches!(Shape::of::<Channel>(), Shape::NoRow));
    assert!(matches!(Shape::of::<Option<BTreeMap<String, i64>>>(), Shape::NoRow));
    assert!(Shape::of::<()>().check("cf").is_ok());
}
