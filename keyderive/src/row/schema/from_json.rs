//! A row type from data: checked by the rules of the derive of `Row`, and kept for the life of the process.

#[cfg(all(feature = "chrono", feature = "jiff", feature = "time", feature = "uuid", feature = "proto"))]
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::Display;
use std::time::Duration;

use super::layout::{
    Absent, ColumnLayout, FieldLayout, GcLayout, KindLayout, LayoutFault, PlaceLayout, RowLayout, RuleLayout,
};
use super::stored::{StoredType, Variant};
use super::{Alias, ColumnKind, ColumnSchema, DeclaredGc, FamilyRule, FieldSchema, RowSchema, SchemaError};
use crate::intern::{Interner, TooManyLayouts, leak_list, leak_text};
use crate::row::{CellError, CellType, ColumnRef as _, Name, RowError};

static ROW_TYPES: Interner<RowSchema> = Interner::new("row types");
static SELECTIONS: Interner<RowSchema> = Interner::new("selected columns");

/// The longest qualifier that Bigtable allows.
const MAX_QUALIFIER_LEN: usize = 16_384;
/// The longest name of a family.
const MAX_FAMILY_LEN: usize = 64;
const DAY_SECS: u64 = 86_400;
const CENTURY_SECS: u64 = 100 * 366 * DAY_SECS;

impl RowSchema {
    /// The schema that [`to_json`](Self::to_json) has written, for a program that does not have the row type.
    ///
    /// ```
    /// use keyderive::Row;
    /// use keyderive::row::RowSchema;
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: String,
    ///     note: Option<String>,
    /// }
    ///
    /// let schema = RowSchema::from_json(&Event::SCHEMA.to_json())?;
    /// assert_eq!(schema, Event::SCHEMA);
    ///
    /// let wrong = Event::SCHEMA.to_json().replace(r#""name": "note""#, r#""name": """#);
    /// let error = RowSchema::from_json(&wrong).unwrap_err().to_string();
    /// assert!(error.contains(
    ///     "`fields[0].struct.columns[1].name`: the empty name is that of the marker of an empty row; give the column a name"
    /// ));
    /// # Ok::<(), keyderive::row::SchemaError>(())
    /// ```
    ///
    /// It says all that reading and writing rows needs, but for the value of a column with `default` where the column is absent: that
    /// is a function of the program, and a reader without the type says that the column has its default.
    ///
    /// The schema is kept for the life of the process, once for each content.
    ///
    /// # Errors
    /// If the text is no such JSON, a later release has written it, or the schema breaks a rule of the derive: the error has every
    /// fault, each with its place. If its fingerprint is not the one that the JSON says. If it would be the 10,001st of this process.
    pub fn from_json(json: &str) -> Result<&'static Self, SchemaError> {
        RowLayout::from_json(json)?.intern(&ROW_TYPES)
    }

    /// The schema of what [`layout_json`](Self::layout_json) has written, of a row type of this name.
    pub(crate) fn from_layout_json(json: &str, name: &str) -> Result<&'static Self, SchemaError> {
        RowLayout { row: name.to_owned(), ..RowLayout::from_json(json)? }.intern(&ROW_TYPES)
    }

    /// A row type of these columns alone, each named `name`, `family:name`, or by its family, which is a struct or a map. `own` is the family
    /// of a row that is a map.
    pub(crate) fn of_columns(&'static self, own: &str, paths: &[&str]) -> Result<&'static Self, RowError> {
        let family_of = |field: &FieldSchema| match field.family() {
            "" => own.to_owned(),
            family => family.to_owned(),
        };
        let own_family = self.own_family().unwrap_or(own);
        // A column of the row's own family has the name before a family.
        let is_own = |field: &FieldSchema, path: &str| {
            family_of(field) == own_family && field.columns().iter().any(|column| column.name == path)
        };
        let is_family = |path: &str| {
            self.fields.iter().any(|field| family_of(field) == path)
                && !self.fields.iter().any(|field| is_own(field, path))
        };
        for path in paths.iter().filter(|path| !is_family(path)) {
            let column = self.column_in::<()>(own, path)?.place()?;
            if self.map_of(&column.family).is_some() || self.own_family().is_none() {
                let fault = CellError::unsupported(format_args!(
                    "is an entry of a map, which is selected whole, by its family `{}`",
                    column.family
                ));
                return Err(RowError::cell(column.name(), fault));
            }
        }
        let is_selected = |field: &FieldSchema, column: &ColumnSchema| {
            paths.iter().any(|path| {
                let (family, name) = path.split_once(':').unwrap_or((own_family, path));
                family_of(field) == family && column.name == name
            })
        };
        let select = |field: &FieldSchema| {
            let is_whole = paths.iter().any(|path| family_of(field) == *path && is_family(path));
            match *field {
                whole if is_whole => Some(whole),
                FieldSchema::Column { column: [column], .. } => is_selected(field, column).then_some(*field),
                FieldSchema::Map { .. } => None,
                FieldSchema::Struct { family, columns, is_optional } => {
                    let columns: Vec<_> =
                        columns.iter().filter(|column| is_selected(field, column)).copied().collect();
                    let is_any = !columns.is_empty();
                    is_any.then(|| FieldSchema::Struct { family, columns: leak_list(columns), is_optional })
                }
            }
        };
        let content = format!("{} {own} {paths:?}", self.fingerprint());
        let select = || Self { fields: leak_list(self.fields.iter().filter_map(select)), ..*self };
        let too_many = |error: TooManyLayouts| {
            RowError::cell(
                Name { family: own_family, qualifier: b"" },
                CellError::unsupported(format_args!("{error}")),
            )
        };
        SELECTIONS.intern(content, select).map_err(too_many)
    }

    /// Whether it is a map whose family is known, as for a table: the row is that family.
    pub(super) const fn is_named_map(&self) -> bool {
        let [FieldSchema::Map { family, .. }] = self.fields else { return false };
        is_same(self.family.as_bytes(), family.as_bytes())
    }
}

