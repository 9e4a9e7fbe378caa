//! Rows that a whole writes, what it reads of them, and what of that is a part's: beside the library, from the cells alone.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fastrand::Rng;

use super::layouts::{HOUR_MICROS, NAMES, RowType, places};
use crate::dynamic::{DynColumnRef, DynRowRef, RowBuffer, RowReader, Value, ValueRef};
use crate::key::TimeUnit;
use crate::row::{
    CellType, CellWriter, ColumnKind, ColumnSchema, DeclaredColumn, FieldSchema, RawRow, Timestamped,
};

/// A family and a qualifier.
type Place = (String, Vec<u8>);
/// The cells of a row, the newest of each column first.
pub(super) type Cells = BTreeMap<CellPlace, Vec<u8>>;

/// A family, a name and a time.
pub(super) type CellPlace = (String, Vec<u8>, Reverse<i64>);

/// What a value means, whatever type reads it.
#[derive(Clone, Debug, PartialEq)]
enum Meaning {
    /// With the name of its variant, if the type knows it.
    Integer(i128, Option<&'static str>),
    Time(i128),
    Float(u64),
    Json(String),
    Bytes(Vec<u8>),
}

/// What a type reads of a column, or of an entry of a map.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    cells: Vec<(i64, Meaning)>,
    is_default: bool,
}

/// A column's name with what is read of it.
type Entry = (Vec<u8>, Column);

/// The cells of a column with their times.
type CellsAt<'r> = Vec<(i64, &'r [u8])>;

/// What a type reads of a row, in the order of its columns: each has entries if it is a map. None if its optional family is absent.
#[derive(Debug)]
pub(super) struct Reading(Result<Vec<Option<Vec<Entry>>>, String>);

fn meaning(stored: CellType, value: ValueRef<'_>) -> Meaning {
    match value {
        ValueRef::Integer(number) => {
            let name = i64::try_from(number).ok().and_then(|code| stored.variant(code));
            Meaning::Integer(number, name)
        }
        ValueRef::Bool(value) => Meaning::Integer(value.into(), None),
        ValueRef::Time(nanos) if matches!(stored, CellType::UnixTime(_)) => Meaning::Time(nanos),
        ValueRef::F32(value) => Meaning::Float(value.to_bits().into()),
        ValueRef::F64(value) => Meaning::Float(value.to_bits()),
        ValueRef::Text(text) if stored == CellType::Json => Meaning::Json(text.to_owned()),
        ValueRef::Text(text) => Meaning::Bytes(text.as_bytes().to_vec()),
        ValueRef::Bytes(bytes) => Meaning::Bytes(bytes.to_vec()),
        value => Meaning::Bytes(encoded(stored, &value.to_value())),
    }
}

impl Meaning {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(one, name), Self::Integer(other, of)) => {
                one == other && (name == of || name.is_none() || of.is_none())
            }
            (one, other) => one == other,
        }
    }
}

fn encoded(stored: CellType, value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    stored.write(value, &mut CellWriter::new(&mut bytes)).unwrap();
    bytes
}

