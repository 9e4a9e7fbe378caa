//! Rows as records of csv or JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use keyderive::dynamic::{ColumnValue, DynColumn, DynKey, DynRow, Value};
use keyderive::row::CellType;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::{EMPTY, Form, KEY, Shape, is_escaped};
use crate::layout::field_names;
use crate::output::{Safe, json_line, of_csv};

/// Writes rows.
pub(crate) struct Writer<W: Write> {
    shape: Shape,
    out: Sink<W>,
}

enum Sink<W: Write> {
    Csv {
        out: Box<csv::Writer<W>>,
        /// Whether a terminal shows it.
        is_terminal: bool,
    },
    Json(W),
}

impl<W: Write> Writer<W> {
    /// `has_head` is for a file that is empty.
    pub(crate) fn new(
        shape: Shape,
        form: Form,
        out: W,
        is_terminal: bool,
        has_head: bool,
    ) -> io::Result<Self> {
        let out = match form {
            Form::Json => Sink::Json(out),
            Form::Csv => Sink::Csv { out: Box::new(csv::Writer::from_writer(out)), is_terminal },
        };
        let mut writer = Self { shape, out };
        if has_head {
            let heads = writer.shape.heads();
            writer.record(heads)?;
        }
        Ok(writer)
    }

    /// Writes a row; false if it has a value that no text says, and is not written.
    pub(crate) fn add(&mut self, key: &DynKey, row: &DynRow) -> io::Result<bool> {
        let has_texts = key.iter().all(|(_, value)| has_text(value))
            && row.columns().all(|column| values(&column).all(has_text));
        if !has_texts {
            return Ok(false);
        }
        match &mut self.out {
            Sink::Json(out) => json_line(out, &Record { shape: &self.shape, key, row })?,
            Sink::Csv { .. } => {
                let cells = self.shape.cells(key, row)?;
                self.record(cells)?;
            }
        }
        Ok(true)
    }

    fn record(&mut self, mut cells: Vec<String>) -> io::Result<()> {
        let Sink::Csv { out, is_terminal } = &mut self.out else { return Ok(()) };
        if *is_terminal {
            cells.iter_mut().for_each(|cell| *cell = Safe(cell).to_string());
        }
        out.write_record(&cells).map_err(of_csv)
    }

    /// Writes what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Sink::Csv { out, .. } => out.flush(),
            Sink::Json(out) => out.flush(),
        }
    }
}

impl Shape {
    /// The names of the cells of csv.
    fn heads(&self) -> Vec<String> {
        let key = self.is_hashed.then(|| KEY.to_owned());
        let columns = self.columns.iter().map(|(path, _)| path.clone());
        let maps = self.maps.iter().map(|family| format!("{family}:*"));
        let markers = self.markers().map(|family| format!("{family}:"));
        key.into_iter()
            .chain(field_names(self.layout.key()).map(str::to_owned))
            .chain(columns)
            .chain(maps)
            .chain(markers)
            .collect()
    }

    /// The optional families that need a presence column in csv. A map needs none: its cell is `{}` if it is empty.
    fn markers(&self) -> impl Iterator<Item = &String> {
        self.optional.iter().filter(|family| !self.maps.contains(family))
    }

