//! A page for a wiki: what the keys and columns of each table are.

use std::time::Duration;

use keyderive::dynamic::TableLayout;
use keyderive::key::{Field, FieldValues, KeySchema, SaltHash, Width};
use keyderive::row::{CellType, ColumnKind, ColumnSchema, DeclaredColumn, RowSchema};

use super::{Output, Table, map_family};

pub(super) fn generate(tables: &[Table]) -> Output {
    let mut out = Output::default();
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            out.line("");
        }
        out.line(format!("# Table {}", code(&table.name)));
        for layout in &table.layouts {
            key(&mut out, layout.key().schema());
            for row in layout.row_types() {
                columns(&mut out, row);
            }
            families(&mut out, layout);
        }
    }
    out
}

fn key(out: &mut Output, schema: &KeySchema) {
    out.line(format!("\n## Key {}\n", code(schema.key_type())));
    out.line(format!("{}\n", code(&schema.template().to_string())));
    out.line(format!(
        "{} to {} bytes, fingerprint {}.",
        schema.min_len(),
        schema.max_len(),
        code(&schema.fingerprint().to_string())
    ));
    let since = schema.epochs().iter().map(|epoch| (Some(epoch.since()), epoch.salt()));
    for (since, salt) in schema.salt().map(|salt| (None, salt)).into_iter().chain(since) {
        let over: Vec<_> = salt.over().iter().map(|at| code(schema.fields()[*at].name())).collect();
        let hash = if salt.hash() == SaltHash::Java { "Java's `String.hashCode`" } else { "FarmHash" };
        let since = since.map(|since| format!(" from {since} on")).unwrap_or_default();
        out.line(format!("The salt{since} has {} buckets: {hash} of {}.", salt.range(), over.join(", ")));
    }
    out.line("\n| field | values | stored as | bytes | order |");
    out.line("|---|---|---|---|---|");
    for field in schema.fields() {
        let order = match field.order() {
            order if order.is_reversed() => "descending",
            order => order.name(),
        };
        let written = escaped(&field.written().to_string());
        let (name, values, width) = (code(field.name()), values(field), width(field.width()));
        out.line(format!("| {name} | {values} | {written} | {width} | {order} |"));
    }
}

fn values(field: &Field) -> String {
    match field.values() {
        FieldValues::Integer { min, max } => format!("integers, {min} to {max}"),
        FieldValues::Bool => "`true`, `false`".to_owned(),
        FieldValues::Text => "text".to_owned(),
        FieldValues::Char => "a character".to_owned(),
        FieldValues::Bytes => "bytes".to_owned(),
        FieldValues::Codes(codes) => {
            let codes: Vec<_> =
                codes.iter().map(|(number, name)| format!("{number} {}", code(name))).collect();
            codes.join(", ")
        }
        FieldValues::Time { exact: true } => "times, none finer than the unit".to_owned(),
        FieldValues::Time { exact: false } => "times, rounded down to the unit".to_owned(),
        FieldValues::Date => "dates".to_owned(),
        FieldValues::Uuid { version: Some(version) } => format!("UUIDs of version {version}"),
        FieldValues::Uuid { version: None } => "UUIDs".to_owned(),
        _ => "what the program takes".to_owned(),
    }
}

fn width(width: Width) -> String {
    match width {
        Width::Fixed(width) => width.to_string(),
        Width::Between(min, max) => format!("{min} to {max}"),
        _ => "any number".to_owned(),
    }
}

fn columns(out: &mut Output, row: &RowSchema) {
    out.line(format!("\n## Row {}\n", code(row.name())));
    out.line("| column | stored as | cells | if absent |");
    out.line("|---|---|---|---|");
    for (family, column) in row.columns() {
        let place = |family: &str, name: &str| code(&format!("{family}:{name}"));
        let former: Vec<_> =
            column.former_places().map(|(of, name)| place(of.unwrap_or(family), name)).collect();
        let former =
            if former.is_empty() { String::new() } else { format!(", formerly {}", former.join(", ")) };
        let (stored, cells) = (stored(column.stored(), code), cells_of(column));
        let place = place(family, column.name());
        out.line(format!("| {place}{former} | {stored} | {cells} | {} |", absent(column)));
    }
    for (family, key, values, kind) in maps(row) {
        let place = code(&format!("{family}:…"));
        let (key, values) = (stored(key, code), stored(values, code));
        out.line(format!("| {place}, named by {key} | {values} | {} | none |", cells(kind, None)));
    }
}

