//! A row type as data: its families, its columns, and how long they are kept.

mod changes;
mod fingerprint;
mod from_json;
mod layout;
mod part;
mod stored;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::changes::{LayoutChange, LayoutChanges};
pub use self::layout::SchemaError;

use super::{CellType, Name};

/// The families and columns of a row type.
///
/// ```
/// use keyderive::Row;
///
/// #[derive(Row)]
/// struct Event {
///     kind: String,
///     note: Option<String>,
/// }
///
/// let columns: Vec<_> = Event::SCHEMA.columns().map(|(family, column)| (family, column.name())).collect();
/// assert_eq!(columns, [("cf", "kind"), ("cf", "note")]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSchema {
    name: &'static str,
    /// The family of the row's own columns; empty for a map, whose family its table knows.
    family: &'static str,
    fields: &'static [FieldSchema],
    rules: &'static [FamilyRule],
}

impl RowSchema {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(
        name: &'static str,
        family: &'static str,
        fields: &'static [FieldSchema],
        rules: &'static [FamilyRule],
    ) -> Self {
        Self { name, family, fields, rules }
    }

    /// The row type's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The families, each once, with the row's own first if it has columns there.
    ///
    /// A row type that is a map has one family, which [`Table::family`](crate::Table::family) names, and none here.
    pub fn families(&self) -> impl Iterator<Item = &'static str> {
        let mut seen: Vec<&str> = Vec::new();
        let own = Some(self.family).filter(|own| !own.is_empty());
        let names = own.into_iter().chain(self.fields.iter().flat_map(FieldSchema::families));
        names.filter(move |name| {
            let is_new = !seen.contains(name);
            seen.push(name);
            is_new
        })
    }

    /// The columns that have a name in the type, with their families. The columns of a map have none.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, &'static ColumnSchema)> {
        self.fields.iter().flat_map(|field| field.columns().iter().map(|column| (field.family(), column)))
    }

    /// The width of the windows in which a column has aggregates, in microseconds; 0 if it has none.
    pub(crate) fn window_micros(&self, Name { family, qualifier }: Name<'_>) -> i64 {
        let mut of_family = self.fields.iter().filter(|field| field.family() == family);
        let window = of_family.find_map(|field| {
            let mut columns = field.columns().iter();
            columns.find(|column| column.name.as_bytes() == qualifier).map(ColumnSchema::window_micros)
        });
        window.unwrap_or_default()
    }

    /// The columns of a family without which no row can be read.
    pub(crate) fn required_columns(&self, family: &str) -> impl Iterator<Item = &'static str> {
        let fields = self.fields.iter().filter(move |field| field.family() == family);
        let required = fields.filter(|field| !matches!(field, FieldSchema::Struct { is_optional: true, .. }));
        required.flat_map(FieldSchema::columns).filter(|column| column.is_required()).map(ColumnSchema::name)
    }

    /// The families that are maps.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().filter(|field| matches!(field, FieldSchema::Map { .. })).map(FieldSchema::family)
    }

    /// The family of this name, if it is a map, with how its keys and values are stored, and what its columns are.
    pub(crate) fn map_of(&self, name: &str) -> Option<(&'static str, CellType, CellType, ColumnKind)> {
        self.fields.iter().find_map(|field| match field {
            FieldSchema::Map { family, key, stored, kind, .. } if *family == name => {
                Some((*family, *key, *stored, *kind))
            }
            _ => None,
        })
    }

    /// How the cells of a column are stored, if the type has it. `own` is the family of a map.
    pub(crate) fn stored_type(&self, own: &str, Name { family, qualifier }: Name<'_>) -> Option<CellType> {
        self.fields.iter().find_map(|field| {
            let of_field = if field.family().is_empty() { own } else { field.family() };
            match field {
                FieldSchema::Map { stored, .. } => (of_field == family).then_some(*stored),
                _ => field.columns().iter().find_map(|column| {
                    let is_own = of_field == family && column.name.as_bytes() == qualifier;
                    let is_former = |alias: &Alias| {
                        alias.family.unwrap_or(of_field) == family && alias.name.as_bytes() == qualifier
                    };
                    (is_own || column.aliases().any(is_former)).then_some(column.stored)
                }),
            }
        })
    }

    /// The type's rules for how long cells are kept, one for each family that has any.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &'static FamilyRule> {
        self.rules.iter()
    }

    pub(crate) fn fields(&self) -> &'static [FieldSchema] {
        self.fields
    }

    /// All that the type reads of a row, in its order: each column, also of families that are structs, and each family that is a map.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use keyderive::Row;
    /// use keyderive::row::DeclaredColumn;
    ///
    /// #[derive(Row)]
    /// struct Sensor {
    ///     name: String,
    ///     #[row(family)]
    ///     daily: BTreeMap<String, f64>,
    /// }
    ///
    /// let columns = Sensor::SCHEMA.declared_columns().map(|declared| match declared {
    ///     DeclaredColumn::Column { family, column, .. } => format!("{family}:{}", column.name()),
    ///     DeclaredColumn::Map { family, .. } => format!("{family}:*"),
    ///     _ => String::new(),
    /// });
    /// assert_eq!(columns.collect::<Vec<_>>(), ["cf:name", "daily:*"]);
    /// ```
    ///
    /// A reader by data names columns by their indices here: [`Scan::cursor`](crate::Scan::cursor).
    pub fn declared_columns(&self) -> impl Iterator<Item = DeclaredColumn> + use<> {
        self.fields.iter().flat_map(|field| {
            let map = match *field {
                FieldSchema::Map { family, key, stored, kind, is_optional } => {
                    Some(DeclaredColumn::Map { family, key, stored, kind, is_optional })
                }
                _ => None,
            };
            let (family, in_optional_family) = (field.family(), field.is_optional());
            let columns = field.columns().iter();
            let columns =
                columns.map(move |column| DeclaredColumn::Column { family, column, in_optional_family });
            columns.chain(map)
        })
    }

    /// The family of the row's own columns; none for a map.
    pub(crate) fn own_family(&self) -> Option<&'static str> {
        Some(self.family).filter(|family| !family.is_empty())
    }

    /// The struct or map that is a family.
    pub(crate) fn field_of(&self, family: &str) -> Option<&'static FieldSchema> {
        self.fields
            .iter()
            .find(|field| !matches!(field, FieldSchema::Column { .. }) && field.family() == family)
    }

    /// The type's rule for how long a family's cells are kept.
    pub(crate) fn rule(&self, family: &str) -> Option<&'static FamilyRule> {
        self.rules.iter().find(|rule| rule.family == family)
    }

    /// Whether a field reads every version of a column in this family; `None` stands for the family of a map.
    pub(crate) fn has_versions(&self, family: Option<&str>) -> bool {
        self.fields.iter().any(|field| {
            let is_of = family.is_none_or(|family| field.families().any(|name| name == family));
            is_of && field.kinds().any(ColumnKind::reads_versions)
        })
    }

    /// Whether it has sums, of all time or in windows.
    pub(crate) fn has_sums(&self) -> bool {
        let mut kinds = self.fields.iter().flat_map(FieldSchema::kinds);
        kinds.any(|kind| matches!(kind, ColumnKind::Sum | ColumnKind::SumVersions))
    }

    /// The aggregate that the cells of a family are, if they are aggregates.
    pub(crate) fn aggregate(&self, family: &str) -> Option<ColumnKind> {
        let fields = self.fields.iter().filter(|field| field.families().any(|name| name == family));
        fields.flat_map(FieldSchema::kinds).find(|kind| kind.is_aggregate())
    }
}

