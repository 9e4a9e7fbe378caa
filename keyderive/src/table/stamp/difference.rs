//! What differs between the layout of a table's keys and that of a program's, in words.

use serde_json::Value;

use crate::key::Schema;

/// The first part of a table's layout, as the registry has it, that differs from that of `schema`, which is the program's.
pub(super) fn difference(saved: &str, schema: &Schema) -> Option<String> {
    let parsed = |json: &str| serde_json::from_str::<Value>(json).ok();
    let (expected, found) = (parsed(&schema.layout_json())?, parsed(saved)?);
    first_difference(&expected, &found)
}

/// The first part of a layout that differs: `expected` is the program's, and `found` the table's.
fn first_difference(expected: &Value, found: &Value) -> Option<String> {
    differs(
        expected,
        found,
        &[
            ("format_version", "the version of the key format"),
            ("layout", "the layout"),
            ("delimiter", "the delimiter"),
            ("tag", "the tag"),
        ],
    )
    .or_else(|| salt_difference(&expected["salt"], &found["salt"]))
    .or_else(|| epoch_difference(&expected["epochs"], &found["epochs"]))
    .or_else(|| field_difference(&expected["fields"], &found["fields"]))
}

/// Layouts of releases without epochs have no list of them.
fn epoch_difference(expected: &Value, found: &Value) -> Option<String> {
    let none = Vec::new();
    let (expected, found) = (expected.as_array().unwrap_or(&none), found.as_array().unwrap_or(&none));
    for (expected, found) in expected.iter().zip(found) {
        let bound = differs(expected, found, &[("field", "the field of the bounds"), ("since", "a bound")]);
        if let Some(part) = bound.or_else(|| salt_difference(&expected["salt"], &found["salt"])) {
            return Some(part);
        }
    }
    let (own, of_table) = (expected.len(), found.len());
    let remedy = if of_table > own { ": run the newer release, whose key type has all of them" } else { "" };
    (own != of_table).then(|| {
        format!("the number of `since` bounds is {of_table} in the table and {own} in this program{remedy}")
    })
}

fn salt_difference(expected: &Value, found: &Value) -> Option<String> {
    match (expected.is_null(), found.is_null()) {
        (true, true) => None,
        (true, false) => Some("the table's keys have a salt, and this program's have none".to_owned()),
        (false, true) => Some("the table's keys have no salt, and this program's have one".to_owned()),
        (false, false) => differs(
            expected,
            found,
            &[
                ("range", "the range of the salt"),
                ("hash", "the hash of the salt"),
                ("place", "the place of the salt"),
                ("sep", "the text after the salt"),
                ("over", "the list of the salt's fields"),
            ],
        ),
    }
}

fn field_difference(expected: &Value, found: &Value) -> Option<String> {
    let none = Vec::new();
    let (expected, found) = (expected.as_array().unwrap_or(&none), found.as_array().unwrap_or(&none));
    for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
        let place = at + 1;
        if let Some(name) = differs(expected, found, &[("name", &format!("the name of field {place}"))]) {
            return Some(name);
        }
        let field = expected["name"].as_str().unwrap_or("?");
        let parts =
            ["format", "order", "width"].map(|part| (part, format!("the {part} of the field `{field}`")));
        let parts = parts.each_ref().map(|(part, words)| (*part, words.as_str()));
        if let Some(part) = differs(expected, found, &parts) {
            return Some(part);
        }
    }
    let (own, of_table) = (expected.len(), found.len());
    (own != of_table)
        .then(|| format!("the number of fields is {of_table} in the table and {own} in this program"))
}

/// The first of the named parts that differs.
fn differs(expected: &Value, found: &Value, parts: &[(&str, &str)]) -> Option<String> {
    let (part, words) = parts.iter().find(|(part, _)| expected[*part] != found[*part])?;
    Some(format!(
        "{words} is {} in the table and {} in this program",
        shown(&found[*part]),
        shown(&expected[*part])
    ))
}

/// A part of a layout without the marks of JSON.
fn shown(value: &Value) -> String {
    let listed = |values: &[Value], between| values.iter().map(shown).collect::<Vec<_>>().join(between);
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("`{text}`"),
        Value::Array(values) => listed(values, ", "),
        Value::Object(named) => match named.iter().next() {
            Some((name, Value::Array(bounds))) if name == "between" => {
                format!("{} bytes", listed(bounds, " to "))
            }
            Some((name, bytes)) if name == "fixed" && *bytes == 1 => "1 byte".to_owned(),
            Some((name, bytes)) if name == "fixed" => format!("{bytes} bytes"),
            Some((name, bound)) if name == "reversed_from" => {
                format!("reversed from {}", shown(&bound["max"]))
            }
            Some((name, part)) => format!("{} {}", name.replace('_', " "), shown(part)),
            None => "none".to_owned(),
        },
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    #[salt(range = 4, over = "user")]
    struct Old {
        user: String,
        #[pad(6)]
        number: u32,
    }

    macro_rules! key {
        ($name:ident, $(#[$key:meta])* { $($(#[$field:meta])* $part:ident: $type:ty,)* }) => {
            #[derive(RowKey)]
            $(#[$key])*
            #[allow(dead_code)]
            struct $name { $($(#[$field])* $part: $type,)* }
        };
    }
    key!(Same, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u64, });
    key!(Salt, #[salt(range = 8, over = "user")] { user: String, #[pad(6)] number: u32, });
    key!(NoSalt, { user: String, #[pad(6)] number: u32, });
    key!(Width, #[salt(range = 4, over = "user")] { user: String, #[pad(7)] number: u32, });
    key!(Order, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] #[row_key(desc)] number: u32, });
    key!(Over, #[salt(range = 4, over = "user,number")] { user: String, #[pad(6)] number: u32, });
    key!(Name, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] no: u32, });
    key!(More, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u32, last: u8, });
    key!(Dash, #[salt(range = 4, over = "user")] #[row_key(delimiter = '-')] { user: String, #[pad(6)] number: u32, });

    fn against_old<K: RowKey>() -> Option<String> {
        difference(&Old::SCHEMA.layout_json(), K::SCHEMA)
    }

    #[test]
    fn key_types_of_one_fingerprint_are_the_same() {
        assert_eq!(Old::fingerprint(), Same::fingerprint());
        assert_eq!(against_old::<Same>(), None);
    }

    #[test]
    fn a_difference_names_the_part_and_both_sides() {
        for (text, part) in [
            (against_old::<Salt>(), "the range of the salt is 4 in the table and 8 in this program"),
            (against_old::<NoSalt>(), "the table's keys have a salt, and this program's have none"),
            (
                against_old::<Over>(),
                "the list of the salt's fields is `user` in the table and `user`, `number` in this program",
            ),
            (
                against_old::<Width>(),
                "the width of the field `number` is 6 bytes in the table and 7 bytes in this program",
            ),
            (
                against_old::<Order>(),
                "the order of the field `number` is `ascending` in the table and reversed from `999999` in this program",
            ),
            (against_old::<Name>(), "the name of field 2 is `number` in the table and `no` in this program"),
            (against_old::<More>(), "the number of fields is 2 in the table and 3 in this program"),
            (against_old::<Dash>(), "the delimiter is `#` in the table and `-` in this program"),
        ] {
            assert_eq!(text.unwrap(), part);
        }
        for (json, text) in [
            (r#"{"between":[1,10]}"#, "1 to 10 bytes"),
            (r#"{"fixed":1}"#, "1 byte"),
            (r#"{"after":"user"}"#, "after `user`"),
        ] {
            assert_eq!(shown(&serde_json::from_str(json).unwrap()), text);
        }
    }
}
