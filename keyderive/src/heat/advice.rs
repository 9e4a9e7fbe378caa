//! The variants of a layout that could spread its load.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::dynamic::{KeyLayout, LayoutError};
use crate::key::{Field, FieldOrder, KeySchema};

/// How many buckets are tried.
const RANGES: [u16; 6] = [2, 4, 8, 16, 32, 64];

/// A variant of a layout: what differs. Prints like "with 8 buckets".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
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

impl fmt::Display for Variant {
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
impl Serialize for Variant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Variant {
    /// The layout of this variant.
    ///
    /// ```
    /// use keyderive::RowKey;
    /// use keyderive::dynamic::KeyLayout;
    /// use keyderive::heat::Variant;
    /// # #[derive(RowKey)] struct EventKey { user: String, at: u64 }
    ///
    /// let salted = Variant::Salt(12).apply(&KeyLayout::of::<EventKey>())?;
    /// assert_eq!(salted.schema().template().to_string(), "<salt 0 to 11>#<user>#<at>");
    /// # Ok::<(), keyderive::dynamic::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// For a field that the layout does not have, a result that the derive would reject, a layout with a hashed field, whose values are
    /// unknown, and [`Layout`](Self::Layout), which is only a name.
    pub fn apply(&self, layout: &KeyLayout) -> Result<KeyLayout, LayoutError> {
        let error = |fault: String| LayoutError::new(vec![fault]);
        let schema = layout.schema();
        if let Some(field) = schema.fields().iter().find(|field| field.hash_of().is_some()) {
            return Err(error(format!(
                "the field `{}` is stored as a hash, so it has no values to make other keys of",
                field.name()
            )));
        }
        let mut json = serde_json::to_value(schema).map_err(|fault| error(fault.to_string()))?;
        let at = |name: &str| {
            let at = schema.fields().iter().position(|field| field.name() == name);
            at.ok_or_else(|| {
                let names: Vec<_> =
                    schema.fields().iter().map(|field| format!("`{}`", field.name())).collect();
                error(format!("there is no field `{name}`; the fields are {}", names.join(", ")))
            })
        };
        match self {
            Self::Salt(range) => {
                let salt = match &json["salt"] {
                    Json::Null => {
                        let over: Vec<_> = schema.fields().iter().map(Field::name).collect();
                        json!({"range": range, "hash": "farm", "place": "before_fields", "sep": json["delimiter"], "over": over})
                    }
                    salt => with(salt, "range", (*range).into()),
                };
                json = with(&json, "salt", salt);
            }
            Self::NoSalt => json = with(&json, "salt", Json::Null),
            Self::First(name) => {
                let at = at(name)?;
                json = with(&json, "epochs", json!([]));
                if let Some(fields) = json["fields"].as_array_mut() {
                    fields[..=at].rotate_right(1);
                }
            }
            Self::BitReversed(name) => {
                let at = at(name)?;
                json = with(&json, "epochs", json!([]));
                json["fields"][at]["order"] = "bit_reversed".into();
            }
            Self::Hashed(name) => {
                let at = at(name)?;
                json = with(&json, "epochs", json!([]));
                let digits = if json["layout"] == "delimited" { 32 } else { 16 };
                let field = &mut json["fields"][at];
                let of = json!({"format": field["format"], "order": field["order"], "width": field["width"]});
                for (key, value) in [
                    ("format", json!("md5")),
                    ("order", json!("hashed")),
                    ("width", json!({ "fixed": digits })),
                    ("hash_of", of),
                ] {
                    field[key] = value;
                }
            }
            Self::Layout(name) => return Err(error(format!("`{name}` is the name of a layout"))),
        }
        // What the derive would refuse is no remedy.
        KeySchema::from_changed_json(&json.to_string()).and_then(KeyLayout::checked).map_err(LayoutError::new)
    }
}

/// Every variant of the layout that the rules of the derive allow.
pub(super) fn variants(layout: &KeyLayout) -> Vec<(Variant, KeyLayout)> {
    let schema = layout.schema();
    let is_own = |range: u16| {
        schema.salt().is_some_and(|salt| salt.range() == u32::from(range)) && !schema.has_epochs()
    };
    let mut variants: Vec<_> =
        RANGES.into_iter().filter(|range| !is_own(*range)).map(Variant::Salt).collect();
    variants.extend(schema.first_salt().map(|_| Variant::NoSalt));
    variants.extend(schema.fields().iter().skip(1).map(|field| Variant::First(field.name().to_owned())));
    if let Some(first) = schema.fields().first() {
        // For a field that is bit-reversed already, the variant would be the layout itself.
        if first.order() != FieldOrder::BitReversed {
            variants.push(Variant::BitReversed(first.name().to_owned()));
        }
        variants.push(Variant::Hashed(first.name().to_owned()));
    }
    variants
        .into_iter()
        .filter_map(|variant| variant.apply(layout).ok().map(|layout| (variant, layout)))
        .collect()
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
        variants
            .iter()
            .map(|(variant, layout)| format!("{variant}: {}", layout.schema().template()))
            .collect()
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
