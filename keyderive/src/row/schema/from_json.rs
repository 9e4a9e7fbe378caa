//! A row type from data: checked by the rules of the derive of `Row`, and kept for the life of the process.

#[cfg(all(feature = "chrono", feature = "jiff", feature = "time", feature = "uuid", feature = "proto"))]
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::Display;
use std::time::Duration;

use keyderive_layout::Words;
use keyderive_layout::row_rules::{
    Column, ColumnPart, Family, FamilyPart, GcLayout, KindLayout, Place, PlaceLayout, RuleLayout, RulePart,
    Struct,
};

use super::layout::{Absent, ColumnLayout, FieldLayout, LayoutFault, RowLayout};
use super::stored::{StoredType, Variant};
use super::{Alias, ColumnKind, ColumnSchema, DeclaredGc, FamilyRule, FieldSchema, RowSchema, SchemaError};
use crate::intern::{Interner, TooManyLayouts, leak_list, leak_text};
use crate::row::{CellError, CellType, ColumnRef as _, Name, RowError};

static ROW_TYPES: Interner<RowSchema> = Interner::new("row types");
static SELECTIONS: Interner<RowSchema> = Interner::new("selected columns");

const CENTURY_SECS: u64 = 100 * 366 * 86_400;

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
            rules: leak_list(self.rules.iter().map(leak_rule)),
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
                kind: column_kind(*kind),
                is_optional: *optional,
            },
        }
    }
}

impl ColumnLayout {
    fn leak(&self, family: &str) -> ColumnSchema {
        let kind = column_kind(self.kind);
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

fn column_kind(kind: KindLayout) -> ColumnKind {
    match kind {
        KindLayout::Value => ColumnKind::Value,
        KindLayout::Timestamped => ColumnKind::Timestamped,
        KindLayout::Versions => ColumnKind::Versions,
        KindLayout::Counter => ColumnKind::Counter,
        KindLayout::Sum => ColumnKind::Sum,
        KindLayout::Min => ColumnKind::Min,
        KindLayout::Max => ColumnKind::Max,
        KindLayout::SumVersions { .. } => ColumnKind::SumVersions,
        KindLayout::MinVersions { .. } => ColumnKind::MinVersions,
        KindLayout::MaxVersions { .. } => ColumnKind::MaxVersions,
    }
}

fn leak_rule(rule: &RuleLayout) -> FamilyRule {
    FamilyRule {
        family: leak_text(&rule.family),
        gc: rule.gc.map(|gc| match gc {
            GcLayout::Never => DeclaredGc::Never,
            GcLayout::Any { max_age_secs, max_versions } => {
                DeclaredGc::Any { max_age: max_age_secs.map(Duration::from_secs), max_versions }
            }
            GcLayout::All { max_age_secs, max_versions } => {
                DeclaredGc::All { max_age: Duration::from_secs(max_age_secs), max_versions }
            }
        }),
        ttl: rule.ttl_secs.map(Duration::from_secs),
        is_exclusive: rule.exclusive,
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
            Self::UnixTime(unit) => CellType::UnixTime(*unit),
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

/// A field that is a family, with its place in the JSON.
struct PlacedFamily<'l> {
    path: String,
    name: &'l str,
    kind: KindLayout,
}

/// What the rules of layouts are asked of.
impl Placed<'_> {
    fn data(&self) -> Column {
        let Self { path, family, column } = self;
        Column {
            label: path.clone(),
            family: (*family).to_owned(),
            name: column.name.clone(),
            aliases: column.aliases.clone(),
            kind: column.kind,
            is_doubtful: false,
        }
    }

    fn path_of(&self, part: ColumnPart) -> String {
        let path = &self.path;
        match part {
            ColumnPart::Whole => path.clone(),
            ColumnPart::Name => format!("{path}.name"),
            // `fields[0].column` has the family beside the column.
            ColumnPart::Family => path.strip_suffix(".column").unwrap_or(path).to_owned() + ".family",
            ColumnPart::Alias(nth) => format!("{path}.aliases[{nth}]"),
            ColumnPart::Kind | ColumnPart::Window => format!("{path}.kind"),
        }
    }
}

impl PlacedFamily<'_> {
    fn data(&self) -> Family {
        let Self { path, name, kind } = self;
        Family { label: path.clone(), name: (*name).to_owned(), kind: *kind }
    }
}

impl<'l> Check<'l> {
    fn fault(&mut self, path: impl Display, text: impl Display) {
        self.faults.push(format!("`{path}`: {text}"));
    }

