//! Rows as records and as text, for `get` and `scan`.

use std::io::{self, Write};

use keyderive::dynamic::{ColumnValue, DynColumn, DynKey, DynRow, TableLayout, Value};
use keyderive::key::RawKey;
use keyderive::row::{CellType, RawRow};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::layout::field_names;
use crate::output::Safe;

/// The heads of a row's record: the fields of its key, its columns, and if there are others one for those.
pub(super) struct Heads {
    fields: usize,
    /// As `family:name`.
    columns: Vec<String>,
    has_others: bool,
}

/// The head of the columns that have no head.
const OTHERS: &str = "others";

impl Heads {
    /// For all columns, or the selected ones; for rows that are shown as stored, the fields and the cells.
    pub(super) fn new(layout: &TableLayout, selected: Option<Vec<String>>, is_raw: bool) -> Self {
        let fields = field_names(layout.key()).count();
        let row = match layout.row_type() {
            Some(row) if !is_raw => row,
            _ => return Self { fields, columns: vec!["cells".to_owned()], has_others: false },
        };
        let all: Vec<_> =
            row.columns().map(|(family, column)| format!("{family}:{}", column.name())).collect();
        let is_named = |family: &str| all.iter().any(|column| column.split(':').next() == Some(family));
        let has_maps = row.families().next().is_none() || row.families().any(|family| !is_named(family));
        match selected {
            None => Self { fields, columns: all, has_others: has_maps },
            Some(selected) => {
                let (columns, families): (Vec<_>, Vec<_>) =
                    selected.into_iter().partition(|path| all.contains(path));
                Self { fields, columns, has_others: !families.is_empty() }
            }
        }
    }

    pub(super) fn names(&self, layout: &TableLayout) -> Vec<String> {
        let others = self.has_others.then(|| OTHERS.to_owned());
        field_names(layout.key())
            .map(str::to_owned)
            .chain(self.columns.iter().cloned())
            .chain(others)
            .collect()
    }

    fn key_cells(&self, key: &DynKey) -> Vec<String> {
        let mut cells: Vec<_> = key.iter().map(|(_, value)| value.to_string()).collect();
        cells.resize(self.fields + self.columns.len(), String::new());
        cells
    }

    /// The cells of a row that was read.
    pub(super) fn cells(&self, key: &DynKey, row: &DynRow) -> Vec<String> {
        let mut cells = self.key_cells(key);
        let mut others = Vec::new();
        for column in row.columns() {
            let (path, text) = (path(&column), value_text(&column));
            match self.columns.iter().position(|known| *known == path) {
                Some(at) => cells[self.fields + at] = text,
                None if matches!(column.value(), ColumnValue::Absent | ColumnValue::Default) => {}
                None => others.push(format!("{path}={text}")),
            }
        }
        if self.has_others {
            cells.push(others.join(", "));
        }
        cells
    }

    /// The cells of a row that is shown below the table.
    pub(super) fn unread_cells(&self, key: &DynKey) -> Vec<String> {
        let mut cells = self.key_cells(key);
        cells.resize(cells.len() + usize::from(self.has_others), String::new());
        if let Some(cell) = cells.get_mut(self.fields) {
            "not read: see below".clone_into(cell);
        }
        cells
    }
}

/// The cells of a row as they are stored, in one line.
pub(super) fn cells_text(row: &RawRow) -> String {
    let cells = row.cells().map(|cell| {
        let (family, qualifier) = (cell.family(), shown(cell.qualifier()));
        format!("{family}:{qualifier} @ {}={}", time(cell.timestamp_micros()), shown(cell.value()))
    });
    cells.collect::<Vec<_>>().join(", ")
}

fn path(column: &DynColumn<'_>) -> String {
    format!("{}:{}", column.family(), column.name())
}

/// What a column holds, for a cell of a table: empty if it is absent.
fn value_text(column: &DynColumn<'_>) -> String {
    let text = |value: &Value| match (column.stored(), value) {
        (CellType::Code(codes), Value::Integer(code)) => {
            let name = codes.iter().find(|(of, _)| i128::from(*of) == *code).map(|(_, name)| *name);
            name.map_or_else(|| code.to_string(), str::to_owned)
        }
        (_, value) => value.to_string(),
    };
    match column.value() {
        ColumnValue::Value(value) => text(value),
        ColumnValue::Timestamped(version) => {
            format!("{} @ {}", text(&version.value), time(version.timestamp_micros))
        }
        ColumnValue::Versions(versions) => {
            let versions = versions
                .iter()
                .map(|version| format!("{} @ {}", text(&version.value), time(version.timestamp_micros)));
            versions.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

/// A time of a cell.
pub(super) fn time(micros: i64) -> Value {
    Value::Time(i128::from(micros) * 1000)
}

/// Bytes as text, with escapes.
pub(super) fn shown(bytes: &[u8]) -> String {
    RawKey::new(bytes).to_string()
}

/// A row with the fields of its key and its columns side by side.
#[derive(Serialize)]
pub(super) struct FlatRow<'a> {
    #[serde(flatten)]
    pub(super) key: &'a DynKey,
    #[serde(flatten)]
    pub(super) row: &'a DynRow,
}

/// A row with its row key and its bucket, which no field or column has the names of.
#[derive(Serialize)]
pub(super) struct PlacedRow<'a> {
    #[serde(rename = ":key")]
    pub(super) key: String,
    #[serde(rename = ":bucket", skip_serializing_if = "Option::is_none")]
    pub(super) bucket: Option<i32>,
    #[serde(flatten)]
    pub(super) row: FlatRow<'a>,
}

/// A row as stored.
pub(super) struct StoredRow<'a> {
    pub(super) key: Option<&'a DynKey>,
    /// If keys have a salt, and it is asked for.
    pub(super) bucket: Option<i32>,
    pub(super) row: &'a RawRow,
    /// Why it is not shown by its row type.
    pub(super) why: Option<&'a str>,
}

#[derive(Serialize)]
struct StoredCell {
    family: String,
    qualifier: String,
    timestamp_micros: i64,
    value: String,
}

impl Serialize for StoredRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", &shown(self.row.key()))?;
        if let Some(bucket) = self.bucket {
            map.serialize_entry("bucket", &bucket)?;
        }
        if let Some(key) = self.key {
            map.serialize_entry("fields", key)?;
        }
        if let Some(why) = self.why {
            map.serialize_entry("error", why)?;
        }
        let cells = self.row.cells().map(|cell| StoredCell {
            family: cell.family().to_owned(),
            qualifier: shown(cell.qualifier()),
            timestamp_micros: cell.timestamp_micros(),
            value: shown(cell.value()),
        });
        map.serialize_entry("cells", &cells.collect::<Vec<_>>())?;
        map.end()
    }
}

/// Prints a row as stored, a line for each cell.
pub(super) fn write_stored(out: &mut impl Write, row: &RawRow) -> io::Result<()> {
    for cell in row.cells() {
        let column = format!("{}:{}", cell.family(), shown(cell.qualifier()));
        writeln!(
            out,
            "  {} @ {}: {}",
            Safe(&column),
            time(cell.timestamp_micros()),
            Safe(&shown(cell.value()))
        )?;
    }
    Ok(())
}
