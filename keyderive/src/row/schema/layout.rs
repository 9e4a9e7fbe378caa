//! A row type as data that owns its names: what `to_json` writes and is read back, and all that reading and writing rows needs.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use keyderive_layout::row_rules::{GcLayout, KindLayout, PlaceLayout, RuleLayout};
use serde::{Deserialize, Serialize};

use super::stored::StoredType;
use super::{Alias, ColumnKind, ColumnSchema, DeclaredGc, FamilyRule, FieldSchema, RowSchema};
use crate::intern::TooManyLayouts;

impl RowSchema {
    /// The version of the JSON that [`to_json`](Self::to_json) writes.
    pub const JSON_VERSION: u32 = 1;

    /// The schema as JSON: all that a program needs to read and write the rows. Save it beside the tests, and compare later types with
    /// it by [`changes_from`](Self::changes_from).
    ///
    /// ```
    /// use keyderive::Row;
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: String,
    /// }
    ///
    /// assert!(Event::SCHEMA.to_json().contains(r#""name": "kind""#));
    /// ```
    ///
    /// The schema of that type is
    ///
    /// ```json
    /// {
    ///   "version": 1,
    ///   "row": "Event",
    ///   "fingerprint": "…",
    ///   "family": "cf",
    ///   "fields": [
    ///     {
    ///       "column": {
    ///         "family": "cf",
    ///         "column": { "name": "kind", "aliases": [], "stored": "text", "kind": "value", "absent": "error" }
    ///       }
    ///     }
    ///   ],
    ///   "rules": []
    /// }
    /// ```
    ///
    /// The whole:
    ///
    /// | name | value |
    /// |---|---|
    /// | `version` | [`JSON_VERSION`](Self::JSON_VERSION) |
    /// | `row` | the name of the type |
    /// | `fingerprint` | the [`fingerprint`](Self::fingerprint) |
    /// | `family` | the family of the row's own columns, which has the marker of an empty row; `null` for a map, whose family its table names |
    /// | `fields` | for each field an object with one name: `column`, `struct` or `map` |
    /// | `rules` | for each family with a rule, an object as in the last table |
    ///
    /// Each of `fields`:
    ///
    /// | name | value |
    /// |---|---|
    /// | `column` | `family`, and `column`, an object as in the next table |
    /// | `struct` | `family`; `optional`, whether it is absent where the family has none of its columns, former names and the marker; `columns`, an object each as in the next table |
    /// | `map` | `family`; `optional`; `key`, how the names of its columns are stored; `stored` and `kind` of each column |
    ///
    /// Each column:
    ///
    /// | name | value |
    /// |---|---|
    /// | `name` | the qualifier |
    /// | `aliases` | the former places that are read where the column is absent, in order, each with `family` and `name` |
    /// | `stored` | a [`CellType`](crate::row::CellType) in snake case: `"text"`, `{"integer": {"min": "0", "max": "255"}}`, whose numbers are text |
    /// | `kind` | a [`ColumnKind`](crate::row::ColumnKind) in snake case; aggregates in windows have `window_micros`, 0 for windows of any width |
    /// | `absent` | what an absent column is: `"error"`, `"none"`, which is no version for `Versions`, or `"default"`, which is 0 for counters and sums |
    ///
    /// Each of `rules`:
    ///
    /// | name | value |
    /// |---|---|
    /// | `family`, `exclusive` | the family, and whether `put` empties it first |
    /// | `gc` | the declared garbage collection: `null`, `"never"`, or `{"any": …}` or `{"all": …}` of `max_age_secs` and `max_versions` |
    /// | `ttl_secs` | older cells are not read; `null` if all are |
    ///
    /// All names are always present. Whatever a release adds or changes raises the version, since a reader that does not know it
    /// could read stored values wrong; so a reader refuses names that it does not know.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Names and numbers always have a form in JSON.
        serde_json::to_string_pretty(&RowLayout::of(self)).unwrap_or_default()
    }

    /// The schema as JSON without the name of the Rust type, with the family that a table names for a row that is a map: the same for
    /// all row types that are stored alike.
    pub(crate) fn layout_json(&self, map_family: &str) -> String {
        let mut layout = RowLayout { row: String::new(), ..RowLayout::of(self) };
        layout.family.get_or_insert_with(|| map_family.to_owned());
        for field in &mut layout.fields {
            if let FieldLayout::Map { family, .. } = field {
                family.get_or_insert_with(|| map_family.to_owned());
            }
        }
        // Names and numbers always have a form in JSON.
        serde_json::to_string(&layout).unwrap_or_default()
    }
}