    fn row(&mut self) {
        let layout = self.layout;
        if layout.family.is_none()
            && !matches!(&layout.fields[..], [] | [FieldLayout::Map { family: None, .. }])
        {
            self.fault("family", "it is `null` for a map alone, whose family its table names; name the family of the row's own columns");
        }
        let (mut own, mut families) = (Vec::new(), Vec::new());
        for (at, field) in layout.fields.iter().enumerate() {
            match field {
                FieldLayout::Column { family, column } => {
                    let path = format!("fields[{at}].column.column");
                    own.push(Placed { path, family, column });
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
                    // Another struct does not know the rule of its family.
                    self.columns(Some(family), &of_struct, &[], &[]);
                    families.push(PlacedFamily { path, name: family, kind: KindLayout::Value });
                }
                FieldLayout::Map { family, key, stored, kind, .. } => {
                    let path = format!("fields[{at}].map");
                    self.map(&path, key, stored, *kind);
                    match (family, &layout.family) {
                        (Some(name), own) if layout.fields.len() > 1 || Some(name) != own.as_ref() => {
                            families.push(PlacedFamily { path, name, kind: *kind });
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
        self.columns(layout.family.as_deref(), &own, &families, &layout.rules);
        for (at, rule) in layout.rules.iter().enumerate() {
            self.gc(&format!("rules[{at}]"), rule);
        }
    }

    /// The columns of one struct, and of a row its families and their rules.
    fn columns(
        &mut self,
        family: Option<&str>,
        columns: &[Placed<'l>],
        families: &[PlacedFamily<'l>],
        rules: &[RuleLayout],
    ) {
        for placed in columns {
            self.column(placed);
        }
        let data = Struct {
            family: family.map(str::to_owned),
            columns: columns.iter().map(Placed::data).collect(),
            families: families.iter().map(PlacedFamily::data).collect(),
            rules: rules.to_vec(),
        };
        for found in data.faults() {
            let path = match found.place {
                // The row names the families of its structs.
                Place::OwnFamily if self.layout.family.as_deref() != family => continue,
                Place::OwnFamily => "family".to_owned(),
                Place::Column(at, part) => columns[at].path_of(part),
                Place::Family(at, part) => {
                    let path = &families[at].path;
                    match part {
                        FamilyPart::Whole | FamilyPart::Name => format!("{path}.family"),
                        FamilyPart::Kind | FamilyPart::Window => format!("{path}.kind"),
                    }
                }
                Place::Rule(at, RulePart::Whole) => format!("rules[{at}]"),
                Place::Rule(at, RulePart::Family) => format!("rules[{at}].family"),
                Place::Rule(at, RulePart::Ttl) => format!("rules[{at}].ttl_secs"),
            };
            self.fault(path, found.reason.text(Words::Json));
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

    fn column(&mut self, Placed { path, column, .. }: &Placed<'l>) {
        let ColumnLayout { stored, kind, absent, .. } = column;
        self.stored(&format!("{path}.stored"), stored);
        self.aggregate(path, stored, *kind);
        let is_counter = *kind == KindLayout::Counter;
        if is_counter && !stored.is_i64() {
            self.fault(
                format_args!("{path}.stored"),
                "a counter is an `i64`, in which the server counts; change the type",
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
}
