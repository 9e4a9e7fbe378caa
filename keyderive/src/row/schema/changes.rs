//! How a row type has changed since its schema was kept, and what that means for stored rows and older programs.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::stored::StoredType;
use super::{ColumnKind, FieldSchema, RowSchema};

impl RowSchema {
    /// The schema as JSON, to be kept beside the tests and compared by [`changes_from`](Self::changes_from).
    #[must_use]
    pub fn to_json(&self) -> String {
        // Names and numbers always have a form in JSON.
        serde_json::to_string_pretty(&KeptSchema::of(self)).unwrap_or_default()
    }

    /// How this row type differs from one whose schema was kept as JSON.
    ///
    /// ```
    /// use keyderive::Row;
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: String,
    ///     amount: i32,
    /// }
    ///
    /// let kept = Event::SCHEMA.to_json(); // write it to a file, which later versions `include_str!`
    ///
    /// mod later {
    ///     #[derive(keyderive::Row)]
    ///     pub struct Event {
    ///         kind: String,
    ///         amount: i64,
    ///         note: Option<String>,
    ///         user: String,
    ///     }
    /// }
    ///
    /// let changes = later::Event::SCHEMA.changes_from(&kept)?;
    /// assert!(!changes.are_compatible());
    /// let faults: Vec<_> = changes.iter().filter(|change| !change.is_compatible()).map(ToString::to_string).collect();
    /// assert_eq!(faults, ["`cf:user` is required, and older rows lack it; make the field an `Option` or give it `#[row(default)]`"]);
    /// # Ok::<(), keyderive::row::SchemaError>(())
    /// ```
    ///
    /// | change | stored rows | programs with the older row type |
    /// |---|---|---|
    /// | a new column that is optional, has a default, or is a counter, `Versions` or an aggregate; a new family | can be read | read and write as before |
    /// | a new required column; a column becomes required | cannot be read | read and write as before |
    /// | an optional column is dropped | can be read | read and write as before |
    /// | a required column is dropped, or becomes optional | can be read | cannot read rows without it |
    /// | a new name, with the former as `alias` | can be read | do not find new values; cannot read new rows if it was required |
    /// | a type that reads all former values: a wider integer, more variants, text for an enum, bytes for text | can be read | cannot read all new values |
    /// | any other type or encoding | cannot be read | cannot read new rows |
    ///
    /// It compares neither what is inside JSON and messages, nor encodings by `with`.
    ///
    /// # Errors
    /// If the text is not a schema that [`to_json`](Self::to_json) has made.
    pub fn changes_from(&self, kept: &str) -> Result<SchemaChanges, SchemaError> {
        let old: KeptSchema = serde_json::from_str(kept).map_err(SchemaError)?;
        Ok(SchemaChanges(KeptSchema::of(self).changes_from(&old)))
    }

    /// Where another row type stores a column in a way that this one's values do not fit; `own` is the family of a map.
    pub(crate) fn conflict_with(&self, other: &Self, own: &str) -> Option<String> {
        if std::ptr::eq(self, other) {
            return None;
        }
        let (ours, theirs) = (KeptSchema::of(self), KeptSchema::of(other));
        theirs.columns.iter().find_map(|column| {
            let family = if column.family.is_empty() { own } else { &*column.family };
            let stored = ours.columns.iter().find(|known| {
                let of = if known.family.is_empty() { own } else { &*known.family };
                of == family && (known.name == column.name || known.name.is_none() || column.name.is_none())
            })?;
            if column.reads(stored) {
                return None;
            }
            Some(format!(
                "the column `{family}:{}` is stored as {} by `{}`, and as {} by `{}`; give both fields the same type",
                column.name.as_deref().or(stored.name.as_deref()).unwrap_or("…"),
                stored.shown(),
                self.name,
                column.shown(),
                other.name,
            ))
        })
    }
}

/// The differences between a row type and a former one, from [`RowSchema::changes_from`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChanges(Vec<SchemaChange>);

impl SchemaChanges {
    /// The changes, one for each column that differs.
    pub fn iter(&self) -> impl Iterator<Item = &SchemaChange> {
        self.0.iter()
    }

    /// Whether this row type can read all rows that the former type wrote. It says nothing about older programs.
    #[must_use]
    pub fn are_compatible(&self) -> bool {
        self.iter().all(SchemaChange::is_compatible)
    }
}

/// One change to a line.
impl fmt::Display for SchemaChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}

/// One difference between a row type and a former one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    text: String,
    is_compatible: bool,
    breaks_older_programs: bool,
}

impl SchemaChange {
    /// Whether rows of the former type are read.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.is_compatible
    }

    /// Whether programs with the former type cannot read rows of this one, or not see their values.
    #[must_use]
    pub fn breaks_older_programs(&self) -> bool {
        self.breaks_older_programs
    }
}

