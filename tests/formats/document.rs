//! `docs/layouts.schema.json` describes the layouts that are written, and refuses others.

use std::fs;
use std::path::Path;

use keyderive::layouts::Layouts;
use keyderive::row::{Max, Sum, Timestamped, Versions};
use keyderive::{Cell, Row, RowKey};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

use super::cases::cases;

fn document() -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/layouts.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Whether a value is valid, by the keywords of JSON Schema that the document has.
fn is_valid(root: &Json, schema: &Json, value: &Json) -> bool {
    let mut all = schema.as_object().unwrap().iter();
    all.all(|(keyword, rule)| match keyword.as_str() {
        "$ref" => {
            let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
            is_valid(root, target, value)
        }
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "oneOf" => rule.as_array().unwrap().iter().filter(|one| is_valid(root, one, value)).count() == 1,
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            other => panic!("{other}"),
        },
        "minimum" => value.as_f64().is_none_or(|value| value >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|value| value <= rule.as_f64().unwrap()),
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            let len = value.as_str().map(|text| text.chars().count()).or(value.as_array().map(Vec::len));
            let limit = rule.as_u64().unwrap() as usize;
            len.is_none_or(|len| if keyword.starts_with("min") { len >= limit } else { len <= limit })
        }
        "required" => value.as_object().is_none_or(|map| {
            rule.as_array().unwrap().iter().all(|name| map.contains_key(name.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|map| {
            let named = rule.as_object().unwrap().iter();
            named
                .filter_map(|(name, rule)| Some((rule, map.get(name)?)))
                .all(|(rule, value)| is_valid(root, rule, value))
        }),
        "additionalProperties" => value.as_object().is_none_or(|map| {
            let named = &schema["properties"];
            let others = map.iter().filter(|(name, _)| named.get(name).is_none());
            match rule {
                Json::Bool(false) => others.count() == 0,
                rule => others.map(|(_, value)| value).all(|value| is_valid(root, rule, value)),
            }
        }),
        "items" => value.as_array().is_none_or(|list| list.iter().all(|value| is_valid(root, rule, value))),
        "prefixItems" => value.as_array().is_none_or(|list| {
            rule.as_array().unwrap().iter().zip(list).all(|(rule, value)| is_valid(root, rule, value))
        }),
        // Annotations, and patterns, which are of digits.
        "$schema" | "$defs" | "title" | "description" | "pattern" => true,
        other => panic!("the test does not know `{other}`"),
    })
}

#[derive(RowKey)]
#[salt(range = 4, over = "user", since(at = "2026-12-01T00:00:00Z"), sep = "!")]
#[allow(dead_code)]
struct Grown {
    user: String,
    #[row_key(ts(unit = "millis"))]
    at: std::time::SystemTime,
}

#[derive(Cell, Clone, Copy, Debug, PartialEq)]
#[row(code)]
#[allow(dead_code)]
enum Level {
    Low = 1,
    High = 2,
}

#[derive(Row)]
#[row(gc(max_versions = 3))]
#[allow(dead_code)]
struct Everything {
    #[row(alias = "former")]
    name: String,
    level: Option<Level>,
    #[row(default)]
    count: u32,
    #[row(counter)]
    views: i64,
    seen: Timestamped<bool>,
    history: Versions<f64>,
    #[row(ts(unit = "secs"))]
    at: std::time::SystemTime,
    #[row(family = "sums")]
    total: Sum,
    #[row(family = "tops")]
    top: Max,
    #[row(family)]
    place: Option<Place>,
    #[row(family)]
    daily: BTreeMap<String, i64>,
}

#[derive(Row)]
#[allow(dead_code)]
struct Place {
    city: String,
    raw: Vec<u8>,
    four: [u8; 4],
}

#[test]
fn the_document_describes_what_is_written() {
    let document = document();
    let layouts =
        Layouts::new().table::<Grown, Everything>("all").table::<Grown, BTreeMap<String, String>>("map");
    let written: Json = serde_json::from_str(&layouts.to_json()).unwrap();
    assert!(is_valid(&document, &document, &written), "{written:#}");
    for case in cases() {
        let key = serde_json::to_value(case.schema).unwrap();
        assert!(is_valid(&document, &document["$defs"]["key"], &key), "{}: {key}", case.name());
    }
}

/// Each value that is changed to one that no file has is refused.
#[test]
fn the_document_refuses_what_is_not_written() {
    let document = document();
    let layouts = Layouts::new().table::<Grown, Everything>("all");
    let written: Json = serde_json::from_str(&layouts.to_json()).unwrap();
    for (pointer, other) in [
        ("/format", json!(2)),
        ("/tables/all/0/key/layout", json!("text")),
        ("/tables/all/0/key/epochs/0/salt/range", json!(1)),
        ("/tables/all/0/key/fields/0/width", json!("wide")),
        ("/tables/all/0/key/fields/1/format", json!({ "unix_time": "hours" })),
        ("/tables/all/0/key/fields/1/values", json!({ "time": {} })),
        ("/tables/all/0/key/fields", json!([])),
        ("/tables/all/0/rows/0/row/fields/0", json!({ "column": { "family": "cf" } })),
        ("/tables/all/0/rows/0/row/rules/0/gc", json!("always")),
    ] {
        let mut changed = written.clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} of {written:#}")) = other;
        assert!(!is_valid(&document, &document, &changed), "{pointer}");
    }
}
