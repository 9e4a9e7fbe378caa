//! A query for each key type and row type, which computes the typed fields of the key and the columns.

use keyderive::dynamic::TableLayout;
use keyderive::key::TimeUnit;
use keyderive::row::{CellType, ColumnSchema, DeclaredColumn, RowSchema};

use super::{Names, Output, Table, map_family, one_line};

pub(super) fn generate(tables: &[Table]) -> Output {
    let mut out = Output::default();
    out.line("-- Made by `keyderive codegen --sql` from a layout file, for Bigtable's SQL.");
    out.line("-- The server seeks by conditions on the key's columns as they are stored, from the left, salt first; a condition on an");
    out.line("-- expression is computed for every row.");
    for layout in tables.iter().flat_map(|table| &table.layouts) {
        if layout.row_types().is_empty() {
            select(&mut out, layout, None);
        }
        for row in layout.row_types() {
            select(&mut out, layout, Some(row));
        }
    }
    out
}

fn select(out: &mut Output, layout: &TableLayout, row: Option<&RowSchema>) {
    let schema = layout.key().schema();
    out.line(format!(
        "\n-- Keys `{}`: {}",
        one_line(schema.key_type()),
        one_line(&schema.template().to_string())
    ));
    if let Some(row) = row {
        out.line(format!("-- Rows `{}`", one_line(row.name())));
    }
    let mut names = Names::default();
    let mut columns = Vec::new();
    match schema.sql() {
        // The names of the fields were checked: they are letters, digits and `_`.
        Ok(sql) => {
            for field in schema.fields() {
                let expression = sql.field(field.name()).unwrap_or("NULL");
                columns.push(format!("{expression} AS {}", quoted(&names.take(field.name()))));
            }
        }
        Err(error) => {
            let gap = format!("table `{}`: the key has no typed fields in SQL: {error}", layout.name());
            out.gap("--", gap);
            columns.push(format!("_key AS {}", quoted(&names.take("row_key"))));
        }
    }
    // A family that is a map comes last, under its name.
    let mut families = Vec::new();
    for declared in row.into_iter().flat_map(RowSchema::declared_columns) {
        match declared {
            DeclaredColumn::Column { family, column, .. } => {
                let alias = names.take(column.name());
                columns.push(format!("{} AS {}", expression(family, column), quoted(&alias)));
            }
            DeclaredColumn::Map { family, .. } => families.push(map_family(family)),
            _ => {}
        }
    }
    columns.extend(families.into_iter().map(|family| format!("{0} AS {0}", quoted(&names.take(family)))));
    out.line("SELECT");
    out.line(format!("  {}", columns.join(",\n  ")));
    out.line(format!("FROM {};", quoted(layout.name())));
}

/// The newest value of a column, by its type.
fn expression(family: &str, column: &ColumnSchema) -> String {
    let cell = format!("{}[{}]", quoted(family), string(column.name()));
    // The family of an aggregate has a type.
    if column.kind().is_aggregate() {
        return cell;
    }
    let text = || format!("CAST({cell} AS STRING)");
    match column.stored() {
        CellType::Integer { .. } | CellType::NonZero { .. } | CellType::Code(_) => {
            format!("TO_INT64({cell})")
        }
        CellType::Bool => format!("TO_INT64({cell}) = 1"),
        CellType::F64 => format!("TO_FLOAT64({cell})"),
        CellType::F32 => format!("TO_FLOAT32({cell})"),
        CellType::UnixTime(TimeUnit::Secs) => format!("TIMESTAMP_SECONDS(TO_INT64({cell}))"),
        CellType::UnixTime(TimeUnit::Millis) => format!("TIMESTAMP_MILLIS(TO_INT64({cell}))"),
        CellType::UnixTime(TimeUnit::Micros) => format!("TIMESTAMP_MICROS(TO_INT64({cell}))"),
        // A count of nanoseconds is more than a `TIMESTAMP` holds.
        CellType::UnixTime(_) => format!("TO_INT64({cell})"),
        CellType::Text
        | CellType::Char
        | CellType::Enum(_)
        | CellType::Uuid
        | CellType::IpAddress
        | CellType::Ipv4Address
        | CellType::Ipv6Address
        | CellType::Json => text(),
        // A `TIMESTAMP` holds microseconds: CAST fails for nanoseconds, where this rounds down.
        CellType::Time => format!("PARSE_TIMESTAMP('%FT%H:%M:%E*S%Ez', {})", text()),
        CellType::Date => format!("CAST({} AS DATE)", text()),
        _ => cell,
    }
}

/// A name, quoted.
fn quoted(name: &str) -> String {
    format!("`{}`", escaped(name, '`'))
}

/// A literal of a string.
fn string(text: &str) -> String {
    format!("'{}'", escaped(text, '\''))
}

/// GoogleSQL has the same escapes in names and in strings.
fn escaped(text: &str, quote: char) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str(r"\\"),
            c if c == quote => escaped.extend(['\\', c]),
            c if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() => escaped.push(c),
            c => escaped.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    escaped
}