/// The change, and the remedy if there is one.
impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The error of a text that is not a kept schema.
#[derive(Debug)]
pub struct SchemaError(serde_json::Error);

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is not the JSON of a row's schema, as `SCHEMA.to_json()` makes it: {}", self.0)
    }
}

impl Error for SchemaError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// A schema that owns its names.
#[derive(Debug, Serialize, Deserialize)]
struct KeptSchema {
    row: String,
    columns: Vec<KeptColumn>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptColumn {
    family: String,
    /// None for any column of a map.
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    /// The names of the columns of a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<StoredType>,
    stored: StoredType,
    kind: KeptKind,
    /// Whether a row without it is not read.
    required: bool,
    /// The width of the windows of an aggregate.
    #[serde(default, skip_serializing_if = "is_zero")]
    window_micros: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Who writes a column's cells. A value with its timestamp, one of several versions, and a counter are stored alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptKind {
    Value,
    Versions,
    Counter,
    Sum,
    Min,
    Max,
}

impl From<ColumnKind> for KeptKind {
    fn from(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Value | ColumnKind::Timestamped => Self::Value,
            ColumnKind::Versions => Self::Versions,
            ColumnKind::Counter => Self::Counter,
            ColumnKind::Sum | ColumnKind::SumVersions => Self::Sum,
            ColumnKind::Min | ColumnKind::MinVersions => Self::Min,
            ColumnKind::Max | ColumnKind::MaxVersions => Self::Max,
        }
    }
}

impl KeptKind {
    /// The aggregate that the server keeps; none if programs set the values.
    fn aggregate(self) -> Option<Self> {
        matches!(self, Self::Sum | Self::Min | Self::Max).then_some(self)
    }
}

impl KeptSchema {
    fn of(schema: &RowSchema) -> Self {
        let columns = schema.fields.iter().flat_map(|field| {
            let is_optional = matches!(field, FieldSchema::Struct { is_optional: true, .. });
            let columns = field.columns().iter().map(move |column| KeptColumn {
                family: field.family().to_owned(),
                name: Some(column.name.to_owned()),
                aliases: aliases(field, column),
                key: None,
                stored: column.stored.into(),
                kind: column.kind.into(),
                required: column.is_required && !is_optional,
                window_micros: column.window_micros,
            });
            let map = match field {
                FieldSchema::Map { family, key, stored, kind } => Some(KeptColumn {
                    family: (*family).to_owned(),
                    name: None,
                    aliases: Vec::new(),
                    key: Some((*key).into()),
                    stored: (*stored).into(),
                    kind: (*kind).into(),
                    required: false,
                    window_micros: 0,
                }),
                FieldSchema::Column { .. } | FieldSchema::Struct { .. } => None,
            };
            columns.chain(map)
        });
        Self { row: schema.name.to_owned(), columns: columns.collect() }
    }

    fn changes_from(&self, old: &Self) -> Vec<SchemaChange> {
        let mut changes = Vec::new();
        let mut dropped: Vec<&KeptColumn> = old.columns.iter().collect();
        let mut added: Vec<&KeptColumn> = Vec::new();
        for new in &self.columns {
            let place = dropped.iter().position(|old| old.place() == new.place());
            let former = || dropped.iter().position(|old| new.aliases.contains(&old.place()));
            match place.or_else(former) {
                Some(at) => changes.extend(new.change_from(dropped.remove(at))),
                None => added.push(new),
            }
        }
        for new in added {
            let of_other_shape = old.columns.iter().filter(|old| old.is_in_map_of(new));
            if let Some(change) = of_other_shape
                .filter_map(|old| new.change_of_shape(old))
                .min_by_key(|change| change.is_compatible)
            {
                dropped.retain(|old| !old.is_in_map_of(new));
                changes.push(change);
                continue;
            }
            let is_renamed = |old: &&KeptColumn| old.stored == new.stored && old.kind == new.kind;
            let renamed = dropped.iter().position(is_renamed).filter(|_| dropped.len() == 1);
            let renamed = renamed.map(|at| dropped.remove(at));
            changes.push(new.addition(renamed));
        }
        changes.extend(dropped.into_iter().map(KeptColumn::removal));
        changes
    }
}

/// The former places of a column.
fn aliases(field: &FieldSchema, column: &super::ColumnSchema) -> Vec<String> {
    let place = |alias: &super::Alias| format!("{}:{}", alias.family.unwrap_or(field.family()), alias.name);
    column.aliases().map(place).collect()
}

impl KeptColumn {
    /// `family:name`, and `family:` for any column of a map.
    fn place(&self) -> String {
        format!("{}:{}", self.family, self.name.as_deref().unwrap_or_default())
    }