/// Whether two names are equal, at compile time.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl RowLayout {
    /// The schema, if it has no faults.
    pub(super) fn intern(&self, kept: &Interner<RowSchema>) -> Result<&'static RowSchema, SchemaError> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(SchemaError(LayoutFault::Rules(faults)));
        }
        // The fingerprint is computed, so that a wrong one is no content.
        let content = Self { fingerprint: String::new(), ..self.clone() };
        // Names and numbers always have a form in JSON.
        let content = serde_json::to_string(&content).unwrap_or_default();
        let schema =
            kept.intern(content, || self.leak()).map_err(|error| SchemaError(LayoutFault::TooMany(error)))?;
        let fingerprint = schema.fingerprint().to_string();
        // `()` has no family of its own, and may be kept with that of its table.
        let of_unit = || RowSchema { family: "", ..*schema }.fingerprint().to_string();
        if fingerprint == self.fingerprint || schema.fields.is_empty() && of_unit() == self.fingerprint {
            return Ok(schema);
        }
        Err(SchemaError(LayoutFault::Rules(vec![format!(
            "`fingerprint`: it is `{}`, and that of the fields is `{fingerprint}`: the text was changed after it was made; make it \
             again by `SCHEMA.to_json()`",
            self.fingerprint
        )])))
    }

    pub(super) fn leak(&self) -> RowSchema {
        RowSchema {
            name: leak_text(&self.row),
            family: leak_text(self.family.as_deref().unwrap_or_default()),
            fields: leak_list(self.fields.iter().map(FieldLayout::leak)),
            rules: leak_list(self.rules.iter().map(RuleLayout::leak)),
        }
    }

    /// What the derive of `Row` would report, each with its place.
    fn faults(&self) -> Vec<String> {
        let mut check = Check { layout: self, faults: Vec::new() };
        check.row();
        check.faults
    }

    /// Whether the only field is a struct whose columns are the row's own.
    fn is_one_family(&self) -> bool {
        matches!(&self.fields[..], [FieldLayout::Struct { family, .. }] if Some(family) == self.family.as_ref())
    }
}

