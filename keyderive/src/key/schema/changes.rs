//! How the layout of keys differs from an older one, part by part, and what each change does to stored rows.

use std::fmt;

use serde_json::Value;

use super::KeySchema;

/// The part of a layout that says from when on keys have other salts.
pub(crate) const BOUNDS: &str = "the number of `since` bounds";

/// One part of a layout that differs from the same part of an older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyChange {
    /// Such as `the range of the salt`.
    pub(crate) part: String,
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) effect: KeyEffect,
}

/// What a change of the layout does to stored rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyEffect {
    /// `rows` of every `of` rows have another key.
    OtherKeys { rows: u64, of: u64 },
    /// The bytes are the same, and the fingerprint is another.
    OtherName { remedy: String },
    /// Keys from the bound on have another salt.
    LaterSalt,
    /// The bytes and the fingerprint are the same.
    OtherValues { lacks_some: bool, has_more: bool },
    /// The bytes and the fingerprint are the same, and stand for other variants of an enum.
    OtherVariants,
}

impl KeyEffect {
    const EVERY_KEY: Self = Self::OtherKeys { rows: 1, of: 1 };

    /// Whether the layout has another fingerprint.
    pub(crate) fn is_of_fingerprint(&self) -> bool {
        !matches!(self, Self::OtherValues { .. } | Self::OtherVariants)
    }

    pub(crate) fn reads_older_rows(&self) -> bool {
        matches!(self, Self::LaterSalt | Self::OtherValues { lacks_some: false, .. })
    }

    pub(crate) fn breaks_older_programs(&self) -> bool {
        !matches!(self, Self::OtherValues { has_more: false, .. })
    }
}

impl fmt::Display for KeyEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherKeys { rows: 1, of: 1 } => f.write_str(
                "every row has another key, and no stored row is found; undo it, or move the rows: see \"When a key must change\" in the \
                 guide",
            ),
            Self::OtherKeys { rows, of } => write!(
                f,
                "{rows} of {of} rows have another key, and are not found; undo it, or move the rows: see \"When a key must change\" in \
                 the guide"
            ),
            Self::OtherName { remedy } => {
                write!(f, "the keys are the same, but a stamped table refuses the program; keep the name by {remedy}")
            }
            Self::LaterSalt => f.write_str(
                "keys before the bound stay; rows from it on that are stored already have another key, and are not found. Have every \
                 program know it before that time",
            ),
            Self::OtherVariants => f.write_str(
                "stored keys are read as other variants than they were written of, and so are new keys by older programs; give each \
                 variant the code that it had",
            ),
            Self::OtherValues { lacks_some: false, has_more: false } => f.write_str("the keys are the same"),
            Self::OtherValues { lacks_some: false, has_more: true } => f.write_str(
                "stored rows are read; older programs cannot read keys with values that they lack. Deploy it to every reader before any \
                 program writes such a value",
            ),
            Self::OtherValues { lacks_some: true, has_more: false } => {
                f.write_str("stored keys with values that it lacks cannot be read, and are foreign rows")
            }
            Self::OtherValues { lacks_some: true, has_more: true } => f.write_str(
                "stored keys with values that it lacks cannot be read, and are foreign rows; older programs cannot read keys with values \
                 that they lack",
            ),
        }
    }
}

impl KeySchema {
    /// How one layout differs from an older one, from the left; both as [`layout_json`](Self::layout_json) gives them. None if a text
    /// is not JSON.
    pub(crate) fn changes_between(new: &str, old: &str) -> Option<Vec<KeyChange>> {
        let parsed = |json| serde_json::from_str::<Value>(json).ok();
        Some(changes(&parsed(old)?, &parsed(new)?))
    }
}

/// How a layout differs from an older one, from the left.
pub(crate) fn changes(old: &Value, new: &Value) -> Vec<KeyChange> {
    let mut found = Vec::new();
    for (part, words) in [
        ("format_version", "the version of the key format"),
        ("layout", "the layout"),
        ("delimiter", "the delimiter"),
        ("tag", "the tag"),
    ] {
        found.extend(differs(words, &old[part], &new[part], KeyEffect::EVERY_KEY));
    }
    let names = Names::of(old, new);
    let is_text = old["layout"] == "delimited";
    found.extend(salt_changes(&old["salt"], &new["salt"], &names, is_text));
    found.extend(epoch_changes(&old["epochs"], &new["epochs"], &names, is_text));
    found.extend(field_changes(old, new, &names));
    found
}

/// The fields that have another name and nothing else that differs.
struct Names<'v>(Vec<(&'v str, &'v str)>);