/// The families that are maps, with how the names of their columns and their cells are stored.
fn maps(row: &RowSchema) -> impl Iterator<Item = (&'static str, CellType, CellType, ColumnKind)> {
    row.declared_columns().filter_map(|declared| match declared {
        DeclaredColumn::Map { family, key, stored, kind, .. } => {
            Some((map_family(family), key, stored, kind))
        }
        _ => None,
    })
}

/// What an absent column is.
fn absent(column: &ColumnSchema) -> &'static str {
    match column.kind() {
        _ if column.is_required() => "the row cannot be read",
        ColumnKind::Counter | ColumnKind::Sum => "0",
        _ if column.has_default() => "a default of the program",
        ColumnKind::Versions => "no version",
        _ => "none",
    }
}

/// The columns of a row type in words, a line each.
pub(super) fn columns_of(row: &RowSchema) -> Vec<String> {
    let plain: fn(&str) -> String = |name| format!("`{name}`");
    let columns = row.columns().map(|(family, column)| {
        let (stored, cells) = (stored(column.stored(), plain), cells_of(column));
        format!("{family}:{}  {stored}; {cells}; if absent: {}", column.name(), absent(column))
    });
    let maps = maps(row).map(|(family, key, values, kind)| {
        let (key, values) = (stored(key, plain), stored(values, plain));
        format!("{family}:…  {values}, named by {key}; {}", cells(kind, None))
    });
    columns.chain(maps).collect()
}

fn families(out: &mut Output, layout: &TableLayout) {
    match layout.families() {
        Ok(families) if families.is_empty() => {}
        Ok(families) => {
            out.line("\n| family | removed |");
            out.line("|---|---|");
            for family in families {
                out.line(format!("| {} | {} |", code(family.name()), escaped(&family.gc_rule().to_string())));
            }
        }
        Err(error) => out.gaps.push(error.to_string()),
    }
}

fn cells_of(column: &ColumnSchema) -> String {
    cells(column.kind(), column.window())
}

fn cells(kind: ColumnKind, window: Option<Duration>) -> String {
    let windows = |what: &str| match window {
        None => format!("{what} for each window of time"),
        Some(window) => format!("{what} for each window of {} s", window.as_secs()),
    };
    match kind {
        ColumnKind::Timestamped => "the newest, with its time".to_owned(),
        ColumnKind::Versions => "every version".to_owned(),
        ColumnKind::Counter => "a counter".to_owned(),
        ColumnKind::Sum => "a sum of the server".to_owned(),
        ColumnKind::Min => "a minimum of the server".to_owned(),
        ColumnKind::Max => "a maximum of the server".to_owned(),
        ColumnKind::SumVersions => windows("a sum"),
        ColumnKind::MinVersions => windows("a minimum"),
        ColumnKind::MaxVersions => windows("a maximum"),
        _ => "the newest".to_owned(),
    }
}

/// How a value is stored, in words; `code` marks names.
fn stored(stored: CellType, code: fn(&str) -> String) -> String {
    match stored {
        CellType::Code(variants) => {
            let codes: Vec<_> =
                variants.iter().map(|(number, name)| format!("{number} {}", code(name))).collect();
            format!("a code: {}", codes.join(", "))
        }
        CellType::Enum(names) => {
            format!("one of {}", names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", "))
        }
        CellType::Custom(of) => format!("what {} writes", code(of)),
        // The others have no names.
        stored => stored.to_string(),
    }
}

/// Text as code, on one line of a table.
fn code(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-.:#<>+/=…".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && text.trim() == text {
        return format!("`{text}`");
    }
    format!("<code>{}</code>", escaped(text))
}

/// Text without markup, on one line of a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || " .,:;-()/=+%".contains(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&format!("&#{};", u32::from(c)));
        }
    }
    escaped
}
