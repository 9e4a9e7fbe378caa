//! What is refused of a layout's JSON: each rule of the derive, with its place and in which words.

use serde_json::{Value as Json, json};

use super::*;
use crate::{KeyField, RowKey};

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    View = 1,
    Click = 2,
    Buy = 30,
}

#[derive(RowKey)]
#[row_key(tag = "visit")]
#[salt(range = 4, over = "user,site", sep = "!")]
struct VisitKey {
    user: String,
    site: String,
    kind: Kind,
    #[pad(6)]
    seq: u32,
}

#[derive(RowKey)]
#[row_key(layout = "ordered", allow(point_reads))]
#[salt(range = 4, over = "user")]
struct OrderedKey {
    user: String,
    #[row_key(hash(md5))]
    site: String,
    kind: Kind,
}

#[derive(RowKey)]
#[allow(clippy::duplicated_attributes, reason = "salts of epochs")]
#[salt(range = 4, over = "user", sep = "!", since(at = 100))]
#[salt(range = 16, over = "user", sep = "!", since(at = 200))]
struct EpochKey {
    user: String,
    #[pad(10)]
    at: u64,
    #[pad(6)]
    seq: u32,
}

/// Changes of a schema's JSON, each a pointer and what is written there, and all faults that are found then: the place of each, and a part of
/// its words.
type Broken = (&'static KeySchema, Vec<(&'static str, Json)>, Vec<(&'static str, &'static str)>);

/// The place that a fault names for a pointer: that of a field is its place in the key, whatever is wrong with its values.
fn place(pointer: &str) -> &'static str {
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        match part {
            "width" | "order" | "values" if place.starts_with("fields") => break,
            part if part.starts_with(|char: char| char.is_ascii_digit()) => place += &format!("[{part}]"),
            part if place.is_empty() => place += part,
            part => place += &format!(".{part}"),
        }
    }
    place.leak()
}

