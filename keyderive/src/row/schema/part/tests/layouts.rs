//! Row types from random layouts, as data. The types of a group differ by a few changes each.

use std::fmt;

use fastrand::Rng;
use keyderive_layout::row_rules::{KindLayout, PlaceLayout, RuleLayout};

use crate::key::TimeUnit;
use crate::row::ColumnSchema;
use crate::row::schema::RowSchema;
use crate::row::schema::layout::{Absent, ColumnLayout, FieldLayout, RowLayout};
use crate::row::schema::stored::{StoredType, Variant};

/// All families that a type can have.
pub(super) const FAMILIES: [&str; 6] = ["cf", "own", "g", "s", "m", "w"];
pub(super) const HOUR_MICROS: i64 = 3_600_000_000;
pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// Former names; some are columns of other types.
const FORMER: [&str; 4] = ["o", "p", "a", "b"];

pub(super) struct RowType {
    layout: RowLayout,
    pub(super) schema: &'static RowSchema,
    /// The family of a map.
    pub(super) family: String,
}

impl RowType {
    /// The type as it comes from a file; none if it breaks a rule.
    fn new(layout: RowLayout, family: String) -> Option<Self> {
        let schema = RowSchema::from_json(&layout.leak().to_json()).ok()?;
        Some(Self { layout, schema, family })
    }

    /// The name of a family, or that of the map.
    pub(super) fn named<'n>(&'n self, family: &'n str) -> &'n str {
        if family.is_empty() { &self.family } else { family }
    }

    /// The family that has the marker of an empty row.
    pub(super) fn own_family(&self) -> &str {
        self.schema.own_family().unwrap_or(&self.family)
    }

    /// Whether the type has this column, now or formerly, or a map in its family.
    pub(super) fn knows(&self, family: &str, name: &[u8]) -> bool {
        self.schema.fields().iter().any(|field| {
            let of_field = self.named(field.family());
            let is_here = |column: &ColumnSchema| {
                let mut places = places(of_field, column);
                places.any(|(of, at)| of == family && at.as_bytes() == name)
            };
            field.columns().is_empty() && of_field == family || field.columns().iter().any(is_here)
        })
    }

    pub(super) fn ttl_micros(&self, family: &str) -> Option<i64> {
        let ttl = self.layout.rules.iter().find(|rule| rule.family == family)?.ttl_secs?;
        i64::try_from(ttl).ok().map(|secs| secs * 1_000_000)
    }
}

/// Where a column of a family is read, in order.
pub(super) fn places<'f>(
    family: &'f str,
    column: &ColumnSchema,
) -> impl Iterator<Item = (&'f str, &'static str)> + use<'f> {
    let former = column.aliases().map(move |alias| (alias.family.unwrap_or(family), alias.name));
    [(family, column.name())].into_iter().chain(former)
}