/// A row type that owns its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowLayout {
    pub(super) version: u32,
    pub(super) row: String,
    pub(super) fingerprint: String,
    pub(super) family: Option<String>,
    pub(super) fields: Vec<FieldLayout>,
    pub(super) rules: Vec<RuleLayout>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FieldLayout {
    Column {
        family: String,
        column: ColumnLayout,
    },
    Struct {
        family: String,
        optional: bool,
        columns: Vec<ColumnLayout>,
    },
    /// A map whose family its table names has none.
    Map {
        family: Option<String>,
        optional: bool,
        key: StoredType,
        stored: StoredType,
        kind: KindLayout,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnLayout {
    pub(super) name: String,
    pub(super) aliases: Vec<PlaceLayout>,
    pub(super) stored: StoredType,
    pub(super) kind: KindLayout,
    pub(super) absent: Absent,
}

/// What an absent column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Absent {
    Error,
    None,
    Default,
}

impl RowLayout {
    pub(super) fn of(schema: &RowSchema) -> Self {
        Self {
            version: RowSchema::JSON_VERSION,
            row: schema.name.to_owned(),
            fingerprint: schema.fingerprint().to_string(),
            family: schema.own_family().map(str::to_owned),
            fields: schema.fields.iter().map(FieldLayout::of).collect(),
            rules: schema.rules.iter().map(rule_layout).collect(),
        }
    }

    pub(super) fn from_json(json: &str) -> Result<Self, SchemaError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: Option<u32>,
        }
        if json.len() > MAX_JSON_LEN {
            return Err(SchemaError(LayoutFault::TooLong(json.len())));
        }
        let malformed = |error| SchemaError(LayoutFault::Malformed(error));
        match serde_json::from_str::<Versioned>(json).map_err(malformed)?.version {
            Some(RowSchema::JSON_VERSION) => serde_json::from_str(json).map_err(malformed),
            version => Err(SchemaError(LayoutFault::Version(version))),
        }
    }
}

impl FieldLayout {
    fn of(field: &FieldSchema) -> Self {
        let family = field.family().to_owned();
        let column = |column: &ColumnSchema| ColumnLayout::of(&family, column);
        match field {
            FieldSchema::Column { column: [one], .. } => Self::Column { column: column(one), family },
            FieldSchema::Struct { columns, is_optional, .. } => {
                Self::Struct { optional: *is_optional, columns: columns.iter().map(column).collect(), family }
            }
            FieldSchema::Map { key, stored, kind, is_optional, .. } => Self::Map {
                family: Some(family).filter(|family| !family.is_empty()),
                optional: *is_optional,
                key: (*key).into(),
                stored: (*stored).into(),
                kind: kind_layout(*kind, 0),
            },
        }
    }
}

impl ColumnLayout {
    fn of(family: &str, column: &ColumnSchema) -> Self {
        let place = |alias: &Alias| PlaceLayout {
            family: alias.family.unwrap_or(family).to_owned(),
            name: alias.name.to_owned(),
        };
        let absent = match column.kind {
            _ if column.is_required => Absent::Error,
            ColumnKind::Counter | ColumnKind::Sum => Absent::Default,
            _ if column.has_default => Absent::Default,
            _ => Absent::None,
        };
        Self {
            name: column.name.to_owned(),
            aliases: column.aliases().map(place).collect(),
            stored: column.stored.into(),
            kind: kind_layout(column.kind, column.window_micros),
            absent,
        }
    }
}

