//! Where two layouts of keys differ, in words.

use serde_json::Value;

use crate::key::Schema;

/// The first part of a layout, as the registry has it, that differs from that of `schema`.
pub(super) fn difference(saved: &str, schema: &Schema) -> Option<String> {
    let parsed = |json: &str| serde_json::from_str::<Value>(json).ok();
    let (expected, found) = (parsed(&schema.layout_json())?, parsed(saved)?);
    first_difference(&expected, &found)
}

/// The first part of a layout that differs, as expected and as found.
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
    let (wanted, has) = (expected.len(), found.len());
    let remedy = if has > wanted { ": run the newer release, whose key type has all of them" } else { "" };
    (wanted != has).then(|| format!("it should have {wanted} `since` bounds and has {has}{remedy}"))
}

fn salt_difference(expected: &Value, found: &Value) -> Option<String> {
    match (expected.is_null(), found.is_null()) {
        (true, true) => None,
        (true, false) => Some("it should have no salt and has one".to_owned()),
        (false, true) => Some("it should have a salt and has none".to_owned()),
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
    let (wanted, has) = (expected.len(), found.len());
    (wanted != has).then(|| format!("it should have {wanted} fields and has {has}"))
}

/// The first of the named parts that differs.
fn differs(expected: &Value, found: &Value, parts: &[(&str, &str)]) -> Option<String> {
    let (part, words) = parts.iter().find(|(part, _)| expected[*part] != found[*part])?;
    Some(format!("{words} should be {} and is {}", shown(&expected[*part]), shown(&found[*part])))
}

/// A value without the quotes of JSON.
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
            (against_old::<Salt>(), "the range of the salt should be `8` and is `4`"),
            (against_old::<NoSalt>(), "it should have no salt and has one"),
            (
                against_old::<Width>(),
                "the width of the field `number` should be `{\"fixed\":7}` and is `{\"fixed\":6}`",
            ),
            (against_old::<Order>(), "the order of the field `number` should be"),
            (against_old::<Name>(), "the name of field 2 should be `no` and is `number`"),
            (against_old::<More>(), "it should have 3 fields and has 2"),
            (against_old::<Dash>(), "the delimiter should be `-` and is `#`"),
        ] {
            let text = text.unwrap();
            assert!(text.contains(part), "{text}");
        }
    }
}