/// As the JSON of its layout.
impl fmt::Debug for RowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`: {}", self.family, serde_json::to_string(&self.layout).unwrap())
    }
}

/// Types of which the first is random, and each other is an earlier one with changes.
pub(super) fn random_types(random: &mut Rng, count: usize) -> Vec<RowType> {
    let mut types: Vec<RowType> = Vec::new();
    while types.len() < count {
        let (mut layout, family) = match random.choice(&types) {
            None => (row(random), "cf".to_owned()),
            Some(earlier) => {
                let (mut layout, mut family) = (earlier.layout.clone(), earlier.family.clone());
                for _ in 0..random.usize(1..=3) {
                    change(&mut layout, &mut family, random);
                }
                (layout, family)
            }
        };
        layout.row = format!("Type{}", types.len());
        let RowLayout { family: own, fields, rules, .. } = &mut layout;
        rules.retain(|rule| {
            own.as_ref() == Some(&rule.family)
                || fields.iter().any(|field| family_of(field) == Some(&rule.family))
        });
        types.extend(RowType::new(layout, family));
    }
    types
}

fn row(random: &mut Rng) -> RowLayout {
    let own = if random.u8(..8) == 0 { "own" } else { "cf" };
    let fields = match random.u8(..12) {
        0 => vec![map(None, random)],
        _ => (0..random.usize(1..=5)).map(|_| field(own, random)).collect(),
    };
    let is_map = matches!(fields[..], [FieldLayout::Map { family: None, .. }]);
    let ruled: Vec<_> = FAMILIES.iter().filter(|_| random.u8(..4) == 0).collect();
    let rules = ruled.into_iter().map(|family| rule(family, random));
    RowLayout {
        version: RowSchema::JSON_VERSION,
        row: String::new(),
        fingerprint: String::new(),
        family: (!is_map).then(|| own.to_owned()),
        rules: rules.collect(),
        fields,
    }
}

fn rule(family: &str, random: &mut Rng) -> RuleLayout {
    let ttl_secs = Some([3600, 36_000][random.usize(..2)]);
    RuleLayout { family: family.to_owned(), gc: None, ttl_secs, exclusive: false }
}

fn field(own: &str, random: &mut Rng) -> FieldLayout {
    match random.u8(..12) {
        0..6 => FieldLayout::Column { family: own.to_owned(), column: column(own, random) },
        6 => {
            let family = ["g", "g", "w"][random.usize(..3)];
            FieldLayout::Column { family: family.to_owned(), column: column(family, random) }
        }
        7 | 8 => FieldLayout::Struct {
            family: "s".to_owned(),
            optional: random.bool(),
            columns: (0..random.usize(1..=3)).map(|_| column("s", random)).collect(),
        },
        9 | 10 => map(Some("m"), random),
        _ => aggregate(random),
    }
}

fn map(family: Option<&str>, random: &mut Rng) -> FieldLayout {
    FieldLayout::Map {
        family: family.map(str::to_owned),
        optional: family.is_some() && random.u8(..4) == 0,
        key: key(random),
        stored: stored(random),
        kind: if family.is_some() && random.u8(..3) == 0 { KindLayout::Versions } else { KindLayout::Value },
    }
}

fn key(random: &mut Rng) -> StoredType {
    match random.u8(..8) {
        0 => StoredType::Uuid,
        1 => StoredType::Enum(["a", "b"].map(str::to_owned).to_vec()),
        2 => StoredType::Bytes,
        _ => StoredType::Text,
    }
}

fn integer() -> StoredType {
    StoredType::Integer { min: i64::MIN, max: i64::MAX }
}

/// A family of aggregates: a column, or a map.
fn aggregate(random: &mut Rng) -> FieldLayout {
    let (kind, absent) = match random.u8(..8) {
        0 => (KindLayout::Sum, Absent::Default),
        1 => (KindLayout::Max, Absent::None),
        2 => (KindLayout::MaxVersions { window_micros: HOUR_MICROS }, Absent::None),
        3 => (KindLayout::SumVersions { window_micros: 24 * HOUR_MICROS }, Absent::None),
        _ => (KindLayout::SumVersions { window_micros: HOUR_MICROS }, Absent::None),
    };
    let family = "w".to_owned();
    if random.u8(..4) == 0 {
        let kind = match kind {
            KindLayout::SumVersions { .. } => KindLayout::SumVersions { window_micros: 0 },
            KindLayout::MaxVersions { .. } => KindLayout::MaxVersions { window_micros: 0 },
            kind => kind,
        };
        let (family, key) = (Some(family), StoredType::Text);
        return FieldLayout::Map { family, optional: false, key, stored: integer(), kind };
    }
    let name = NAMES[random.usize(..2)].to_owned();
    let column = ColumnLayout { name, aliases: Vec::new(), stored: integer(), kind, absent };
    FieldLayout::Column { family, column }
}

fn column(family: &str, random: &mut Rng) -> ColumnLayout {
    let (stored, kind, absent) = match random.u8(..10) {
        0 => (integer(), KindLayout::Counter, Absent::Default),
        1 | 2 => (stored(random), KindLayout::Versions, Absent::None),
        3 => (stored(random), KindLayout::Timestamped, Absent::None),
        4 => (stored(random), KindLayout::Value, Absent::Error),
        5 => (stored(random), KindLayout::Value, Absent::Default),
        _ => (stored(random), KindLayout::Value, Absent::None),
    };
    let aliases = if kind == KindLayout::Counter { 0 } else { [0, 0, 1, 2][random.usize(..4)] };
    let aliases = (0..aliases).map(|_| alias(family, random)).collect();
    ColumnLayout { name: NAMES[random.usize(..4)].to_owned(), aliases, stored, kind, absent }
}

fn alias(family: &str, random: &mut Rng) -> PlaceLayout {
    let family = if random.u8(..6) == 0 { "g" } else { family };
    PlaceLayout { family: family.to_owned(), name: FORMER[random.usize(..4)].to_owned() }
}

fn palette() -> Vec<StoredType> {
    let code = |codes: &[(i64, &str)]| {
        let variant = |(code, name): &(i64, &str)| Variant { code: *code, name: (*name).to_owned() };
        StoredType::Code(codes.iter().map(variant).collect())
    };
    let names = |names: &[&str]| StoredType::Enum(names.iter().map(ToString::to_string).collect());
    vec![
        integer(),
        StoredType::Integer { min: 0, max: 255 },
        StoredType::Integer { min: -32_768, max: 32_767 },
        StoredType::NonZero { min: 1, max: 255 },
        StoredType::Bool,
        code(&[(1, "Low"), (20, "High")]),
        code(&[(1, "Low"), (20, "High"), (300, "Top")]),
        code(&[(1, "High"), (20, "Low")]),
        StoredType::F32,
        StoredType::F64,
        StoredType::Text,
        StoredType::Char,
        names(&["a", "b"]),
        names(&["a", "b", "cc"]),
        StoredType::Bytes,
        StoredType::Array(8),
        StoredType::Unit,
        StoredType::Uuid,
        StoredType::IpAddress,
        StoredType::Ipv4Address,
        StoredType::Time,
        StoredType::Date,
        StoredType::Json,
        StoredType::UnixTime(TimeUnit::Secs),
        StoredType::UnixTime(TimeUnit::Millis),
    ]
}

fn stored(random: &mut Rng) -> StoredType {
    let all = palette();
    all[random.usize(..all.len())].clone()
}

/// Another type, most often one that reads the values of the first.
fn other_type(stored: &StoredType, random: &mut Rng) -> StoredType {
    let mut all = palette();
    if random.u8(..3) > 0 {
        all.retain(|other| other.reads(stored));
    }
    random.choice(&all).unwrap_or(stored).clone()
}

fn family_of(field: &FieldLayout) -> Option<&String> {
    match field {
        FieldLayout::Column { family, .. } | FieldLayout::Struct { family, .. } => Some(family),
        FieldLayout::Map { family, .. } => family.as_ref(),
    }
}

/// The columns that have a name, each with its family.
fn columns(layout: &mut RowLayout) -> Vec<(String, &mut ColumnLayout)> {
    let of_field = |field| match field {
        &mut FieldLayout::Column { ref family, ref mut column } => vec![(family.clone(), column)],
        &mut FieldLayout::Struct { ref family, ref mut columns, .. } => {
            columns.iter_mut().map(|column| (family.clone(), column)).collect()
        }
        FieldLayout::Map { .. } => Vec::new(),
    };
    layout.fields.iter_mut().flat_map(of_field).collect()
}

/// One change of a type. It may break a rule of row types, and may be none.
fn change(layout: &mut RowLayout, family: &mut String, random: &mut Rng) {
    let own = layout.family.clone().unwrap_or_else(|| family.clone());
    let at = random.usize(..layout.fields.len().max(1));
    match random.u8(..26) {
        0..5 if layout.fields.len() > 1 => drop(layout.fields.remove(at)),
        5 | 6 if layout.family.is_some() => layout.fields.push(field(&own, random)),
        7 => match layout.rules.pop() {
            Some(_) if random.bool() => {}
            _ => layout.rules.push(rule(FAMILIES[random.usize(..6)], random)),
        },
        8 => {
            if let Some(FieldLayout::Struct { optional, .. } | FieldLayout::Map { optional, .. }) =
                layout.fields.get_mut(at)
            {
                *optional = !*optional;
            }
        }
        // A map of a family, with the values of a column of the type.
        9 => {
            let first = columns(layout).first().map(|(_, column)| column.stored.clone());
            let stored = other_type(&first.unwrap_or(StoredType::Text), random);
            let map = |family| {
                let (key, kind) = (StoredType::Text, KindLayout::Value);
                FieldLayout::Map { family, optional: false, key, stored, kind }
            };
            if let Some(FieldLayout::Struct { family, .. }) = layout.fields.get(at).cloned() {
                layout.fields[at] = map(Some(family));
            } else {
                (layout.fields, layout.family) = (vec![map(None)], None);
                FAMILIES[random.usize(..6)].clone_into(family);
            }
        }
        10 => match layout.fields.get_mut(at) {
            Some(FieldLayout::Map { key: of, .. }) if random.bool() => *of = key(random),
            Some(FieldLayout::Map { stored, .. }) => *stored = other_type(stored, random),
            Some(FieldLayout::Struct { columns, .. }) if columns.len() > 1 => {
                columns.remove(random.usize(..columns.len()));
            }
            _ => {}
        },
        // A struct with one column, in place of a map of its type.
        11 => {
            if let Some(FieldLayout::Map { family: of, stored, .. }) = layout.fields.get(at).cloned() {
                let family = of.unwrap_or_else(|| family.clone());
                let columns = vec![ColumnLayout { stored, ..column(&family, random) }];
                layout.family.get_or_insert_with(|| family.clone());
                layout.fields[at] = FieldLayout::Struct { family, optional: random.bool(), columns };
            }
        }
        // As the derive says it, where all columns are in one family.
        12 if layout.fields.iter().all(|field| family_of(field) == layout.family.as_ref()) => {
            let columns: Vec<_> = columns(layout).into_iter().map(|(_, column)| column.clone()).collect();
            if let Some(family) = layout.family.clone().filter(|_| !columns.is_empty()) {
                layout.fields = vec![FieldLayout::Struct { family, optional: false, columns }];
            }
        }
        13 if random.u8(..4) == 0 => {
            layout.family =
                layout.family.as_ref().map(|own| if own == "cf" { "own" } else { "cf" }.to_owned());
        }
        what => {
            let mut columns = columns(layout);
            let at = random.usize(..columns.len().max(1));
            let Some((family, column)) = columns.get_mut(at) else { return };
            let is_set = column.kind.aggregate().is_none() && column.kind != KindLayout::Counter;
            match what {
                14..16 => column.stored = other_type(&column.stored, random),
                16 if is_set => {
                    let kinds = [KindLayout::Value, KindLayout::Timestamped, KindLayout::Versions];
                    (column.kind, column.absent) = (kinds[random.usize(..3)], Absent::None);
                }
                17 if column.kind == KindLayout::Value => {
                    column.absent = [Absent::Error, Absent::None, Absent::Default][random.usize(..3)];
                }
                18..20 if is_set => column.aliases.push(alias(family, random)),
                20 => drop(column.aliases.pop()),
                21 => column.aliases.reverse(),
                22 => NAMES[random.usize(..4)].clone_into(&mut column.name),
                _ => {
                    if let KindLayout::SumVersions { window_micros } = &mut column.kind {
                        *window_micros = 24 * HOUR_MICROS;
                    }
                }
            }
        }
    }
}