impl FieldLayout {
    fn leak(&self) -> FieldSchema {
        match self {
            Self::Column { family, column } => FieldSchema::Column {
                family: leak_text(family),
                column: Box::leak(Box::new([column.leak(family)])),
            },
            Self::Struct { family, optional, columns } => FieldSchema::Struct {
                family: leak_text(family),
                columns: leak_list(columns.iter().map(|column| column.leak(family))),
                is_optional: *optional,
            },
            Self::Map { family, optional, key, stored, kind } => FieldSchema::Map {
                family: leak_text(family.as_deref().unwrap_or_default()),
                key: key.leak(),
                stored: stored.leak(),
                kind: kind.kind(),
                is_optional: *optional,
            },
        }
    }
}

impl ColumnLayout {
    fn leak(&self, family: &str) -> ColumnSchema {
        let kind = self.kind.kind();
        let alias = |alias: &PlaceLayout| Alias {
            family: (alias.family != family).then(|| leak_text(&alias.family)),
            name: leak_text(&alias.name),
        };
        ColumnSchema {
            name: leak_text(&self.name),
            aliases: leak_list(self.aliases.iter().map(alias)),
            stored: self.stored.leak(),
            kind,
            is_required: self.absent == Absent::Error,
            has_default: self.absent == Absent::Default
                && !matches!(kind, ColumnKind::Counter | ColumnKind::Sum),
            window_micros: self.kind.window_micros().unwrap_or_default(),
        }
    }
}

impl KindLayout {
    fn kind(self) -> ColumnKind {
        match self {
            Self::Value => ColumnKind::Value,
            Self::Timestamped => ColumnKind::Timestamped,
            Self::Versions => ColumnKind::Versions,
            Self::Counter => ColumnKind::Counter,
            Self::Sum => ColumnKind::Sum,
            Self::Min => ColumnKind::Min,
            Self::Max => ColumnKind::Max,
            Self::SumVersions { .. } => ColumnKind::SumVersions,
            Self::MinVersions { .. } => ColumnKind::MinVersions,
            Self::MaxVersions { .. } => ColumnKind::MaxVersions,
        }
    }

    /// The width of its windows, if it has some.
    fn window_micros(self) -> Option<i64> {
        self.aggregate()?.1
    }

    /// The type of its aggregates.
    fn aggregate_type(self) -> Option<&'static str> {
        match self.aggregate()?.0 {
            "sum" => Some("Sum"),
            "minimum" => Some("Min"),
            _ => Some("Max"),
        }
    }
}

impl RuleLayout {
    fn leak(&self) -> FamilyRule {
        FamilyRule {
            family: leak_text(&self.family),
            gc: self.gc.map(|gc| match gc {
                GcLayout::Never => DeclaredGc::Never,
                GcLayout::Any { max_age_secs, max_versions } => {
                    DeclaredGc::Any { max_age: max_age_secs.map(Duration::from_secs), max_versions }
                }
                GcLayout::All { max_age_secs, max_versions } => {
                    DeclaredGc::All { max_age: Duration::from_secs(max_age_secs), max_versions }
                }
            }),
            ttl: self.ttl_secs.map(Duration::from_secs),
            is_exclusive: self.exclusive,
        }
    }

    /// The age above which one of its limits removes a cell.
    fn max_age_secs(&self) -> Option<u64> {
        match self.gc {
            Some(GcLayout::Any { max_age_secs, .. }) => max_age_secs,
            _ => None,
        }
    }
}

