//! Rows of all kinds, under names and lints that generated code could trip over.

#![deny(warnings, missing_docs, clippy::pedantic)]
#![allow(unused)]

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use keyderive::row::{As, Column, Json, Max, Min, Sum, Timestamped, Versions};
use keyderive::{Cell, Row};

/// Names of things that generated code uses.
#[derive(Row)]
pub struct Names {
    /// Documented.
    pub decode: String,
    /// Documented.
    pub encode: Option<String>,
    /// Documented.
    pub r#type: i64,
    /// Documented.
    pub new: u8,
    /// Documented.
    pub cells: bool,
    /// Documented.
    pub out: f64,
    /// Documented.
    pub family: char,
    /// Documented.
    pub self_: (),
    _hidden: Option<u8>,
}

struct Option2;
struct Result;
struct Some;
struct None;
struct Ok;
struct Err;

#[derive(Row)]
struct Borrowed<'a, 'b> {
    text: &'a str,
    bytes: Option<&'b [u8]>,
    cow: Cow<'a, str>,
    #[row(family)]
    place: Place<'a>,
    #[row(family)]
    former: Option<Place<'b>>,
}

#[derive(Row)]
struct Place<'a> {
    city: &'a str,
    floor: Option<i32>,
}

#[derive(Row)]
struct Generic<R, N, const M: usize = 3>
where
    R: Copy,
{
    value: R,
    other: Option<N>,
    array: [u8; M],
    #[row(default)]
    counted: u32,
}

#[derive(Row)]
struct OfGenerics {
    #[row(family)]
    one: Generic<i64, String>,
    #[row(family)]
    two: Option<Generic<f64, bool, 4>>,
    plain: i64,
}

#[derive(Row)]
#[row(family = "f", gc(max_age = "30d", max_versions = 3), ttl = "7d", exclusive)]
struct Rules {
    kind: Arc<str>,
    #[row(family, gc(never))]
    daily: HashMap<String, Versions<f64>>,
    #[row(family, gc(all(max_age = "1d", max_versions = 2)))]
    site: BTreeMap<Kind, Timestamped<Vec<u8>>>,
    #[row(family = "hourly", window = "1h", gc(max_age = "90d"))]
    views: Versions<Sum>,
    #[row(family = "least")]
    least: Min,
    #[row(family)]
    most: BTreeMap<Day, Max>,
    #[row(family, json)]
    parts: std::option::Option<BTreeMap<String, Vec<u8>>>,
    #[row(json, constant = "LABELS")]
    tags: Versions<Vec<String>>,
}

#[derive(Cell, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    One,
    Two,
}

#[derive(Cell, PartialEq, Eq, PartialOrd, Ord)]
struct Day(String);

#[deprecated]
#[derive(Row)]
struct Old {
    kind: String,
}

macro_rules! row {
    ($name:ident, $ty:ty) => {
        #[derive(Row)]
        struct $name {
            value: $ty,
        }
    };
}

row!(Plain, i64);
row!(Maybe, Option<i64>);

#[allow(deprecated)]
const _: Column<Old, String> = Old::KIND;
const _: Column<Rules, Versions<As<Vec<String>, Json>>> = Rules::LABELS;
const _: Column<Maybe, Option<i64>> = Maybe::VALUE;

pub(crate) fn main() {
    #[derive(Row)]
    struct Inner {
        value: i64,
    }
    assert_eq!(Inner::VALUE.name(), "value");
    assert_eq!(Borrowed::PLACE.city.family(), "place");
    assert_eq!(OfGenerics::ONE.other.name(), "other");
    let families: Vec<_> = Rules::SCHEMA.families().collect();
    assert_eq!(families, ["f", "daily", "site", "hourly", "least", "most", "parts"]);
}