    fn cells(&self, key: &DynKey, row: &DynRow) -> io::Result<Vec<String>> {
        let mut cells = Vec::new();
        cells.extend(self.is_hashed.then(|| key_text(key)));
        cells.extend(key.iter().map(|(_, value)| value.to_string()));
        let begin = cells.len();
        cells.resize(begin + self.columns.len(), String::new());
        let mut maps = vec![BTreeMap::new(); self.maps.len()];
        let mut next = 0;
        for column in row.columns() {
            let (family, name) = (column.family(), column.name());
            // Both have the order of the schema.
            let is_it = |(path, _): &&(String, _)| {
                path.strip_prefix(family).and_then(|rest| rest.strip_prefix(':')) == Some(&*name)
            };
            if let Some(map) = self.maps.iter().position(|map| map == family) {
                maps[map].insert(name.into_owned(), column);
            } else if let Some(at) = self.columns[next..].iter().position(|known| is_it(&known)) {
                next += at;
                let (path, schema) = &self.columns[next];
                cells[begin + next] = cell(&column, self.is_required(path, schema))?;
                next += 1;
            }
        }
        for (family, map) in self.maps.iter().zip(maps) {
            let is_there = !map.is_empty() || self.optional.contains(family) && row.has_family(family);
            cells.push(if is_there { serde_json::to_string(&map)? } else { String::new() });
        }
        cells.extend(
            self.markers().map(|family| if is_bare(row, family) { "true".to_owned() } else { String::new() }),
        );
        Ok(cells)
    }
}

/// A row as an object of JSON.
struct Record<'a> {
    shape: &'a Shape,
    key: &'a DynKey,
    row: &'a DynRow,
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.shape.is_hashed {
            map.serialize_entry(KEY, &key_text(self.key))?;
        }
        for (name, value) in self.key.iter() {
            map.serialize_entry(name, value)?;
        }
        for column in self.row.columns().filter(|column| !is_absent(column)) {
            map.serialize_entry(&format!("{}:{}", column.family(), column.name()), &column)?;
        }
        for family in self.shape.optional.iter().filter(|family| is_bare(self.row, family)) {
            map.serialize_entry(&format!("{family}:"), &true)?;
        }
        map.end()
    }
}

fn key_text(key: &DynKey) -> String {
    let digits = key.as_ref().iter().map(|byte| format!("{byte:02x}"));
    ["0x".to_owned()].into_iter().chain(digits).collect()
}

/// Whether a family that may be absent is there, and nothing else says so.
fn is_bare(row: &DynRow, family: &str) -> bool {
    row.has_family(family) && row.columns().all(|column| column.family() != family || is_absent(&column))
}

fn is_absent(column: &DynColumn<'_>) -> bool {
    match column.value() {
        ColumnValue::Absent | ColumnValue::Default => true,
        ColumnValue::Versions(versions) => versions.is_empty(),
        _ => false,
    }
}

/// The text of a column in csv.
fn cell(column: &DynColumn<'_>, is_required: bool) -> io::Result<String> {
    let text = match (column.value(), column.stored()) {
        _ if is_absent(column) => return Ok(String::new()),
        (ColumnValue::Value(Value::Integer(code)), CellType::Code(codes)) => {
            let name = codes.iter().find(|(of, _)| i128::from(*of) == *code).map(|(_, name)| *name);
            name.map_or_else(|| code.to_string(), str::to_owned)
        }
        (ColumnValue::Value(value), _) => value.to_string(),
        _ => serde_json::to_string(column)?,
    };
    Ok(match () {
        () if text.is_empty() && !is_required => EMPTY.to_owned(),
        () if is_escaped(&text) => format!("\\{text}"),
        () => text,
    })
}

/// The values of a column, without their times.
fn values<'r>(column: &DynColumn<'r>) -> impl Iterator<Item = &'r Value> {
    let (one, versions) = match column.value() {
        ColumnValue::Value(value) => (Some(value), None),
        ColumnValue::Timestamped(version) => (Some(&version.value), None),
        ColumnValue::Versions(versions) => (None, Some(versions)),
        _ => (None, None),
    };
    one.into_iter()
        .chain(versions.into_iter().flat_map(|versions| versions.iter().map(|version| &version.value)))
}

/// Whether the text of a value is read as the value: text has the years 0000 to 9999.
pub(super) fn has_text(value: &Value) -> bool {
    const DAY: i128 = 86_400_000_000_000;
    const YEARS: std::ops::Range<i128> = -719_528 * DAY..2_932_897 * DAY;
    match value {
        Value::Time(nanos) => YEARS.contains(nanos),
        Value::Date(days) => YEARS.contains(&(i128::from(*days) * DAY)),
        _ => true,
    }
}
