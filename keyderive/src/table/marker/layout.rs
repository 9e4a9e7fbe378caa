//! What a marker says of a layout, and where that differs from a key type.

use std::fmt::Write as _;

use serde_json::Value;

use crate::key::{Readable, Schema};

/// How much of a value that is no marker an error shows.
const SHOWN: usize = 80;

/// The value of a marker: the schema as JSON.
pub(super) fn to_value(schema: &Schema) -> Vec<u8> {
    // It is of text, numbers and lists alone, which JSON has.
    serde_json::to_vec(schema).unwrap_or_default()
}

/// Where a marker's value is not of the layout of `schema`; none where it is.
pub(super) fn difference(value: &[u8], schema: &Schema) -> Option<String> {
    let expected: Value = serde_json::to_value(schema).unwrap_or_default();
    let found: Value = serde_json::from_slice(value).unwrap_or_default();
    let Some(fingerprint) = found["fingerprint"].as_str() else {
        let shown = Readable(value.get(..SHOWN).unwrap_or(value));
        return Some(format!(
            "its marker row names no layout; expected that of {}, found `{shown}`: another program may write there",
            described(&expected)
        ));
    };
    if expected["fingerprint"].as_str() == Some(fingerprint) {
        return None;
    }
    let mut text = String::from("its rows are stored by another layout than that of the key type");
    if let Some(place) = place(&expected, &found) {
        // A string takes whatever is written to it.
        let _ = write!(text, ": {place}");
    }
    let _ = write!(text, "; expected {}, found {}", described(&expected), described(&found));
    Some(text)
}

/// A layout in a line.
fn described(layout: &Value) -> String {
    let text = |name: &str| layout[name].as_str().unwrap_or("?").to_owned();
    format!("`{}` of `{}` (fingerprint {})", text("template"), text("key_type"), text("fingerprint"))
}

/// The first part of a layout that differs, with both sides.
fn place(expected: &Value, found: &Value) -> Option<String> {
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
    .or_else(|| salt(&expected["salt"], &found["salt"]))
    .or_else(|| fields(&expected["fields"], &found["fields"]))
}

fn salt(expected: &Value, found: &Value) -> Option<String> {
    match (expected.is_null(), found.is_null()) {
        (true, true) => None,
        (true, false) => Some("it is to have no salt and has one".to_owned()),
        (false, true) => Some("it is to have a salt and has none".to_owned()),
        (false, false) => differs(
            expected,
            found,
            &[
                ("range", "the range of the salt"),
                ("hash", "the hash of the salt"),
                ("place", "the place of the salt"),
                ("sep", "the text after the salt"),
                ("over", "the fields that the salt is over"),
            ],
        ),
    }
}

fn fields(expected: &Value, found: &Value) -> Option<String> {
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
    let (wanted, has) = (expected.len(), found.len());
    (wanted != has).then(|| format!("it is to have {wanted} fields and has {has}"))
}

/// The first of the named parts that differs.
fn differs(expected: &Value, found: &Value, parts: &[(&str, &str)]) -> Option<String> {
    let (part, words) = parts.iter().find(|(part, _)| expected[*part] != found[*part])?;
    Some(format!("{words} is to be {} and is {}", shown(&expected[*part]), shown(&found[*part])))
}

/// Text without the quotes of JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Null => "none".to_owned(),
        other => format!("`{other}`"),
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
    key!(Name, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] no: u32, });
    key!(More, #[salt(range = 4, over = "user")] { user: String, #[pad(6)] number: u32, last: u8, });
    key!(Dash, #[salt(range = 4, over = "user")] #[row_key(delimiter = '-')] { user: String, #[pad(6)] number: u32, });

    fn against_old<K: RowKey>() -> Option<String> {
        difference(&to_value(Old::SCHEMA), K::SCHEMA)
    }

    #[test]
    fn key_types_of_one_fingerprint_are_the_same() {
        assert_eq!(against_old::<Old>(), None);
        assert_eq!(against_old::<Same>(), None);
    }

    #[test]
    fn a_difference_names_the_part_and_both_sides() {
        for (text, part) in [
            (against_old::<Salt>(), "the range of the salt is to be `8` and is `4`"),
            (against_old::<NoSalt>(), "it is to have no salt and has one"),
            (
                against_old::<Width>(),
                "the width of the field `number` is to be `{\"fixed\":7}` and is `{\"fixed\":6}`",
            ),
            (against_old::<Order>(), "the order of the field `number` is to be"),
            (against_old::<Name>(), "the name of field 2 is to be `no` and is `number`"),
            (against_old::<More>(), "it is to have 3 fields and has 2"),
            (against_old::<Dash>(), "the delimiter is to be `-` and is `#`"),
        ] {
            let text = text.unwrap();
            assert!(text.contains(part), "{text}");
            let found = format!(
                "found `<salt 0 to 3>#<user>#<number>` of `Old` (fingerprint {})",
                Old::fingerprint()
            );
            assert!(text.ends_with(&found), "{text}");
        }
    }

    #[test]
    fn what_is_no_marker_is_shown() {
        for value in [&b""[..], b"null", b"[]", b"{\"fingerprint\":7}", b"\xff\xfe", &[b'x'; 1000]] {
            let text = difference(value, Old::SCHEMA).unwrap();
            assert!(text.starts_with("its marker row names no layout; expected that of `<salt"), "{text}");
            assert!(text.len() < 500, "{text}");
        }
    }
}
