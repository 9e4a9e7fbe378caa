//! The names of the options, and suggestions for misspelled ones.

/// The options that may also be bare attributes, outside `#[row_key(…)]`.
pub(crate) const BARE: &[&str] = &["salt", "pad", "reverse_ts"];
/// The options of `#[row_key(…)]` on the struct.
pub(crate) const ON_STRUCT: &[&str] = &[
    "salt",
    "tag",
    "delimiter",
    "crate",
    "allow",
    "layout",
    "fingerprint",
    "display",
    "foreign",
    "trait_methods",
    "no_implicit_prelude",
];
/// The options of `#[row_key(…)]` on a field.
pub(crate) const ON_FIELD: &[&str] = &[
    "pad",
    "reverse_ts",
    "sequential",
    "desc",
    "bit_reverse",
    "escape",
    "hash",
    "name",
    "method",
    "with",
    "ts",
    "uuid",
];
/// The options of `#[row_key(…)]` on a type that derives `KeyField`.
pub(crate) const ON_FIELD_TYPE: &[&str] = &["crate"];
/// The options of `#[row(…)]` on a type that derives `Cell`.
pub(crate) const ON_CELL: &[&str] = &["code", "crate"];
/// The options of `#[row(…)]` on a variant of such a type.
pub(crate) const ON_VARIANT: &[&str] = &["name"];
/// The options of `#[row(…)]` on a struct that derives `Row`.
pub(crate) const ON_ROW: &[&str] = &["family", "gc", "ttl", "exclusive", "fingerprint", "crate"];
/// The options of `#[row(…)]` on a field of such a struct.
pub(crate) const ON_ROW_FIELD: &[&str] = &[
    "name",
    "alias",
    "family",
    "default",
    "counter",
    "json",
    "proto",
    "ts",
    "with",
    "window",
    "gc",
    "ttl",
    "exclusive",
    "constant",
];
/// The options of `#[query(…)]` on a struct that derives `FromQueryRow`.
pub(crate) const ON_QUERY_ROW: &[&str] = &["crate"];
/// The options of `#[query(…)]` on a field of such a struct.
pub(crate) const ON_QUERY_FIELD: &[&str] = &["name"];
/// The options of `gc(…)`.
pub(crate) const IN_GC: &[&str] = &["max_age", "max_versions", "all", "never"];
/// The options of `gc(all(…))`.
pub(crate) const IN_GC_ALL: &[&str] = &["max_age", "max_versions"];
/// The options of `ts(…)` on a field of a row.
pub(crate) const IN_ROW_TS: &[&str] = &["unit"];
/// The names in `allow(…)`.
pub(crate) const IN_ALLOW: &[&str] = &["hotspot", "point_reads", "few_buckets"];
/// The options of `#[salt(…)]`.
pub(crate) const IN_SALT: &[&str] = &["range", "over", "sep", "after", "position", "hash", "since"];
/// The options of `ts(…)`.
pub(crate) const IN_TS: &[&str] = &["unit", "exact", "format"];
/// The units of `ts(unit = "…")`.
pub(crate) const UNITS: &[&str] = &["secs", "millis", "micros", "nanos"];
/// The options of `uuid(…)`.
pub(crate) const IN_UUID: &[&str] = &["simple", "v4"];

/// Names that users of other libraries may try, with the name here.
const SYNONYMS: &[(&str, &str)] =
    &[("buckets", "range"), ("column", "name"), ("rename", "name"), ("descending", "desc")];

/// The remedy for a name that is not one of `names`: its synonym, the nearest name, or all names.
pub(crate) fn suggestion<'n>(wrong: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == wrong).map(|(_, name)| *name);
    if let Some(name) = synonym.filter(|synonym| names.clone().any(|name| name == *synonym)) {
        return format!("did you mean `{name}`?");
    }
    let nearest = names.clone().map(|name| (distance(wrong, name), name)).min();
    match nearest {
        Some((distance, name)) if distance <= 1 + name.len() / 4 => format!("did you mean `{name}`?"),
        _ => format!("expected {}", list(names)),
    }
}

/// Joins names as `a`, `b` or `c`.
pub(crate) fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".into(),
    }
}

/// The edit distance between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (to, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(row[to] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("delimter", "delimiter"), 1);
        assert_eq!(distance("", "tag"), 3);
        assert_eq!(distance("tag", "tag"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn suggestions_name_the_nearest_or_all() {
        assert_eq!(suggestion("delimter", ON_STRUCT.iter().copied()), "did you mean `delimiter`?");
        assert_eq!(suggestion("buckets", IN_SALT.iter().copied()), "did you mean `range`?");
        assert_eq!(suggestion("rnage", IN_SALT.iter().copied()), "did you mean `range`?");
        assert_eq!(
            suggestion("frobnicate", ON_STRUCT.iter().copied()),
            "expected `salt`, `tag`, `delimiter`, `crate`, `allow`, `layout`, `fingerprint`, `display`, `foreign`, \
             `trait_methods` or `no_implicit_prelude`"
        );
    }
}