fn random_value(stored: CellType, random: &mut Rng) -> Vec<u8> {
    let seconds = random.i64(1_000_000_000..2_000_000_000);
    let value = match stored {
        CellType::Integer { min, max } | CellType::NonZero { min, max } => {
            let least = if matches!(stored, CellType::NonZero { .. }) { min.max(1) } else { min };
            [random.i64(least..=max), max, least, 1][random.usize(..4)].into()
        }
        CellType::Bool => Value::Bool(random.bool()),
        CellType::Code(codes) => codes[random.usize(..codes.len())].0.into(),
        CellType::F32 => Value::F32(random.f32()),
        CellType::F64 => Value::F64(random.f64()),
        CellType::Text => ["a", "b", "ü", "word", ""][random.usize(..5)].into(),
        CellType::Char => ["a", "b", "ü"][random.usize(..3)].into(),
        CellType::Enum(names) => names[random.usize(..names.len())].into(),
        CellType::Array(length) => Value::Bytes((0..length).map(|_| random.u8(..)).collect()),
        CellType::Unit => Value::Bytes(Vec::new()),
        CellType::Uuid => Value::Uuid(random.u128(..)),
        CellType::Ipv4Address | CellType::IpAddress => {
            std::net::Ipv4Addr::from(random.u32(..)).to_string().into()
        }
        CellType::Time => Value::Time(i128::from(seconds) * TimeUnit::Secs.nanos()),
        CellType::UnixTime(unit) => {
            Value::Time(i128::from(seconds) * TimeUnit::Secs.nanos() / unit.nanos() * unit.nanos())
        }
        CellType::Date => Value::Date(seconds / 86_400),
        CellType::Json => [r#"{"a":1}"#, "1", r#""a""#][random.usize(..3)].into(),
        _ => Value::Bytes(vec![0xff, random.u8(..)]),
    };
    encoded(stored, &value)
}

fn random_key(key: CellType, random: &mut Rng) -> Vec<u8> {
    match key {
        CellType::Text => ["a", "b", "o", "p", "x"][random.usize(..5)].into(),
        CellType::Uuid => encoded(key, &Value::Uuid(random.u128(..2))),
        CellType::Bytes => [&b"a"[..], b"\xff"][random.usize(..2)].into(),
        _ => random_value(key, random),
    }
}

/// When cells were written: with any `ttl`, some have expired.
fn random_time(kind: ColumnKind, window_micros: i64, now_micros: i64, random: &mut Rng) -> i64 {
    let age = [60_000_000, HOUR_MICROS / 2, 2 * HOUR_MICROS, 20 * HOUR_MICROS][random.usize(..4)];
    let window = if window_micros == 0 { HOUR_MICROS } else { window_micros };
    match kind {
        ColumnKind::Sum | ColumnKind::Min | ColumnKind::Max => 0,
        kind if kind.is_aggregate() => (now_micros - age * random.i64(1..=3)) / window * window,
        _ => (now_micros - age - random.i64(0..1000) * 1000) / 1000 * 1000,
    }
}

/// A row as programs of this type have left it, older releases too; if `is_foreign`, with cells of columns that it does not have.
pub(super) fn cells(row: &RowType, is_foreign: bool, now_micros: i64, random: &mut Rng) -> Cells {
    let mut cells = Cells::new();
    let mut write = |(family, name): (&str, &[u8]), column: (CellType, ColumnKind, i64), random: &mut Rng| {
        let (stored, kind, window_micros) = column;
        for _ in 0..random.usize(1..=3) {
            let at = random_time(kind, window_micros, now_micros, random);
            cells.insert((family.to_owned(), name.to_vec(), Reverse(at)), random_value(stored, random));
        }
    };
    let marker = (CellType::Unit, ColumnKind::Value, 0);
    // No value can stand beside aggregates.
    let is_stored_in = |family: &str| row.schema.aggregate(family).is_none();
    if random.u8(..3) == 0 && is_stored_in(row.own_family()) {
        write((row.own_family(), b""), marker, random);
    }
    for field in row.schema.fields() {
        let family = row.named(field.family());
        if field.is_optional() && random.bool() {
            if random.bool() && is_stored_in(family) {
                write((family, b""), marker, random);
            }
            continue;
        }
        if let FieldSchema::Map { key, stored, kind, .. } = field {
            for _ in 0..random.usize(..4) {
                write((family, &random_key(*key, random)), (*stored, *kind, 0), random);
            }
        }
        for column in field.columns() {
            for (at, (family, name)) in places(family, column).enumerate() {
                // A family of aggregates has no value under a former name.
                if at > 0 && !is_stored_in(family) {
                    continue;
                }
                if random.u8(..10) < if at == 0 { 6 } else { 4 } {
                    let column = (column.stored(), column.kind(), column.window_micros());
                    write((family, name.as_bytes()), column, random);
                }
            }
        }
    }
    for _ in 0..if is_foreign { 12 } else { 0 } {
        let family = ["cf", "g", "s", "own"][random.usize(..4)];
        let name = *random.choice(&[NAMES.as_slice(), &["o", "p"]].concat()).unwrap();
        if !row.knows(family, name.as_bytes()) && is_stored_in(family) {
            let stored = [CellType::Text, CellType::Integer { min: 0, max: 255 }][random.usize(..2)];
            write((family, name.as_bytes()), (stored, ColumnKind::Value, 0), random);
        }
    }
    cells
}

/// What a whole reads of a row: each column under its name of today, with all cells that the whole's `ttl` lets count.
pub(super) struct WholeReading<'r> {
    columns: BTreeMap<Place, (CellType, CellsAt<'r>)>,
    /// The columns that the whole does not have.
    foreign: BTreeMap<Place, CellsAt<'r>>,
    /// The places of all cells that count, for the part's families that only it has by its own `ttl`.
    counting: BTreeMap<Place, CellsAt<'r>>,
}

fn counting<'r>(whole: &RowType, part: &RowType, cells: &'r Cells, now: i64) -> BTreeMap<Place, CellsAt<'r>> {
    let has = |family: &str| {
        let former = whole.schema.fields().iter().flat_map(FieldSchema::families).map(|of| whole.named(of));
        former.chain([whole.own_family()]).any(|of| of == family)
    };
    let mut counting = BTreeMap::<Place, Vec<_>>::new();
    for ((family, name, Reverse(at)), value) in cells {
        let of = if has(family) { whole } else { part };
        if of.ttl_micros(family).is_none_or(|ttl| *at >= now - ttl) {
            counting.entry((family.clone(), name.clone())).or_default().push((*at, &**value));
        }
    }
    counting
}