impl<'v> Names<'v> {
    fn of(old: &'v Value, new: &'v Value) -> Self {
        let (old, new) = (list(&old["fields"]), list(&new["fields"]));
        let (old_names, new_names) = (names(old), names(new));
        let is_same_but_for_names = old.len() == new.len()
            && old.iter().zip(new).all(|(old, new)| {
                ["format", "order", "width", "hash_of"].iter().all(|part| old[*part] == new[*part])
            });
        // A name that the other has elsewhere has moved.
        let has_moved =
            |(old, new): &(&str, &str)| old != new && (new_names.contains(old) || old_names.contains(new));
        let pairs: Vec<_> = old_names.iter().copied().zip(new_names.iter().copied()).collect();
        match is_same_but_for_names && !pairs.iter().any(has_moved) {
            true => Self(pairs),
            false => Self(Vec::new()),
        }
    }

    /// The value of an older layout, with the names of the newer one.
    fn renamed(&self, old: &Value) -> Value {
        match old {
            Value::String(text) => {
                let name = self.0.iter().find(|(old, _)| old == text);
                Value::String(name.map_or(text.as_str(), |(_, new)| *new).to_owned())
            }
            Value::Array(values) => values.iter().map(|value| self.renamed(value)).collect(),
            Value::Object(parts) => {
                Value::Object(parts.iter().map(|(name, part)| (name.clone(), self.renamed(part))).collect())
            }
            other => other.clone(),
        }
    }
}

fn salt_changes(old: &Value, new: &Value, names: &Names<'_>, is_text: bool) -> Vec<KeyChange> {
    if old.is_null() != new.is_null() {
        return vec![KeyChange {
            part: "the salt".to_owned(),
            old: shown_salt(old),
            new: shown_salt(new),
            effect: KeyEffect::EVERY_KEY,
        }];
    }
    let range =
        differs("the range of the salt", &old["range"], &new["range"], range_effect(old, new, is_text));
    let parts = [
        ("hash", "the hash of the salt"),
        ("place", "the place of the salt"),
        ("sep", "the text after the salt"),
        ("over", "the list of the salt's fields"),
    ];
    let others = parts.into_iter().filter_map(|(part, words)| {
        let is_of_names = matches!(part, "place" | "over");
        let old = if is_of_names { names.renamed(&old[part]) } else { old[part].clone() };
        differs(words, &old, &new[part], KeyEffect::EVERY_KEY)
    });
    range.into_iter().chain(others).collect()
}

/// How many keys have another bucket, if hashes are spread evenly: of lcm(a, b) hashes, min(a, b) keep their remainder.
fn range_effect(old: &Value, new: &Value, is_text: bool) -> KeyEffect {
    let (Some(a), Some(b)) = (old["range"].as_u64(), new["range"].as_u64()) else {
        return KeyEffect::EVERY_KEY;
    };
    let digits = |range: u64| range.saturating_sub(1).max(1).ilog10();
    let has_same_width = !is_text || old["hash"] == "java" || digits(a) == digits(b);
    if a == 0 || b == 0 || !has_same_width {
        return KeyEffect::EVERY_KEY;
    }
    let Some(all) = (a / gcd(a, b)).checked_mul(b) else { return KeyEffect::EVERY_KEY };
    let same = a.min(b);
    let shared = gcd(all, same);
    KeyEffect::OtherKeys { rows: (all - same) / shared, of: all / shared }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Layouts of releases without epochs have no list of them.
fn epoch_changes(old: &Value, new: &Value, names: &Names<'_>, is_text: bool) -> Vec<KeyChange> {
    let (old, new) = (list(old), list(new));
    let mut found = Vec::new();
    for (old, new) in old.iter().zip(new) {
        let field = names.renamed(&old["field"]);
        found.extend(differs("the field of the bounds", &field, &new["field"], KeyEffect::EVERY_KEY));
        found.extend(differs("a bound", &old["since"], &new["since"], KeyEffect::EVERY_KEY));
        found.extend(salt_changes(&old["salt"], &new["salt"], names, is_text));
    }
    if old.len() != new.len() {
        let effect = if new.len() > old.len() { KeyEffect::LaterSalt } else { KeyEffect::EVERY_KEY };
        let part = BOUNDS.to_owned();
        found.push(KeyChange { part, old: old.len().to_string(), new: new.len().to_string(), effect });
    }
    found
}

fn field_changes(old: &Value, new: &Value, names: &Names<'_>) -> Vec<KeyChange> {
    let (old, new) = (list(&old["fields"]), list(&new["fields"]));
    let mut found = Vec::new();
    if names.0.is_empty() && self::names(old) != self::names(new) {
        let shown = |fields| listed(self::names(fields).iter().map(|name| format!("`{name}`")), ", ");
        let (part, effect) = ("the list of the fields".to_owned(), KeyEffect::EVERY_KEY);
        return vec![KeyChange { part, old: shown(old), new: shown(new), effect }];
    }
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        let name = old["name"].as_str().unwrap_or("?");
        let remedy = format!("`#[row_key(name = \"{name}\")]`");
        let words = format!("the name of field {}", at + 1);
        found.extend(differs(&words, &old["name"], &new["name"], KeyEffect::OtherName { remedy }));
        for part in ["format", "order", "width", "hash_of"] {
            let words = match part {
                "hash_of" => format!("what is hashed of the field `{name}`"),
                part => format!("the {part} of the field `{name}`"),
            };
            found.extend(differs(&words, &old[part], &new[part], KeyEffect::EVERY_KEY));
        }
        let effect = values_effect(&old["values"], &new["values"]);
        let words = format!("the values of the field `{name}`");
        found.extend(differs(&words, &old["values"], &new["values"], effect));
    }
    found
}

