//! The variants of a layout that could spread its load.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::dynamic::KeyLayout;
use crate::key::{Field, Schema};

/// How many buckets are tried.
const RANGES: [u16; 6] = [2, 4, 8, 16, 32, 64];

/// How a variant differs from the layout. Printed as in "with 8 buckets".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A salt of this many buckets before the fields, over those that the layout salts, or over all.
    Salt(u16),
    /// No salt.
    NoSalt,
    /// This field before all others.
    First(String),
    /// The bits of the first field reversed.
    BitReversed(String),
    /// The first field hashed by MD5.
    Hashed(String),
    /// A layout that was given, by its name.
    Layout(String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Salt(range) => write!(f, "with {range} buckets"),
            Self::NoSalt => f.write_str("without a salt"),
            Self::First(field) => write!(f, "with `{field}` first"),
            Self::BitReversed(field) => write!(f, "with the bits of `{field}` reversed"),
            Self::Hashed(field) => write!(f, "with `{field}` hashed"),
            Self::Layout(name) => write!(f, "as {name}"),
        }
    }
}

/// As its text.
impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Every variant of the layout that the rules of the derive allow.
pub(super) fn variants(layout: &KeyLayout) -> Vec<(Change, KeyLayout)> {
    let schema = layout.schema();
    // A hash cannot be decoded, so there are no values to make other keys of.
    if schema.fields().iter().any(|field| field.hash_of().is_some()) {
        return Vec::new();
    }
    let Ok(json) = serde_json::to_value(schema) else { return Vec::new() };
    let mut variants = Vec::new();
    let mut add = |change: Change, json: Json| {
        // What the derive would refuse is no remedy.
        let schema = Schema::from_changed_json(&json.to_string()).ok();
        let layout = schema.and_then(|schema| KeyLayout::checked(schema).ok());
        variants.extend(layout.map(|layout| (change, layout)));
    };
    // A salt from a date on is a layout of its own: variants have one salt.
    let unsalted = with(&json, "salt", Json::Null);
    for range in RANGES {
        if schema.salt().is_some_and(|salt| salt.range() == u32::from(range)) && !schema.has_epochs() {
            continue;
        }
        let salt = match &json["salt"] {
            Json::Null => {
                let over: Vec<_> = schema.fields().iter().map(Field::name).collect();
                json!({"range": range, "hash": "farm", "place": "before_fields", "sep": json["delimiter"], "over": over})
            }
            salt => with(salt, "range", range.into()),
        };
        add(Change::Salt(range), with(&json, "salt", salt));
    }
    if schema.first_salt().is_some() {
        add(Change::NoSalt, unsalted.clone());
    }
    let fields = json["fields"].as_array().cloned().unwrap_or_default();
    for (at, field) in schema.fields().iter().enumerate().skip(1) {
        let mut moved = fields.clone();
        let promoted = moved.remove(at);
        moved.insert(0, promoted);
        add(Change::First(field.name().to_owned()), with(&json, "fields", moved.into()));
    }
    let (Some(first), Some(name)) = (fields.first(), schema.fields().first().map(Field::name)) else {
        return variants;
    };
    let with_first = |field: Json| {
        let mut changed = fields.clone();
        changed[0] = field;
        with(&json, "fields", changed.into())
    };
    if first["order"] != "bit_reversed" {
        add(Change::BitReversed(name.to_owned()), with_first(with(first, "order", "bit_reversed".into())));
    }
    let of = json!({"format": first["format"], "order": first["order"], "width": first["width"]});
    let digits = if json["layout"] == "delimited" { 32 } else { 16 };
    let mut hashed = first.clone();
    for (key, value) in [
        ("format", json!("md5")),
        ("order", json!("hashed")),
        ("width", json!({ "fixed": digits })),
        ("hash_of", of),
    ] {
        hashed[key] = value;
    }
    add(Change::Hashed(name.to_owned()), with_first(hashed));
    variants
}

/// The object with another value, and without salts from a date on.
fn with(json: &Json, key: &str, value: Json) -> Json {
    let mut changed = json.clone();
    changed[key] = value;
    if changed.get("epochs").is_some() {
        changed["epochs"] = json!([]);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    #[row_key(allow(hotspot))]
    struct EventKey {
        #[row_key(sequential)]
        at: u64,
        user: String,
        #[pad(3)]
        seq: u16,
    }

    #[derive(RowKey)]
    #[salt(range = 8, over = "user")]
    #[row_key(layout = "ordered")]
    struct OrderedKey {
        user: String,
        at: i64,
    }

    #[derive(RowKey)]
    #[row_key(allow(point_reads))]
    struct HashedKey {
        #[row_key(hash(md5))]
        user: String,
        at: u64,
    }

    fn shown<K: RowKey>() -> Vec<String> {
        let variants = variants(&KeyLayout::of::<K>());
        variants.iter().map(|(change, layout)| format!("{change}: {}", layout.schema().template())).collect()
    }

    #[test]
    fn variants_are_those_that_the_derive_allows() {
        assert_eq!(
            shown::<EventKey>(),
            [
                "with 2 buckets: <salt 0 to 1>#<at>#<user>#<seq>",
                "with 4 buckets: <salt 0 to 3>#<at>#<user>#<seq>",
                "with 8 buckets: <salt 0 to 7>#<at>#<user>#<seq>",
                "with 16 buckets: <salt 0 to 15>#<at>#<user>#<seq>",
                "with 32 buckets: <salt 0 to 31>#<at>#<user>#<seq>",
                "with 64 buckets: <salt 0 to 63>#<at>#<user>#<seq>",
                "with `user` first: <user>#<at>#<seq>",
                "with `seq` first: <seq>#<at>#<user>",
                "with the bits of `at` reversed: <at>#<user>#<seq>",
                "with `at` hashed: <at>#<user>#<seq>",
            ]
        );
        let ordered = shown::<OrderedKey>();
        assert!(!ordered.iter().any(|one| one.starts_with("with 8 buckets")), "{ordered:?}");
        assert!(ordered.iter().any(|one| one.starts_with("without a salt")), "{ordered:?}");
        assert!(ordered.iter().any(|one| one.starts_with("with `at` first")), "{ordered:?}");
        assert_eq!(shown::<HashedKey>(), [""; 0]);
    }
}
