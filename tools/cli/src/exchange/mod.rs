//! Rows as csv and as lines of JSON, for `export` and `import`: what one writes, the other reads as the same rows.
//!
//! The text of a value is that of [`Value`](keyderive::dynamic::Value), which [`parse_cell`](keyderive::dynamic::parse_cell) reads. Csv has no
//! absent values, lists and maps, so that it needs rules of its own: [`HELP`] has them.

mod event;
mod lines;
mod read;
mod times;
mod write;

use keyderive::dynamic::{DynRow, TableLayout};
use keyderive::row::{CellType, ColumnSchema, DEFAULT_FAMILY, DeclaredColumn, RowSchema};
use keyderive::table::DynTable;

use clap::ValueEnum;

use crate::exit::{Failure, Outcome};

pub(crate) use self::event::{Event, EventReader, Place, TimeUnit};
pub(crate) use self::lines::{Digest, Fault, Line, Lines, json_fault};
pub(crate) use self::read::Reader;
pub(crate) use self::times::Times;
pub(crate) use self::write::Writer;

/// What both forms are, for the help of the commands.
pub(crate) const HELP: &str = "\
Forms:
  A record has the fields of the row key, by their names, and the columns, as `family:name`. Bytes are written as hexadecimal digits, and
  times in RFC 3339. Times as Postgres and BigQuery write them, `2026-11-24 08:00:00+00` and `2026-11-24 08:00:00 UTC`, are read too. A
  value with a timestamp is `{\"timestamp_micros\":…,\"value\":…}`, and versions are a list of such values; in csv both are JSON.
  A field that the key stores as a hash cannot be read from it: `:key` is then the whole row key, in hexadecimal after `0x`.

  json: one object in each line. An absent column is left out. An optional family that is present without any column is written as
        `family:` with the value true.
  csv:  the first line has the names. An empty cell is an absent column, or the empty text if the column is required. In an optional
        column, `\\empty` is the empty text; text that is `\\empty` itself, after any number of backslashes, gets one more backslash.
        `family:*` has the columns of a family that is a map, as a JSON object.

  Every NaN is written as the same NaN, whatever its bits are. An absent counter is written as 0, as programs read it. Aggregates are
  written but not imported, since the server computes them: leave them out with `--ignore`.";

/// The name of the row key itself.
const KEY: &str = ":key";
/// A cell of csv that is the empty text.
const EMPTY: &str = r"\empty";

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Comma-separated values.
    Csv,
    /// A line of JSON for each record.
    Json,
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// The parts of a table's rows.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    layout: TableLayout,
    empty: DynRow,
    /// The family of columns that are named without one.
    own: String,
    columns: Vec<(String, &'static ColumnSchema)>,
    /// The families that are maps.
    maps: Vec<String>,
    /// The families that may be absent.
    optional: Vec<String>,
    /// Whether keys cannot be encoded from what their fields decode to.
    is_hashed: bool,
}

impl Shape {
    /// # Errors
    /// If the layout has no row type, or several.
    pub(crate) fn new(table: &DynTable, layout: &TableLayout) -> Outcome<Self> {
        let Some(row) = layout.row_type() else {
            let names: Vec<_> = layout.row_types().iter().map(|row| format!("`{}`", row.name())).collect();
            return Err(Failure::refused(match names.is_empty() {
                true => format!("no row type of the table `{}` is known", table.name()),
                false => {
                    format!(
                        "table `{}` has several row types: {}; choose one by `--row-type`",
                        table.name(),
                        names.join(", ")
                    )
                }
            }));
        };
        Ok(Self::of_row(table.new_row(), row, layout))
    }

    pub(crate) fn of_row(empty: DynRow, row: &'static RowSchema, layout: &TableLayout) -> Self {
        let path =
            |(family, column): (&str, &'static ColumnSchema)| (format!("{family}:{}", column.name()), column);
        let columns: Vec<_> = row.columns().map(path).collect();
        let named = row.families().map(str::to_owned);
        let families: Vec<_> = match row.families().next() {
            // The whole row is a map.
            None => vec![DEFAULT_FAMILY.to_owned()],
            Some(_) => named.collect(),
        };
        let may_be_absent =
            |family: &&String| !empty.has_family(family) && empty.clone().set_family(family, true).is_ok();
        let optional: Vec<_> = families.iter().filter(may_be_absent).cloned().collect();
        let has_column =
            |family: &String| columns.iter().any(|(path, _)| path.split(':').next() == Some(family.as_str()));
        // The row does not have a family that has former names alone.
        let is_map =
            |family: &&String| !has_column(family) && (empty.has_family(family) || optional.contains(family));
        let maps = families.iter().filter(is_map).cloned().collect();
        let own = families.first().cloned().unwrap_or_default();
        let is_hashed = layout.key().schema().fields().iter().any(|field| field.hash_of().is_some());
        Self { layout: layout.clone(), empty, own, columns, maps, optional, is_hashed }
    }

    fn column(&self, path: &str) -> Option<&'static ColumnSchema> {
        self.columns.iter().find(|(known, _)| known == path).map(|(_, column)| *column)
    }

    /// Whether every row has the column: one of a family that may be absent is absent with it.
    fn is_required(&self, path: &str, column: &ColumnSchema) -> bool {
        let family = path.split(':').next();
        column.is_required() && !self.optional.iter().any(|known| Some(known.as_str()) == family)
    }

    /// How the cells of a column are stored.
    fn stored(&self, path: &str) -> Option<CellType> {
        let family = path.split(':').next().unwrap_or_default();
        let of_map = |column: DeclaredColumn| match column {
            DeclaredColumn::Map { family: of, stored, .. } => {
                (of == family || of.is_empty() && family == self.own).then_some(stored)
            }
            _ => None,
        };
        match self.column(path) {
            Some(column) => Some(column.stored()),
            None => self.layout.row_type().and_then(|row| row.declared_columns().find_map(of_map)),
        }
    }
}

/// Whether text is `\empty`, after any number of backslashes.
fn is_escaped(text: &str) -> bool {
    text.strip_prefix('\\').is_some_and(|rest| rest.trim_start_matches('\\') == &EMPTY[1..])
}