/// What other values of a field, with the same format, width and order, mean for stored keys.
fn values_effect(old: &Value, new: &Value) -> KeyEffect {
    let effect = |lacks_some, has_more| KeyEffect::OtherValues { lacks_some, has_more };
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<i128>().ok());
    let limits = |value: &Value| {
        let integer = value.get("integer")?;
        Some((number(&integer["min"])?, integer["max"].as_str()?.parse::<u128>().ok()?))
    };
    if let (Some((old_min, old_max)), Some((new_min, new_max))) = (limits(old), limits(new)) {
        return effect(new_min > old_min || new_max < old_max, new_min < old_min || new_max > old_max);
    }
    if let (Some(old), Some(new)) = (old.get("codes"), new.get("codes")) {
        let has = |codes: &Value, code: &Value| list(codes).iter().any(|other| other["code"] == code["code"]);
        let has_moved = |code: &Value| {
            list(new).iter().any(|other| other["name"] == code["name"] && other["code"] != code["code"])
        };
        if list(old).iter().any(has_moved) {
            return KeyEffect::OtherVariants;
        }
        return effect(
            list(old).iter().any(|code| !has(new, code)),
            list(new).iter().any(|code| !has(old, code)),
        );
    }
    if let (Some(old), Some(new)) = (old.get("uuid"), new.get("uuid")) {
        return effect(!new["version"].is_null(), !old["version"].is_null());
    }
    // No format of times has other values.
    if old.get("time").is_some() {
        return effect(false, false);
    }
    effect(true, true)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn names(fields: &[Value]) -> Vec<&str> {
    fields.iter().map(|field| field["name"].as_str().unwrap_or("?")).collect()
}

fn differs(words: &str, old: &Value, new: &Value, effect: KeyEffect) -> Option<KeyChange> {
    let is_same = old == new;
    (!is_same).then(|| KeyChange { part: words.to_owned(), old: shown(old), new: shown(new), effect })
}

fn shown_salt(salt: &Value) -> String {
    match salt {
        Value::Null => "none".to_owned(),
        salt => format!("one of range {} over {}", shown(&salt["range"]), shown(&salt["over"])),
    }
}

fn listed(values: impl Iterator<Item = String>, between: &str) -> String {
    values.collect::<Vec<_>>().join(between)
}

/// A part of a layout without the marks of JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("`{text}`"),
        Value::Array(values) => listed(values.iter().map(shown), ", "),
        Value::Object(parts) => match parts.iter().next() {
            Some((name, Value::Array(bounds))) if name == "between" => {
                format!("{} bytes", listed(bounds.iter().map(shown), " to "))
            }
            Some((name, bytes)) if name == "fixed" && *bytes == 1 => "1 byte".to_owned(),
            Some((name, bytes)) if name == "fixed" => format!("{bytes} bytes"),
            Some((name, bound)) if name == "reversed_from" => {
                format!("reversed from {}", shown(&bound["max"]))
            }
            Some((name, limits)) if name == "integer" => {
                let limit = |part| limits[part].as_str().unwrap_or("?");
                format!("integers from {} to {}", limit("min"), limit("max"))
            }
            Some((name, codes)) if name == "codes" => {
                let variant = |code: &Value| {
                    format!(
                        "{} = {}",
                        code["name"].as_str().unwrap_or("?"),
                        code["code"].as_str().unwrap_or("?")
                    )
                };
                format!("the codes {}", listed(list(codes).iter().map(variant), ", "))
            }
            Some((name, time)) if name == "time" => match &time["exact"] {
                Value::Bool(true) => "times that the unit can hold".to_owned(),
                _ => "times, rounded down".to_owned(),
            },
            Some((name, uuid)) if name == "uuid" => match &uuid["version"] {
                Value::Null => "UUIDs".to_owned(),
                version => format!("UUIDs of version {version}"),
            },
            Some(_) if parts.contains_key("format") => shown(&parts["format"]),
            Some((name, part)) => format!("{} {}", name.replace('_', " "), shown(part)),
            None => "none".to_owned(),
        },
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
