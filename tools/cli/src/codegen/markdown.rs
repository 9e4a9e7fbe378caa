//! A page for a wiki: what the keys and columns of each table are.

use keyderive::dynamic::TableLayout;
use keyderive::key::{Field, FieldValues, SaltHash, Schema, Width};
use keyderive::row::RowSchema;

use super::row::{Absent, ColumnForm, KindForm, RowForm, StoredForm};
use super::{Output, Table};

pub(super) fn generate(tables: &[Table]) -> Output {
    let mut out = Output::default();
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            out.line("");
        }
        out.line(format!("# Table {}", code(&table.name)));
        for layout in &table.layouts {
            key(&mut out, layout.key().schema());
            for row in layout.row_types().iter().filter_map(|schema| RowForm::of(schema)) {
                columns(&mut out, &row);
            }
            families(&mut out, layout);
        }
    }
    out
}

fn key(out: &mut Output, schema: &Schema) {
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

fn columns(out: &mut Output, row: &RowForm) {
    out.line(format!("\n## Row {}\n", code(&row.row)));
    out.line("| column | stored as | cells | if absent |");
    out.line("|---|---|---|---|");
    for (family, column) in row.columns() {
        let former: Vec<_> =
            column.aliases.iter().map(|place| code(&format!("{}:{}", place.family, place.name))).collect();
        let former =
            if former.is_empty() { String::new() } else { format!(", formerly {}", former.join(", ")) };
        let absent = absent(column);
        let place = code(&format!("{family}:{}", column.name));
        out.line(format!(
            "| {place}{former} | {} | {} | {absent} |",
            stored(&column.stored, code),
            cells(column.kind)
        ));
    }
    for (family, key, values, kind) in row.maps() {
        let place = code(&format!("{family}:…"));
        out.line(format!(
            "| {place}, named by {} | {} | {} | none |",
            stored(key, code),
            stored(values, code),
            cells(kind)
        ));
    }
}

/// What an absent column is.
fn absent(column: &ColumnForm) -> &'static str {
    match (column.absent, column.kind) {
        (Absent::Error, _) => "the row cannot be read",
        (Absent::None, KindForm::Versions) => "no version",
        (Absent::None, _) => "none",
        (Absent::Default, KindForm::Counter | KindForm::Sum) => "0",
        (Absent::Default, _) => "a default of the program",
    }
}

/// The columns of a row type in words, a line each.
pub(super) fn columns_of(schema: &RowSchema) -> Vec<String> {
    let Some(row) = RowForm::of(schema) else { return Vec::new() };
    let plain: fn(&str) -> String = |name| format!("`{name}`");
    let columns = row.columns().map(|(family, column)| {
        let (stored, cells) = (stored(&column.stored, plain), cells(column.kind));
        format!("{family}:{}  {stored}; {cells}; if absent: {}", column.name, absent(column))
    });
    let maps = row.maps().map(|(family, key, values, kind)| {
        format!("{family}:…  {}, named by {}; {}", stored(values, plain), stored(key, plain), cells(kind))
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

fn cells(kind: KindForm) -> String {
    let hours = |what: &str, micros: u64| match micros {
        0 => format!("{what} for each window of time"),
        micros => format!("{what} for each window of {} s", micros / 1_000_000),
    };
    match kind {
        KindForm::Value => "the newest".to_owned(),
        KindForm::Timestamped => "the newest, with its time".to_owned(),
        KindForm::Versions => "every version".to_owned(),
        KindForm::Counter => "a counter".to_owned(),
        KindForm::Sum => "a sum of the server".to_owned(),
        KindForm::Min => "a minimum of the server".to_owned(),
        KindForm::Max => "a maximum of the server".to_owned(),
        KindForm::SumVersions { window_micros } => hours("a sum", window_micros),
        KindForm::MinVersions { window_micros } => hours("a minimum", window_micros),
        KindForm::MaxVersions { window_micros } => hours("a maximum", window_micros),
    }
}

/// How a value is stored, in words; `code` marks names.
fn stored(stored: &StoredForm, code: fn(&str) -> String) -> String {
    match stored {
        StoredForm::Integer { min, max } => format!("an integer, {min} to {max}"),
        StoredForm::NonZero { min, max } => format!("an integer, {min} to {max}, not 0"),
        StoredForm::Bool => "a `bool`".to_owned(),
        StoredForm::Code(variants) => {
            let codes: Vec<_> =
                variants.iter().map(|one| format!("{} {}", one.code, code(&one.name))).collect();
            format!("a code: {}", codes.join(", "))
        }
        StoredForm::F32 => "an `f32`".to_owned(),
        StoredForm::F64 => "an `f64`".to_owned(),
        StoredForm::Text => "text".to_owned(),
        StoredForm::Char => "a character".to_owned(),
        StoredForm::Enum(names) => {
            format!("one of {}", names.iter().map(|name| code(name)).collect::<Vec<_>>().join(", "))
        }
        StoredForm::Bytes => "bytes".to_owned(),
        StoredForm::Array(length) => format!("{length} bytes"),
        StoredForm::Unit => "no bytes".to_owned(),
        StoredForm::Uuid => "a UUID".to_owned(),
        StoredForm::IpAddress => "an IP address".to_owned(),
        StoredForm::Ipv4Address => "an IPv4 address".to_owned(),
        StoredForm::Ipv6Address => "an IPv6 address".to_owned(),
        StoredForm::Time => "a time in RFC 3339".to_owned(),
        StoredForm::Date => "a date".to_owned(),
        StoredForm::Json => "JSON".to_owned(),
        StoredForm::Proto => "a message of protobuf".to_owned(),
        StoredForm::UnixTime(unit) => format!("a time, in {} since 1970", code(unit)),
        StoredForm::Custom(of) => format!("what {} writes", code(of)),
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
