//! A query for each key type and row type, which computes the typed fields of the key and the columns.

use keyderive::dynamic::TableLayout;

use super::row::{ColumnForm, KindForm, RowForm, StoredForm};
use super::{Names, Output, Table, one_line};

pub(super) fn generate(tables: &[Table]) -> Output {
    let mut out = Output::default();
    out.line("-- Made by `keyderive codegen --sql` from a layout file, for Bigtable's SQL.");
    out.line("-- The server seeks by conditions on the key's columns as they are stored, from the left, salt first; a condition on an");
    out.line("-- expression is computed for every row.");
    for layout in tables.iter().flat_map(|table| &table.layouts) {
        if layout.row_types().is_empty() {
            select(&mut out, layout, None);
        }
        for row in layout.row_types().iter().filter_map(|schema| RowForm::of(schema)) {
            select(&mut out, layout, Some(&row));
        }
    }
    out
}

fn select(out: &mut Output, layout: &TableLayout, row: Option<&RowForm>) {
    let schema = layout.key().schema();
    out.line(format!(
        "\n-- Keys `{}`: {}",
        one_line(schema.key_type()),
        one_line(&schema.template().to_string())
    ));
    if let Some(row) = row {
        out.line(format!("-- Rows `{}`", one_line(&row.row)));
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
    for (family, column) in row.into_iter().flat_map(RowForm::columns) {
        let alias = names.take(&column.name);
        columns.push(format!("{} AS {}", expression(family, column), quoted(&alias)));
    }
    for (family, ..) in row.into_iter().flat_map(RowForm::maps) {
        columns.push(format!("{0} AS {0}", quoted(&names.take(family))));
    }
    out.line("SELECT");
    out.line(format!("  {}", columns.join(",\n  ")));
    out.line(format!("FROM {};", quoted(layout.name())));
}

/// The newest value of a column, by its type.
fn expression(family: &str, column: &ColumnForm) -> String {
    let cell = format!("{}[{}]", quoted(family), string(&column.name));
    match column.kind {
        // The family has a type.
        KindForm::Sum | KindForm::Min | KindForm::Max => return cell,
        KindForm::SumVersions { .. } | KindForm::MinVersions { .. } | KindForm::MaxVersions { .. } => {
            return cell;
        }
        _ => {}
    }
    let text = || format!("CAST({cell} AS STRING)");
    match &column.stored {
        StoredForm::Integer { .. } | StoredForm::NonZero { .. } | StoredForm::Code(_) => {
            format!("TO_INT64({cell})")
        }
        StoredForm::Bool => format!("TO_INT64({cell}) = 1"),
        StoredForm::F64 => format!("TO_FLOAT64({cell})"),
        StoredForm::F32 => format!("TO_FLOAT32({cell})"),
        StoredForm::UnixTime(unit) => match unit.as_str() {
            "secs" => format!("TIMESTAMP_SECONDS(TO_INT64({cell}))"),
            "millis" => format!("TIMESTAMP_MILLIS(TO_INT64({cell}))"),
            "micros" => format!("TIMESTAMP_MICROS(TO_INT64({cell}))"),
            // A count of nanoseconds is more than a `TIMESTAMP` holds.
            _ => format!("TO_INT64({cell})"),
        },
        StoredForm::Text
        | StoredForm::Char
        | StoredForm::Enum(_)
        | StoredForm::Uuid
        | StoredForm::IpAddress
        | StoredForm::Ipv4Address
        | StoredForm::Ipv6Address
        | StoredForm::Json => text(),
        StoredForm::Time => format!("CAST({} AS TIMESTAMP)", text()),
        StoredForm::Date => format!("CAST({} AS DATE)", text()),
        StoredForm::Bytes
        | StoredForm::Array(_)
        | StoredForm::Unit
        | StoredForm::Proto
        | StoredForm::Custom(_) => cell,
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