/// What a row type reads of a row: a column, or a family with any columns of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclaredColumn {
    /// A column that has a name in the type.
    Column {
        /// The column's family.
        family: &'static str,
        /// The column.
        column: &'static ColumnSchema,
        /// Whether it is of a struct that is a family which may be absent, as an `Option`.
        in_optional_family: bool,
    },
    /// A family that is a map: each of its columns is an entry.
    Map {
        /// The family; empty for a row that is a map, whose family its table knows.
        family: &'static str,
        /// How the names of its columns are stored.
        key: CellType,
        /// How their cells are stored.
        stored: CellType,
        /// Which of their cells are read, and who writes them.
        kind: ColumnKind,
        /// Whether it may be absent, as an `Option`.
        is_optional: bool,
    },
}

/// One field of a row type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldSchema {
    /// A column.
    Column { family: &'static str, column: &'static [ColumnSchema; 1] },
    /// A family with the columns of a struct.
    Struct { family: &'static str, columns: &'static [ColumnSchema], is_optional: bool },
    /// A family with any column of one type.
    Map { family: &'static str, key: CellType, stored: CellType, kind: ColumnKind, is_optional: bool },
}

impl FieldSchema {
    pub(crate) fn family(&self) -> &'static str {
        match self {
            Self::Column { family, .. } | Self::Struct { family, .. } | Self::Map { family, .. } => family,
        }
    }

    /// Whether it is a family that may be absent.
    pub(crate) fn is_optional(&self) -> bool {
        match self {
            Self::Column { .. } => false,
            Self::Struct { is_optional, .. } | Self::Map { is_optional, .. } => *is_optional,
        }
    }

    /// Whether a column of this name makes an optional struct present. The empty name is the marker's.
    pub(crate) fn owns(&self, name: &[u8]) -> bool {
        name.is_empty()
            || self.columns().iter().any(|column| {
                column.name.as_bytes() == name || column.aliases().any(|alias| alias.name.as_bytes() == name)
            })
    }

    pub(crate) fn columns(&self) -> &'static [ColumnSchema] {
        match self {
            Self::Column { column, .. } => *column,
            Self::Struct { columns, .. } => columns,
            Self::Map { .. } => &[],
        }
    }

    /// The families that it reads, also for former columns.
    pub(crate) fn families(&self) -> impl Iterator<Item = &'static str> {
        let of_columns =
            self.columns().iter().flat_map(ColumnSchema::aliases).filter_map(|alias| alias.family);
        [self.family()].into_iter().chain(of_columns)
    }

    fn kinds(&self) -> impl Iterator<Item = ColumnKind> {
        let map = match self {
            Self::Map { kind, .. } => Some(*kind),
            Self::Column { .. } | Self::Struct { .. } => None,
        };
        self.columns().iter().map(|column| column.kind).chain(map)
    }
}