fn broken() -> Vec<Broken> {
    let (visit, ordered, epochs) = (VisitKey::SCHEMA, OrderedKey::SCHEMA, EpochKey::SCHEMA);
    let one = |schema, at, value, place, words| (schema, vec![(at, value)], vec![(place, words)]);
    let null = Json::Null;
    let there = |schema, at, value, words| one(schema, at, value, place(at), words);
    let codes = |schema, codes: &[(&str, &str)], words| {
        let codes = codes.iter().map(|(code, name)| json!({ "code": code, "name": name }));
        there(schema, "/fields/2/values/codes", codes.collect(), words)
    };
    vec![
        there(visit, "/version", json!(9), "it is 9, and this release of keyderive reads 1"),
        there(visit, "/format_version", json!(9), "use the release that wrote it"),
        there(visit, "/delimiter", null.clone(), "the text layout has a delimiter, such as \"#\""),
        there(visit, "/delimiter", json!("é"), "is one byte; choose an ASCII character"),
        there(ordered, "/delimiter", json!("#"), "the ordered layout has no delimiter"),
        there(visit, "/tag", json!(""), "the tag is empty"),
        there(visit, "/tag", json!("a#"), "the tag holds `#`, which is at or below the delimiter `#`"),
        there(visit, "/fields/3/name", json!(""), "the name is empty"),
        there(visit, "/fields/3/name", json!("kind"), "two fields are called `kind`"),
        there(
            visit,
            "/fields/3/width",
            json!({ "between": [3, 2] }),
            "its least width, 3, is above its greatest, 2",
        ),
        there(
            visit,
            "/fields/3/width",
            json!({ "fixed": 4097 }),
            "it is 4097 bytes wide, and a row key has at most 4096",
        ),
        there(
            visit,
            "/fields/3/order",
            json!({ "reversed_from": { "max": "x" } }),
            "the greatest value of its order is no number",
        ),
        there(visit, "/fields/3/values/integer/min", json!("x"), "the limits of its values are no numbers"),
        there(
            ordered,
            "/fields/1/width",
            json!({ "fixed": 32 }),
            "a hashed field has the format `md5`, the order `hashed` and 16 bytes",
        ),
        codes(visit, &[("1", "View"), ("x", "Click")], "a code is no number"),
        codes(visit, &[], "an enum needs a variant"),
        codes(visit, &[("10", "View"), ("10", "Click")], "the codes must ascend, each once"),
        codes(visit, &[("10", "View"), ("11", "View")], "two variants have one name"),
        codes(visit, &[("1", "View"), ("300", "Click")], "codes up to 300 are stored in 3 digits"),
        codes(
            ordered,
            &[("1", "View"), ("9223372036854775808", "Click")],
            "or as an Int64 of the ordered layout",
        ),
        there(visit, "/salt/range", json!(1), "a salt has 2 to 4096 buckets, not 1"),
        there(visit, "/salt/range", json!(4097), "a salt has 2 to 4096 buckets, not 4097"),
        there(visit, "/salt/over", json!([]), "`over` names no field"),
        one(
            visit,
            "/salt/over",
            json!(["users"]),
            "salt.over[0]",
            "`over` names `users`, which is not a field of `VisitKey`; did you mean `user`?",
        ),
        one(visit, "/salt/over", json!(["user", "user"]), "salt.over[1]", "`over` names `user` twice"),
        there(visit, "/salt/sep", null.clone(), "the text layout has a separator after the salt"),
        there(visit, "/salt/sep", json!(""), "`sep` is empty"),
        there(visit, "/salt/sep", json!("é"), "`sep` holds `é`; choose ASCII characters"),
        there(visit, "/salt/sep", json!("-1"), "`sep` contains the digit `1`"),
        there(ordered, "/salt/sep", json!("!"), "`sep` belongs to the text layout"),
        there(
            ordered,
            "/salt/place",
            json!("front"),
            "this key has the ordered one: its salt is an Int64 before the fields; write \"before_fields\"",
        ),
        there(visit, "/salt/place", json!({ "after": "x" }), "`after` names `x`, which is not a field"),
        there(visit, "/salt/place", json!({ "after": "seq" }), "`after` names `seq`, the last field"),
        one(visit, "/salt/hash", json!("java"), "salt.over", "`\"java\"` is over the whole key"),
        (
            ordered,
            vec![("/salt/hash", json!("java"))],
            vec![
                ("salt.over", "`\"java\"` is over the whole key"),
                ("salt.hash", "`hash` belongs to the text layout"),
            ],
        ),
        (
            visit,
            vec![
                ("/salt/hash", json!("java")),
                ("/salt/over", json!(["user", "site", "kind", "seq"])),
                ("/salt/place", json!({ "after": "user" })),
            ],
            vec![("salt.place", "`\"java\"` stands before the key")],
        ),
        there(epochs, "/epochs/1/field", json!("time"), "`since` names `time`, which is not a field"),
        there(epochs, "/epochs/1/field", json!("seq"), "bounds of `at` and of `seq`; name one field"),
        there(epochs, "/epochs/1/since", json!("soon"), "`soon` is no bound of `at`"),
        there(
            epochs,
            "/epochs/1/since",
            json!("100"),
            "the bounds must ascend, and this one is not after `100`",
        ),
        there(epochs, "/epochs/1/salt/sep", json!("-"), "share their separator"),
        there(
            epochs,
            "/epochs/1/salt/place",
            json!({ "after": "user" }),
            "the salts of a key share their place",
        ),
        (
            epochs,
            vec![
                ("/epochs/0/salt/place", json!({ "after": "at" })),
                ("/epochs/1/salt/place", json!({ "after": "at" })),
            ],
            vec![
                ("epochs[0].salt.place", "the salt must stand before `at`, which has the bounds"),
                ("epochs[1].salt.place", "the salt must stand before `at`, which has the bounds"),
            ],
        ),
        (
            epochs,
            vec![("/epochs/1/salt/hash", json!("java"))],
            vec![
                ("epochs[1].salt.over", "is over the whole key"),
                ("epochs[1].salt.hash", "a salt from a date on is made by FarmHash"),
            ],
        ),
        one(
            epochs,
            "/epochs/1/salt/range",
            json!(4),
            "epochs[1].salt",
            "the keys before this bound have the same salt",
        ),
        (
            epochs,
            vec![("/delimiter", json!("5"))],
            vec![("delimiter", "the delimiter `5` looks like a digit of the salt")],
        ),
        // Of the whole schema.
        there(epochs, "/epochs/1/since", json!("99999999999"), "`at` cannot hold this bound"),
        (
            epochs,
            vec![
                ("/fields/2/format", json!("utf8")),
                ("/fields/2/width", json!("delimited")),
                ("/fields/2/values", json!("text")),
            ],
            vec![("fields[2]", "it needs a fixed width")],
        ),
        // What is computed of the rest.
        there(visit, "/fingerprint", json!("x"), "it is `x`, and that of the rest is `"),
        there(visit, "/min_len", json!(7), "it is `7`, and that of the rest is `"),
        there(visit, "/max_len", json!(7), "it is `7`, and that of the rest is `4096`"),
        there(visit, "/template", json!("x"), "it is `x`, and that of the rest is `visit#<salt 0 to 3>!"),
        there(visit, "/fields/0/offset", json!(7), "it is `7`, and that of the rest is `8`"),
        there(visit, "/fields/1/offset", json!(7), "it is `7`, and that of the rest is `null`"),
        there(epochs, "/epochs/1/stored", json!("7"), "it is `7`, and that of the rest is `"),
    ]
}

#[test]
fn each_rule_is_said_at_its_place() {
    let mut others = Vec::new();
    for (schema, changes, expected) in broken() {
        let mut json = serde_json::to_value(schema).unwrap();
        for (at, value) in &changes {
            *json.pointer_mut(at).unwrap_or_else(|| panic!("no {at}")) = value.clone();
        }
        let faults = KeySchema::from_json(&json.to_string(), None).unwrap_err();
        let is_said = |(fault, (place, words)): (&String, &(&str, &str))| {
            fault.strip_prefix(&format!("`{place}`: ")).is_some_and(|fault| fault.contains(words))
        };
        if faults.len() != expected.len() || !faults.iter().zip(&expected).all(is_said) {
            others.push((changes, faults, expected));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn a_key_has_fields_and_room() {
    let mut json = serde_json::to_value(VisitKey::SCHEMA).unwrap();
    json["fields"] = json!([]);
    let faults = KeySchema::from_json(&json.to_string(), None).unwrap_err();
    assert!(faults.contains(&"`fields`: a row key needs a field".to_owned()), "{faults:?}");
    let large = format!("\"{}\"", "x".repeat(MAX_LEN));
    let faults = KeySchema::from_json(&large, None).unwrap_err();
    assert_eq!(faults, [format!("it has {} bytes, and a schema has at most {MAX_LEN}", MAX_LEN + 2)]);
    let faults = KeySchema::from_json("{}", None).unwrap_err();
    assert!(faults.len() == 1 && faults[0].starts_with("it is not the JSON of a schema: "), "{faults:?}");
}