pub(super) fn whole_reading<'r>(
    whole: &RowType,
    part: &RowType,
    cells: &'r Cells,
    now_micros: i64,
) -> WholeReading<'r> {
    let counting = counting(whole, part, cells, now_micros);
    let mut columns = BTreeMap::new();
    for field in whole.schema.fields() {
        let family = whole.named(field.family());
        for column in field.columns() {
            let place = |(family, name): (&str, &str)| (family.to_owned(), name.as_bytes().to_vec());
            let found = places(family, column).find_map(|at| counting.get(&place(at)).cloned());
            columns.insert(place((family, column.name())), (column.stored(), found.unwrap_or_default()));
        }
        if let FieldSchema::Map { stored, .. } = field {
            let entries = counting.iter().filter(|((of, name), _)| of == family && !name.is_empty());
            columns.extend(entries.map(|(place, cells)| (place.clone(), (*stored, cells.clone()))));
        }
    }
    let mut foreign = counting.clone();
    foreign.retain(|(family, name), _| !name.is_empty() && !whole.knows(family, name));
    WholeReading { columns, foreign, counting }
}

/// What a part is of what the whole reads. None if nothing counts that the part asks for.
pub(super) fn projection(part: &RowType, whole: &WholeReading<'_>) -> Option<Reading> {
    let has = |family: &str, name: &[u8]| whole.counting.contains_key(&(family.to_owned(), name.to_vec()));
    let is_any = |family: &str| whole.counting.keys().any(|(of, _)| of == family);
    // A column of an optional struct, or its marker, says that it is there.
    let has_of = |field: &FieldSchema| {
        let family = part.named(field.family());
        let has_column =
            |column: &ColumnSchema| places(family, column).any(|(family, name)| has(family, name.as_bytes()));
        match field {
            FieldSchema::Map { .. } => is_any(family),
            _ => has(family, b"") || field.columns().iter().any(has_column),
        }
    };
    let fields = part.schema.fields();
    if !has(part.own_family(), b"") && !fields.iter().any(has_of) {
        return None;
    }
    let column = |stored: CellType, kind: ColumnKind, cells: &[(i64, &[u8])]| {
        let count = if kind.reads_versions() { cells.len() } else { 1 };
        let cell = |(at, bytes): &(i64, &[u8])| {
            let value = stored.read(bytes).map_err(|error| error.to_string())?;
            Ok((*at, meaning(stored, value)))
        };
        let cells: Result<Vec<_>, String> = cells.iter().take(count).map(cell).collect();
        cells.map(|cells| Column { cells, is_default: false })
    };
    let named = |family: &str, declared: &'static ColumnSchema| {
        let own = (family.to_owned(), declared.name().as_bytes().to_vec());
        let kind = declared.kind();
        let mut read = match whole.columns.get(&own) {
            Some((stored, cells)) => column(*stored, kind, cells)?,
            // It is the part's own.
            None => {
                let place = |(family, name): (&str, &str)| (family.to_owned(), name.as_bytes().to_vec());
                let mut found = places(family, declared).filter_map(|at| whole.foreign.get(&place(at)));
                column(declared.stored(), kind, found.next().map_or(&[], Vec::as_slice))?
            }
        };
        if read.cells.is_empty() && declared.is_required() {
            return Err(format!("{family}:{} is absent", declared.name()));
        }
        if read.cells.is_empty() && matches!(kind, ColumnKind::Counter | ColumnKind::Sum) {
            read.cells.push((0, Meaning::Integer(0, None)));
        }
        read.is_default = read.cells.is_empty() && declared.has_default();
        Ok(vec![(own.1, read)])
    };
    let map = |family: &str, stored: CellType, kind: ColumnKind| {
        let of_whole = whole.columns.iter().map(|(place, (stored, cells))| (place, *stored, cells));
        let others = whole.foreign.iter().map(|(place, cells)| (place, stored, cells));
        let entries = of_whole.chain(others).filter(|((of, _), _, cells)| of == family && !cells.is_empty());
        let entry = |(place, stored, cells): (&Place, CellType, &Vec<_>)| {
            Ok((place.1.clone(), column(stored, kind, cells)?))
        };
        let entries: Result<BTreeMap<_, _>, String> = entries.map(entry).collect();
        entries.map(|entries| entries.into_iter().collect())
    };
    let is_absent = |field: &FieldSchema| field.is_optional() && !has_of(field);
    let read = fields.iter().flat_map(|field| {
        let family = part.named(field.family());
        let is_absent = is_absent(field);
        let of_map = match field {
            FieldSchema::Map { stored, kind, .. } => {
                Some((!is_absent).then(|| map(family, *stored, *kind)).transpose())
            }
            _ => None,
        };
        let columns =
            field.columns().iter().map(move |of| (!is_absent).then(|| named(family, of)).transpose());
        columns.chain(of_map).collect::<Vec<_>>()
    });
    Some(Reading(read.collect()))
}