/// One column of a row type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    name: &'static str,
    aliases: &'static [Alias],
    stored: CellType,
    kind: ColumnKind,
    is_required: bool,
    /// Whether an absent column is the type's default, or what a function returns.
    has_default: bool,
    /// The width of the windows of an aggregate; 0 without windows.
    window_micros: i64,
}

impl ColumnSchema {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(
        name: &'static str,
        aliases: &'static [Alias],
        stored: CellType,
        kind: ColumnKind,
        is_required: bool,
    ) -> Self {
        Self { name, aliases, stored, kind, is_required, has_default: false, window_micros: 0 }
    }

    /// A column that reads as a default where it is absent.
    #[doc(hidden)]
    #[must_use]
    pub const fn __with_default(self) -> Self {
        Self { has_default: true, ..self }
    }

    /// A column of aggregates, each of a window of this many microseconds.
    #[doc(hidden)]
    #[must_use]
    pub const fn __in_windows(self, window_micros: i64) -> Self {
        Self { window_micros, ..self }
    }

    /// The qualifier, which is the column's stored name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// How its cells are stored.
    #[must_use]
    pub const fn stored(&self) -> CellType {
        self.stored
    }

    /// Which of its cells are read, and who writes them.
    #[must_use]
    pub const fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// Whether a row without it cannot be read.
    #[must_use]
    pub const fn is_required(&self) -> bool {
        self.is_required
    }

    /// Whether an absent column is a default, which the row type knows.
    #[must_use]
    pub const fn has_default(&self) -> bool {
        self.has_default
    }

    /// The width of the windows of an aggregate, if it has some.
    #[must_use]
    pub fn window(&self) -> Option<Duration> {
        u64::try_from(self.window_micros).ok().filter(|micros| *micros != 0).map(Duration::from_micros)
    }

    /// The former places that are read where the column is absent: the family, if it is not the column's, and the name.
    ///
    /// ```
    /// use keyderive::Row;
    ///
    /// #[derive(Row)]
    /// struct User {
    ///     #[row(alias = "mail", alias = "old:mail")]
    ///     email: Option<String>,
    /// }
    ///
    /// let (_, email) = User::SCHEMA.columns().next().unwrap();
    /// assert_eq!(email.former_places().collect::<Vec<_>>(), [(None, "mail"), (Some("old"), "mail")]);
    /// ```
    ///
    /// They come in the order in which they are read.
    pub fn former_places(&self) -> impl Iterator<Item = (Option<&'static str>, &'static str)> + use<> {
        self.aliases.iter().map(|alias| (alias.family, alias.name))
    }

    /// The width of the windows of an aggregate, in microseconds; 0 without windows.
    pub(crate) fn window_micros(&self) -> i64 {
        self.window_micros
    }

    pub(crate) fn aliases(&self) -> impl Iterator<Item = &'static Alias> + use<> {
        self.aliases.iter()
    }

    pub(crate) fn former(&self) -> &'static [Alias] {
        self.aliases
    }
}

/// A former place of a column.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// None for the column's own family.
    pub family: Option<&'static str>,
    pub name: &'static str,
}

/// Which cells of a column are read, and who writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// The newest cell.
    Value,
    /// The newest cell with its timestamp.
    Timestamped,
    /// Every cell.
    Versions,
    /// The newest cell, which `increment` adds to.
    Counter,
    /// The cell of a sum, which the server keeps.
    Sum,
    /// The cell of a minimum, which the server keeps.
    Min,
    /// The cell of a maximum, which the server keeps.
    Max,
    /// Cells of sums, one for each window of time.
    SumVersions,
    /// Cells of minima, one for each window of time.
    MinVersions,
    /// Cells of maxima, one for each window of time.
    MaxVersions,
}

impl ColumnKind {
    /// Whether every cell is read, not only the newest.
    #[must_use]
    pub const fn reads_versions(self) -> bool {
        matches!(self, Self::Versions | Self::SumVersions | Self::MinVersions | Self::MaxVersions)
    }

    /// Whether the server keeps the values, and programs only add to them.
    #[must_use]
    pub const fn is_aggregate(self) -> bool {
        !matches!(self, Self::Value | Self::Timestamped | Self::Versions | Self::Counter)
    }
}

/// How long the cells of a family are kept and read.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyRule {
    pub family: &'static str,
    pub gc: Option<DeclaredGc>,
    /// Older cells are not read.
    pub ttl: Option<Duration>,
    /// Whether `put` deletes the family first.
    pub is_exclusive: bool,
}

/// A garbage collection rule, as an attribute says it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclaredGc {
    Never,
    /// A cell goes when one of these says so.
    Any {
        max_age: Option<Duration>,
        max_versions: Option<u32>,
    },
    /// A cell goes when both say so.
    All {
        max_age: Duration,
        max_versions: u32,
    },
}
