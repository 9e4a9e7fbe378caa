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

fn broken() -> Vec<Broken> {
    let (visit, ordered, epochs) = (VisitKey::SCHEMA, OrderedKey::SCHEMA, EpochKey::SCHEMA);
    let one = |schema, at, value, place, words| (schema, vec![(at, value)], vec![(place, words)]);
    let null = Json::Null;
    let code = |code: &str, name: &str| json!({ "code": code, "name": name });
    vec![
        one(visit, "/version", json!(9), "version", "it is 9, and this release of keyderive reads 1"),
        one(visit, "/format_version", json!(9), "format_version", "use the release that wrote it"),
        one(visit, "/delimiter", null.clone(), "delimiter", "the text layout has a delimiter, such as \"#\""),
        one(visit, "/delimiter", json!("é"), "delimiter", "is one byte; choose an ASCII character"),
        one(ordered, "/delimiter", json!("#"), "delimiter", "the ordered layout has no delimiter"),
        one(visit, "/tag", json!(""), "tag", "the tag is empty"),
        one(visit, "/tag", json!("a#"), "tag", "the tag holds `#`, which is at or below the delimiter `#`"),
        one(visit, "/fields/3/name", json!(""), "fields[3].name", "the name is empty"),
        one(visit, "/fields/3/name", json!("kind"), "fields[3].name", "two fields are called `kind`"),
        one(
            visit,
            "/fields/3/width",
            json!({ "between": [3, 2] }),
            "fields[3]",
            "its least width, 3, is above its greatest, 2",
        ),
        one(
            visit,
            "/fields/3/width",
            json!({ "fixed": 4097 }),
            "fields[3]",
            "it is 4097 bytes wide, and a row key has at most 4096",
        ),
        one(
            visit,
            "/fields/3/order",
            json!({ "reversed_from": { "max": "x" } }),
            "fields[3]",
            "the greatest value of its order is no number",
        ),
        one(
            visit,
            "/fields/3/values/integer/min",
            json!("x"),
            "fields[3]",
            "the limits of its values are no numbers",
        ),
        one(
            ordered,
            "/fields/1/width",
            json!({ "fixed": 32 }),
            "fields[1]",
            "a hashed field has the format `md5`, the order `hashed` and 16 bytes",
        ),
        one(
            visit,
            "/fields/2/values/codes",
            json!([code("1", "View"), code("x", "Click")]),
            "fields[2]",
            "a code is no number",
        ),
        one(visit, "/fields/2/values/codes", json!([]), "fields[2]", "an enum needs a variant"),
        one(
            visit,
            "/fields/2/values/codes",
            json!([code("10", "View"), code("10", "Click")]),
            "fields[2]",
            "the codes must ascend, each once",
        ),
        one(
            visit,
            "/fields/2/values/codes",
            json!([code("10", "View"), code("11", "View")]),
            "fields[2]",
            "two variants have one name",
        ),
        one(
            visit,
            "/fields/2/values/codes",
            json!([code("1", "View"), code("300", "Click")]),
            "fields[2]",
            "codes up to 300 are stored in 3 digits",
        ),
        one(
            ordered,
            "/fields/2/values/codes",
            json!([code("1", "View"), code("9223372036854775808", "Click")]),
            "fields[2]",
            "or as an Int64 of the ordered layout",
        ),
        one(visit, "/salt/range", json!(1), "salt.range", "a salt has 2 to 4096 buckets, not 1"),
        one(visit, "/salt/range", json!(4097), "salt.range", "a salt has 2 to 4096 buckets, not 4097"),
        one(visit, "/salt/over", json!([]), "salt.over", "`over` names no field"),
        one(
            visit,
            "/salt/over",
            json!(["users"]),
            "salt.over[0]",
            "`over` names `users`, which is not a field of `VisitKey`; did you mean `user`?",
        ),
        one(visit, "/salt/over", json!(["user", "user"]), "salt.over[1]", "`over` names `user` twice"),
        one(visit, "/salt/sep", null.clone(), "salt.sep", "the text layout has a separator after the salt"),
        one(visit, "/salt/sep", json!(""), "salt.sep", "`sep` is empty"),
        one(visit, "/salt/sep", json!("é"), "salt.sep", "`sep` holds `é`; choose ASCII characters"),
        one(visit, "/salt/sep", json!("-1"), "salt.sep", "`sep` contains the digit `1`"),
        one(ordered, "/salt/sep", json!("!"), "salt.sep", "`sep` belongs to the text layout"),
        one(
            ordered,
            "/salt/place",
            json!("front"),
            "salt.place",
            "this key has the ordered one: its salt is an Int64 before the fields; write \"before_fields\"",
        ),
        one(
            visit,
            "/salt/place",
            json!({ "after": "x" }),
            "salt.place",
            "`after` names `x`, which is not a field",
        ),
        one(
            visit,
            "/salt/place",
            json!({ "after": "seq" }),
            "salt.place",
            "`after` names `seq`, the last field",
        ),
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
        one(
            epochs,
            "/epochs/1/field",
            json!("time"),
            "epochs[1].field",
            "`since` names `time`, which is not a field",
        ),
        one(
            epochs,
            "/epochs/1/field",
            json!("seq"),
            "epochs[1].field",
            "bounds of `at` and of `seq`; name one field",
        ),
        one(epochs, "/epochs/1/since", json!("soon"), "epochs[1].since", "`soon` is no bound of `at`"),
        one(
            epochs,
            "/epochs/1/since",
            json!("100"),
            "epochs[1].since",
            "the bounds must ascend, and this one is not after `100`",
        ),
        one(epochs, "/epochs/1/salt/sep", json!("-"), "epochs[1].salt.sep", "share their separator"),
        one(
            epochs,
            "/epochs/1/salt/place",
            json!({ "after": "user" }),
            "epochs[1].salt.place",
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
        one(
            epochs,
            "/epochs/1/since",
            json!("99999999999"),
            "epochs[1].since",
            "`at` cannot hold this bound",
        ),
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
        one(visit, "/fingerprint", json!("x"), "fingerprint", "it is `x`, and that of the rest is `"),
        one(visit, "/min_len", json!(7), "min_len", "it is `7`, and that of the rest is `"),
        one(visit, "/max_len", json!(7), "max_len", "it is `7`, and that of the rest is `4096`"),
        one(
            visit,
            "/template",
            json!("x"),
            "template",
            "it is `x`, and that of the rest is `visit#<salt 0 to 3>!",
        ),
        one(
            visit,
            "/fields/0/offset",
            json!(7),
            "fields[0].offset",
            "it is `7`, and that of the rest is `8`",
        ),
        one(
            visit,
            "/fields/1/offset",
            json!(7),
            "fields[1].offset",
            "it is `7`, and that of the rest is `null`",
        ),
        one(
            epochs,
            "/epochs/1/stored",
            json!("7"),
            "epochs[1].stored",
            "it is `7`, and that of the rest is `",
        ),
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