impl Reading {
    /// What the part reads, by data.
    pub(super) fn by_data(part: &RowType, row: &RawRow) -> Self {
        let mut reader = RowReader::of_all(part.schema, &*part.family);
        let mut buffer = RowBuffer::default();
        if let Err(error) = reader.read(row, &mut buffer) {
            return Self(Err(error.to_string()));
        }
        let row = DynRowRef::new(row.key(), &reader, &buffer);
        let column = |stored: CellType, column: DynColumnRef<'_>| {
            let cell =
                |cell: &Timestamped<ValueRef<'_>>| (cell.timestamp_micros, meaning(stored, cell.value));
            let cells = column.cells().iter().map(cell).collect();
            (column.qualifier().to_vec(), Column { cells, is_default: column.is_default() })
        };
        let declared = part.schema.declared_columns().enumerate();
        let read = declared.map(|(at, declared)| match declared {
            DeclaredColumn::Column { column: of, .. } => {
                row.column(at).map(|read| vec![column(of.stored(), read)])
            }
            DeclaredColumn::Map { stored, .. } => {
                row.entries(at).map(|entries| entries.map(|entry| column(stored, entry)).collect())
            }
        });
        Self(Ok(read.collect()))
    }

    fn is_same(&self, other: &Self) -> bool {
        let (one, other) = match (&self.0, &other.0) {
            (Ok(one), Ok(other)) => (one, other),
            (one, other) => return one.is_err() && other.is_err(),
        };
        let is_cell =
            |(one, other): (&(i64, Meaning), &(i64, Meaning))| one.0 == other.0 && one.1.is_same(&other.1);
        let is_column = |((name, one), (of, other)): (&Entry, &Entry)| {
            name == of
                && one.is_default == other.is_default
                && one.cells.len() == other.cells.len()
                && one.cells.iter().zip(&other.cells).all(is_cell)
        };
        one.len() == other.len()
            && one.iter().zip(other).all(|pair| match pair {
                (Some(one), Some(other)) => one.len() == other.len() && one.iter().zip(other).all(is_column),
                (one, other) => one.is_none() && other.is_none(),
            })
    }
}

pub(super) fn is_same(one: Option<&Reading>, other: Option<&Reading>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_same(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}