fn kind_layout(kind: ColumnKind, window_micros: i64) -> KindLayout {
    match kind {
        ColumnKind::Value => KindLayout::Value,
        ColumnKind::Timestamped => KindLayout::Timestamped,
        ColumnKind::Versions => KindLayout::Versions,
        ColumnKind::Counter => KindLayout::Counter,
        ColumnKind::Sum => KindLayout::Sum,
        ColumnKind::Min => KindLayout::Min,
        ColumnKind::Max => KindLayout::Max,
        ColumnKind::SumVersions => KindLayout::SumVersions { window_micros },
        ColumnKind::MinVersions => KindLayout::MinVersions { window_micros },
        ColumnKind::MaxVersions => KindLayout::MaxVersions { window_micros },
    }
}

fn rule_layout(rule: &FamilyRule) -> RuleLayout {
    let secs = |duration: Duration| duration.as_secs();
    let gc = rule.gc.map(|gc| match gc {
        DeclaredGc::Never => GcLayout::Never,
        DeclaredGc::Any { max_age, max_versions } => {
            GcLayout::Any { max_age_secs: max_age.map(secs), max_versions }
        }
        DeclaredGc::All { max_age, max_versions } => {
            GcLayout::All { max_age_secs: secs(max_age), max_versions }
        }
    });
    RuleLayout {
        family: rule.family.to_owned(),
        gc,
        ttl_secs: rule.ttl.map(secs),
        exclusive: rule.is_exclusive,
    }
}

/// How many bytes the JSON of a row's schema has at most.
const MAX_JSON_LEN: usize = 1 << 20;

/// How many faults an error lists.
const MAX_SHOWN: usize = 20;

/// The error of a text that is not a saved schema: with every rule that it breaks, and where.
#[derive(Debug)]
pub struct SchemaError(pub(super) LayoutFault);

#[derive(Debug)]
pub(super) enum LayoutFault {
    Malformed(serde_json::Error),
    /// Another version of the JSON, or none.
    Version(Option<u32>),
    /// Rules of the derive that it breaks, each with its place.
    Rules(Vec<String>),
    TooMany(TooManyLayouts),
    TooLong(usize),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ours = RowSchema::JSON_VERSION;
        match &self.0 {
            LayoutFault::Rules(faults) => {
                f.write_str("this is not the schema of a row type: ")?;
                match &faults[..] {
                    [fault] => f.write_str(fault),
                    faults => {
                        let shown = &faults[..faults.len().min(MAX_SHOWN)];
                        shown.iter().try_for_each(|fault| write!(f, "\n- {fault}"))?;
                        match faults.len() - shown.len() {
                            0 => Ok(()),
                            others => write!(f, "\n- and {others} more"),
                        }
                    }
                }
            }
            LayoutFault::TooMany(error) => error.fmt(f),
            LayoutFault::TooLong(len) => {
                write!(f, "the JSON has {len} bytes, and a row's schema has at most {MAX_JSON_LEN}")
            }
            LayoutFault::Malformed(error) => {
                write!(f, "this is not the JSON of a row's schema, as `SCHEMA.to_json()` makes it: {error}")
            }
            LayoutFault::Version(None) => {
                write!(
                    f,
                    "the JSON of a row's schema has a `version`, and this has none; make it again by `SCHEMA.to_json()` of the type \
                     that it was made of"
                )
            }
            LayoutFault::Version(Some(version)) if *version > ours => write!(
                f,
                "this schema is of version {version}, and this release of keyderive reads version {ours}; update keyderive to the \
                 release that wrote it"
            ),
            LayoutFault::Version(Some(version)) => write!(
                f,
                "this schema is of version {version}, which no release of keyderive wrote; this one reads version {ours}"
            ),
        }
    }
}

impl Error for SchemaError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            LayoutFault::Malformed(error) => Some(error),
            LayoutFault::Version(_) | LayoutFault::Rules(_) | LayoutFault::TooLong(_) => None,
            LayoutFault::TooMany(error) => Some(error),
        }
    }
}