    fn reads(&self, other: &Self) -> bool {
        self.kind.aggregate() == other.kind.aggregate()
            && self.window_micros == other.window_micros
            && self.stored.reads(&other.stored)
            && self.reads_names_of(other)
    }

    /// Whether a map reads the names of another one, or of a column that the other type names.
    fn reads_names_of(&self, other: &Self) -> bool {
        match (&self.key, &other.key) {
            (Some(key), Some(other)) => key.reads(other),
            (Some(StoredType::Text | StoredType::Bytes), None) => true,
            (Some(StoredType::Enum(names)), None) => {
                other.name.as_ref().is_some_and(|name| names.contains(name))
            }
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Whether one of the two is a map with the family of the other, so that both have a column in common.
    fn is_in_map_of(&self, other: &Self) -> bool {
        self.family == other.family && self.name.is_none() != other.name.is_none()
    }

    /// What the column holds, for a text that compares two.
    fn shown(&self) -> String {
        let value = match self.kind.aggregate() {
            Some(kind) if self.window_micros == 0 => format!("{kind:?}").to_lowercase(),
            Some(kind) => {
                let window = Duration::from_micros(self.window_micros.unsigned_abs());
                format!("{kind:?} in windows of {window:?}").to_lowercase()
            }
            None => self.stored.to_string(),
        };
        match &self.key {
            Some(key) if *key != StoredType::Text => format!("{value}, named by {key},"),
            _ => value,
        }
    }

    /// The change if a map became columns, or the reverse, and one does not read all values of the other.
    fn change_of_shape(&self, old: &Self) -> Option<SchemaChange> {
        let (place, former) = (self.place(), old.place());
        let is_compatible = self.reads(old);
        if is_compatible && old.reads(self) {
            return None;
        }
        let effect = match is_compatible {
            true => "older programs cannot read all new values",
            false => "older values are not read so; give the map another family, and copy the values",
        };
        let (was, is) = (old.shown(), self.shown());
        let text = format!("`{former}` was {was} and `{place}` is {is}; {effect}");
        Some(SchemaChange { text, is_compatible, breaks_older_programs: true })
    }

    fn change_from(&self, old: &Self) -> Option<SchemaChange> {
        let (place, former) = (self.place(), old.place());
        let (is_compatible, breaks_older_programs, text) = if !self.reads(old) {
            let text = format!(
                "`{place}` was {} and is {}, and older values are not read so; add a column of another name, and copy the values",
                old.shown(),
                self.shown()
            );
            (false, true, text)
        } else if self.required && !old.required {
            let text = format!(
                "`{place}` is required, and older rows can lack it; make the field an `Option` or give it `#[row(default)]`"
            );
            (false, false, text)
        } else if place != former {
            let text = format!("`{place}` was `{former}`; older programs do not see what is written to it");
            (true, true, text)
        } else if !old.reads(self) {
            let text = format!(
                "`{place}` was {} and is {}; older programs cannot read all new values",
                old.shown(),
                self.shown()
            );
            (true, true, text)
        } else if old.required && !self.required {
            (true, true, format!("`{place}` can be absent; older programs cannot read rows without it"))
        } else if self.kind != old.kind && old.kind == KeptKind::Versions {
            (true, true, format!("`{place}` keeps one version; `put` of new programs deletes the others"))
        } else {
            return None;
        };
        Some(SchemaChange { text, is_compatible, breaks_older_programs })
    }

    fn addition(&self, renamed: Option<&Self>) -> SchemaChange {
        let place = self.place();
        let (is_compatible, text) = match (renamed, self.required) {
            (Some(old), _) => {
                let former = old.place();
                let alias = if old.family == self.family { old.name.as_deref() } else { Some(&*former) };
                let alias = alias.unwrap_or(&old.family);
                let text = format!(
                    "`{former}` is dropped and `{place}` added, of the same type; if this is a new name, write `#[row(alias = \
                     \"{alias}\")]`, so that older values are read"
                );
                (!self.required, text)
            }
            (None, true) => (
                false,
                format!(
                    "`{place}` is required, and older rows lack it; make the field an `Option` or give it `#[row(default)]`"
                ),
            ),
            (None, false) => (true, format!("`{place}` is new")),
        };
        let breaks_older_programs = renamed.is_some_and(|old| old.required);
        SchemaChange { text, is_compatible, breaks_older_programs }
    }

    fn removal(&self) -> SchemaChange {
        let place = self.place();
        let text = match self.required {
            true => format!("`{place}` is dropped; older programs cannot read rows without it"),
            false => format!("`{place}` is dropped"),
        };
        SchemaChange { text, is_compatible: true, breaks_older_programs: self.required }
    }
}