impl StoredType {
    fn leak(&self) -> CellType {
        match self {
            Self::Integer { min, max } => CellType::Integer { min: *min, max: *max },
            Self::NonZero { min, max } => CellType::NonZero { min: *min, max: *max },
            Self::Bool => CellType::Bool,
            Self::Code(variants) => {
                let variant = |Variant { code, name }: &Variant| (*code, leak_text(name));
                CellType::Code(leak_list(variants.iter().map(variant)))
            }
            Self::F32 => CellType::F32,
            Self::F64 => CellType::F64,
            Self::Text => CellType::Text,
            Self::Char => CellType::Char,
            Self::Enum(names) => CellType::Enum(leak_list(names.iter().map(|name| leak_text(name)))),
            Self::Bytes => CellType::Bytes,
            Self::Array(length) => CellType::Array(*length),
            Self::Unit => CellType::Unit,
            Self::Uuid => CellType::Uuid,
            Self::IpAddress => CellType::IpAddress,
            Self::Ipv4Address => CellType::Ipv4Address,
            Self::Ipv6Address => CellType::Ipv6Address,
            Self::Time => CellType::Time,
            Self::Date => CellType::Date,
            Self::Json => CellType::Json,
            Self::Proto => CellType::Proto,
            Self::UnixTime(unit) => CellType::UnixTime(unit.unit()),
            Self::Custom(name) => CellType::Custom(leak_text(name)),
        }
    }

    fn is_i64(&self) -> bool {
        *self == Self::Integer { min: i64::MIN, max: i64::MAX }
    }
}

/// The faults of a layout that have been found.
struct Check<'l> {
    layout: &'l RowLayout,
    faults: Vec<String>,
}

/// A column with its place in the JSON.
#[derive(Clone)]
struct Placed<'l> {
    path: String,
    family: &'l str,
    column: &'l ColumnLayout,
}

impl<'l> Check<'l> {
    fn fault(&mut self, path: impl Display, text: impl Display) {
        self.faults.push(format!("`{path}`: {text}"));
    }

    fn row(&mut self) {
        let layout = self.layout;
        if let Some(family) = &layout.family {
            self.family_name("family", family);
        } else if !matches!(&layout.fields[..], [] | [FieldLayout::Map { family: None, .. }]) {
            self.fault("family", "it is `null` for a map alone, whose family its table names; name the family of the row's own columns");
        }
        let mut own = Vec::new();
        let mut families: HashMap<&str, String> = HashMap::new();
        for (at, field) in layout.fields.iter().enumerate() {
            match field {
                FieldLayout::Column { family, column } => {
                    let path = format!("fields[{at}].column");
                    self.family_name(format_args!("{path}.family"), family);
                    own.push(Placed { path: format!("{path}.column"), family, column });
                }
                FieldLayout::Struct { family, columns, optional } => {
                    let path = format!("fields[{at}].struct");
                    let of_struct: Vec<_> = columns
                        .iter()
                        .enumerate()
                        .map(|(at, column)| Placed { path: format!("{path}.columns[{at}]"), family, column })
                        .collect();
                    self.in_one_family(&of_struct);
                    if columns.is_empty() {
                        self.fault(
                            format_args!("{path}.columns"),
                            "a struct without columns is no family; add one",
                        );
                    }
                    if layout.is_one_family() {
                        if *optional {
                            self.fault(
                                format_args!("{path}.optional"),
                                "the row's own columns are a family that is always there; write `false`",
                            );
                        }
                        own.extend(of_struct);
                        continue;
                    }
                    self.columns(&of_struct);
                    self.family(&format!("{path}.family"), family, &mut families);
                }
                FieldLayout::Map { family, key, stored, kind, .. } => {
                    let path = format!("fields[{at}].map");
                    self.map(&path, key, stored, *kind);
                    match (family, &layout.family) {
                        (Some(family), own) if layout.fields.len() > 1 || Some(family) != own.as_ref() => {
                            self.family(&format!("{path}.family"), family, &mut families);
                        }
                        (Some(_), _) | (None, None) if layout.fields.len() == 1 => {}
                        _ => self.fault(
                            format_args!("{path}.family"),
                            "it is `null` for a map that is the whole row; name the family",
                        ),
                    }
                }
            }
        }
        self.columns(&own);
        for Placed { path, family, .. } in
            own.iter().filter(|own| Some(own.family) != layout.family.as_deref())
        {
            if let Some(whole) = families.get(family) {
                let text = format!(
                    "the family `{family}` is that of the field `{whole}`, all of whose columns are its own; give one another family"
                );
                self.fault(path, text);
            }
        }
        for Placed { path, column, .. } in &own {
            for (at, alias) in column.aliases.iter().enumerate() {
                if let Some(whole) = families.get(&*alias.family) {
                    let text = format!(
                        "the family `{}` is that of the field `{whole}`, all of whose columns are its own; remove the alias",
                        alias.family
                    );
                    self.fault(format_args!("{path}.aliases[{at}]"), text);
                }
            }
        }
        self.rules(&own);
    }

