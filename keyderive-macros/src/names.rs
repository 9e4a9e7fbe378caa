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
    "rekeyed_from",
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
    "was",
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
    keyderive_layout::nearest(wrong, names)
}

pub(crate) use keyderive_layout::list;