    fn family_name(&mut self, path: impl Display, name: &str) {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > MAX_FAMILY_LEN || !name.bytes().all(is_allowed) {
            self.fault(
                path,
                format_args!(
                    "`{name}` cannot name a family, which has 1 to {MAX_FAMILY_LEN} ASCII letters, digits, `-`, `_` and `.`"
                ),
            );
        } else if name == "keyderive" || name.starts_with("keyderive.") || name.starts_with("keyderive-") {
            self.fault(path, "the families `keyderive…` are the library's; choose another name");
        }
    }

    fn column_name(&mut self, path: impl Display, name: &str) {
        if name.is_empty() {
            self.fault(path, "the empty name is that of the marker of an empty row; give the column a name");
        } else if name.len() > MAX_QUALIFIER_LEN {
            self.fault(
                path,
                format_args!("a column's name has at most {MAX_QUALIFIER_LEN} bytes; shorten it"),
            );
        }
    }

    /// A family that is a struct or a map.
    fn family(&mut self, path: &str, family: &'l str, families: &mut HashMap<&'l str, String>) {
        self.family_name(path, family);
        if self.layout.family.as_deref() == Some(family) {
            self.fault(
                path,
                format_args!(
                    "the family `{family}` is that of the row's own columns; give the field another name"
                ),
            );
        }
        if let Some(other) = families.insert(family, path.to_owned()) {
            self.fault(
                path,
                format_args!(
                    "`{other}` and `{path}` are both the family `{family}`, which holds one value; give one another name"
                ),
            );
        }
    }

    fn map(&mut self, path: &str, key: &StoredType, stored: &StoredType, kind: KindLayout) {
        self.stored(&format!("{path}.key"), key);
        self.stored(&format!("{path}.stored"), stored);
        let is_name = matches!(
            key,
            StoredType::Text
                | StoredType::Bytes
                | StoredType::Array(_)
                | StoredType::Char
                | StoredType::Enum(_)
                | StoredType::Uuid
                | StoredType::Date
                | StoredType::IpAddress
                | StoredType::Ipv4Address
                | StoredType::Ipv6Address
                | StoredType::Custom(_)
        );
        if !is_name {
            self.fault(
                format_args!("{path}.key"),
                format_args!(
                    "{key} cannot name a column, so it cannot be the key of a family: names are text, bytes, UUIDs, dates, and enums; \
                     write a number as text of a fixed width, which keeps the order"
                ),
            );
        }
        if kind == KindLayout::Counter {
            self.fault(
                format_args!("{path}.kind"),
                "`counter` is for a column, and this is a family; put it on a field of the family's struct",
            );
        }
        if kind.window_micros().is_some_and(|window| window != 0) {
            self.fault(
                format_args!("{path}.kind"),
                "`window` is for a column, and this is a family; put it on a field of the family's struct",
            );
        }
        self.aggregate(path, stored, kind);
    }

    fn aggregate(&mut self, path: &str, stored: &StoredType, kind: KindLayout) {
        if kind.aggregate().is_some() && !stored.is_i64() {
            self.fault(
                format_args!("{path}.stored"),
                "an aggregate is an `i64`, which the server keeps; change the type",
            );
        }
    }

    fn stored(&mut self, path: &str, stored: &StoredType) {
        match stored {
            StoredType::Integer { min, max } | StoredType::NonZero { min, max } if min > max => {
                self.fault(
                    path,
                    format_args!("no integer is {min} to {max}; write the smaller one as `min`"),
                );
            }
            StoredType::NonZero { min: 0, max: 0 } => {
                self.fault(path, "no integer is 0 to 0 without 0; write wider bounds");
            }
            StoredType::Enum(names) => {
                if names.is_empty() {
                    self.fault(path, "an enum without variants has no value to store; name one");
                }
                let mut taken = HashMap::new();
                for (at, name) in names.iter().enumerate() {
                    if let Some(other) = taken.insert(name, at) {
                        self.fault(
                            format_args!("{path}.enum[{at}]"),
                            format_args!("`{path}.enum[{other}]` and this are both stored as `{name}`; give one another name"),
                        );
                    }
                }
            }
            StoredType::Code(variants) => {
                if variants.is_empty() {
                    self.fault(path, "an enum without variants has no value to store; name one");
                }
                let (mut codes, mut names) = (HashMap::new(), HashMap::new());
                for (at, Variant { code, name }) in variants.iter().enumerate() {
                    if let Some(other) = codes.insert(code, name) {
                        self.fault(
                            format_args!("{path}.code[{at}]"),
                            format_args!("`{name}` has the code {code}, as `{other}` has; give each its own"),
                        );
                    }
                    if names.insert(name, code).is_some() {
                        self.fault(
                            format_args!("{path}.code[{at}]"),
                            format_args!("two variants are named `{name}`; give one another name"),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// The columns of one struct.
    fn columns(&mut self, columns: &[Placed<'l>]) {
        for placed in columns {
            self.column(placed);
        }
        self.one_place_for_each(columns);
        self.aggregates(columns);
    }

    fn column(&mut self, Placed { path, column, .. }: &Placed<'l>) {
        let ColumnLayout { name, aliases, stored, kind, absent } = column;
        self.column_name(format_args!("{path}.name"), name);
        for (at, alias) in aliases.iter().enumerate() {
            self.family_name(format_args!("{path}.aliases[{at}].family"), &alias.family);
            self.column_name(format_args!("{path}.aliases[{at}].name"), &alias.name);
        }
        self.stored(&format!("{path}.stored"), stored);
        self.aggregate(path, stored, *kind);
        let is_counter = *kind == KindLayout::Counter;
        if is_counter && !stored.is_i64() {
            self.fault(
                format_args!("{path}.stored"),
                "a counter is an `i64`, in which the server counts; change the type",
            );
        }
        if is_counter && !aliases.is_empty() {
            self.fault(
                format_args!("{path}.aliases"),
                "the server would count from 0 beside a value under the alias; keep the stored name",
            );
        }
        if kind.aggregate().is_some() && !aliases.is_empty() {
            self.fault(
                format_args!("{path}.aliases"),
                "the server would count from 0 beside an aggregate under the alias; keep the stored name",
            );
        }
        let absence = match kind {
            KindLayout::Value | KindLayout::Timestamped => None,
            KindLayout::Counter if *absent != Absent::Default => {
                Some("a counter that is absent counts from 0; write `\"default\"`")
            }
            KindLayout::Sum if *absent != Absent::Default => {
                Some("a sum to which nothing was added is 0; write `\"default\"`")
            }
            KindLayout::Min | KindLayout::Max if *absent != Absent::None => {
                Some("a minimum or maximum to which nothing was added is none; write `\"none\"`")
            }
            KindLayout::Counter | KindLayout::Sum | KindLayout::Min | KindLayout::Max => None,
            _ if *absent != Absent::None => {
                Some("`Versions` are empty where the column is absent; write `\"none\"`")
            }
            _ => None,
        };
        if let Some(fault) = absence {
            self.fault(format_args!("{path}.absent"), fault);
        }
        match kind.window_micros() {
            Some(0) => self.fault(
                format_args!("{path}.kind"),
                "each aggregate in a column counts for a window of time; write its width as `window_micros`",
            ),
            Some(window) => {
                let second = 1_000_000;
                let divides = u64::try_from(window)
                    .is_ok_and(|window| window % second == 0 && (DAY_SECS * second).is_multiple_of(window));
                if !divides {
                    self.fault(
                        format_args!("{path}.kind"),
                        format_args!("{window} microseconds, in whole seconds, do not divide a day; write a window such as 3600000000"),
                    );
                }
            }
            None => {}
        }
    }

    /// A struct is a family if all its columns are in one, now and formerly.
    fn in_one_family(&mut self, columns: &[Placed<'l>]) {
        for Placed { path, family, column } in columns {
            for (at, alias) in column.aliases.iter().enumerate().filter(|(_, alias)| alias.family != *family)
            {
                self.fault(
                    format_args!("{path}.aliases[{at}].family"),
                    format_args!(
                        "the struct is the family `{family}`, and this alias is in `{}`; a struct with columns in one family alone \
                         is a family",
                        alias.family
                    ),
                );
            }
        }
    }

    fn one_place_for_each(&mut self, columns: &[Placed<'l>]) {
        let mut taken: HashMap<(&str, &str), &Placed<'_>> = HashMap::new();
        for placed in columns {
            let Placed { path, family, column } = placed;
            if let Some(other) = taken.insert((family, &column.name), placed) {
                self.fault(
                    format_args!("{path}.name"),
                    format_args!(
                        "`{}` and `{path}` are both the column `{family}:{}`, which holds one value; give one another name",
                        other.path, column.name
                    ),
                );
            }
        }
        for placed in columns {
            let Placed { path, column, .. } = placed;
            for (at, alias) in column.aliases.iter().enumerate().filter(|(_, alias)| !alias.name.is_empty()) {
                if let Some(other) = taken.get(&(&*alias.family, &*alias.name)) {
                    self.fault(
                        format_args!("{path}.aliases[{at}]"),
                        format_args!(
                            "`{}` is a column and an alias of `{}`; remove the alias",
                            other.column.name, column.name
                        ),
                    );
                } else {
                    taken.insert((&alias.family, &alias.name), placed);
                }
            }
        }
    }

    /// Aggregates are alone in their families.
    fn aggregates(&mut self, columns: &[Placed<'l>]) {
        for one in columns {
            let Some(aggregate) = one.column.kind.aggregate_type() else { continue };
            let others = columns.iter().filter(|other| other.family == one.family);
            for other in others.filter(|other| other.column.kind.aggregate_type() != Some(aggregate)) {
                self.fault(
                    format_args!("{}.kind", other.path),
                    format_args!(
                        "the family `{}` holds `{aggregate}`s, and `{}` is none; give it another family",
                        one.family, other.column.name
                    ),
                );
            }
        }
    }

    /// How long families are kept. The columns are those of the row's own struct: another struct does not know the rule of its family.
    fn rules(&mut self, own: &[Placed<'l>]) {
        let mut ruled = HashMap::new();
        for (at, rule) in self.layout.rules.iter().enumerate() {
            let path = format!("rules[{at}]");
            let family = &*rule.family;
            self.family_name(format_args!("{path}.family"), family);
            if ruled.insert(family, at).is_some() {
                self.fault(&path, format_args!("the family `{family}` has two rules; keep one"));
            }
            self.gc(&path, rule);
            let max_age = rule.max_age_secs();
            if rule.ttl_secs.is_some_and(|ttl| max_age.is_some_and(|max_age| ttl > max_age)) {
                self.fault(
                    format_args!("{path}.ttl_secs"),
                    "`ttl` is longer than `max_age`, which deletes cells before; raise `max_age`",
                );
            }
            for placed in own.iter().filter(|placed| placed.family == family) {
                self.ruled_column(placed, rule);
            }
            for (at, field) in self.layout.fields.iter().enumerate() {
                if let FieldLayout::Map { family: Some(of), kind, .. } = field
                    && of == family
                {
                    self.expiring_aggregate(&format!("fields[{at}].map"), *kind, max_age.or(rule.ttl_secs));
                }
            }
        }
    }

    fn gc(&mut self, path: &str, rule: &RuleLayout) {
        let (max_age, max_versions) = match rule.gc {
            None | Some(GcLayout::Never) => (None, None),
            Some(GcLayout::Any { max_age_secs: None, max_versions: None }) => {
                self.fault(
                    format_args!("{path}.gc"),
                    "`gc` has no limit; write `\"never\"`, `max_age_secs` or `max_versions`",
                );
                (None, None)
            }
            Some(GcLayout::Any { max_age_secs, max_versions }) => (max_age_secs, max_versions),
            Some(GcLayout::All { max_age_secs, max_versions }) => (Some(max_age_secs), Some(max_versions)),
        };
        if let Some(versions) =
            max_versions.filter(|versions| !(1..=i32::MAX.unsigned_abs()).contains(versions))
        {
            self.fault(
                format_args!("{path}.gc"),
                format_args!(
                    "`max_versions` is 1 to {}, not {versions}; write 1 to keep the newest",
                    i32::MAX
                ),
            );
        }
        for (name, secs) in [("gc", max_age), ("ttl_secs", rule.ttl_secs)] {
            match secs {
                Some(0) => self
                    .fault(format_args!("{path}.{name}"), "this is no time at all; write a number above 0"),
                Some(secs) if secs > CENTURY_SECS => {
                    let text = format!("`{secs}s` is more than a century; write a shorter time");
                    self.fault(format_args!("{path}.{name}"), text);
                }
                _ => {}
            }
        }
    }

    fn ruled_column(&mut self, Placed { path, family, column }: &Placed<'l>, rule: &RuleLayout) {
        let (max_age, ttl) = (rule.max_age_secs(), rule.ttl_secs);
        let foreign = column.aliases.iter().position(|alias| alias.family != *family);
        if let (Some(_), Some(at)) = (ttl, foreign) {
            self.fault(
                format_args!("{path}.aliases[{at}]"),
                format_args!(
                    "`ttl` hides cells of the family `{family}` alone, and this alias is in another; copy its values, or remove the `ttl`"
                ),
            );
        }
        let keeps_one = matches!(rule.gc, Some(GcLayout::Any { max_versions: Some(1), .. }));
        if keeps_one && column.kind.kind().reads_versions() {
            self.fault(
                format_args!("{path}.kind"),
                format_args!(
                    "`{}` reads every version, and the family `{family}` keeps one; write `\"never\"` or more versions",
                    column.name
                ),
            );
        }
        let expires = max_age.or(ttl);
        if expires.is_some() && column.kind == KindLayout::Counter {
            self.fault(
                format_args!("{path}.kind"),
                "an increment adds to an expired value too; use `Versions<Sum>` with `window`, give it a family of its own without \
                 `max_age` and `ttl`, or remove these",
            );
        }
        self.expiring_aggregate(path, column.kind, expires);
        let Some(window) = column.kind.window_micros().and_then(|window| u64::try_from(window).ok()) else {
            return;
        };
        let is_shorter = |secs: Option<u64>| secs.is_some_and(|secs| secs.saturating_mul(1_000_000) < window);
        if is_shorter(ttl) {
            self.fault(
                format_args!("{path}.kind"),
                "the window is longer than the `ttl` of its family, which hides it from its start on: additions at its end would never \
                 be read; shorten the window, or raise the `ttl`",
            );
        } else if is_shorter(max_age) {
            self.fault(
                format_args!("{path}.kind"),
                "the window is longer than the `max_age` of its family, which is counted from its start: additions at its end would be \
                 removed at once; shorten the window, or raise the `max_age`",
            );
        }
    }

    fn expiring_aggregate(&mut self, path: &str, kind: KindLayout, expires: Option<u64>) {
        if expires.is_some() && matches!(kind, KindLayout::Sum | KindLayout::Min | KindLayout::Max) {
            self.fault(
                format_args!("{path}.kind"),
                "an aggregate is at time 0, and expires at once; use `Versions<…>` with `window`, or remove `max_age` and `ttl`",
            );
        }
    }
}
