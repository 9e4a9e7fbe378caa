//! A hash of a row type's layout, computed at compile time.

use super::{Alias, ColumnKind, ColumnSchema, FamilyRule, FieldSchema, RowSchema};
use crate::key::{ConstText, Fingerprint, Fnv};
use crate::row::CellType;

impl RowSchema {
    /// A hash of the layout: of the names, encodings and kinds of the columns and families, in the order of the fields.
    ///
    /// ```
    /// use keyderive::Row;
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: String,
    /// }
    ///
    /// println!("{}", Event::SCHEMA.fingerprint()); // for #[row(fingerprint = "…")]
    /// ```
    ///
    /// Rust types that are stored alike have the same fingerprint, and rules of families do not count. With
    /// `#[row(fingerprint = "…")]` a change of the layout fails the build. It is the same on every machine and in every release.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        // A map has the fingerprint of its type, whatever its table calls its family.
        let is_map = self.is_named_map();
        let mut hash = Fnv::new().text("keyderive row format 1").text(if is_map { "" } else { self.family });
        let mut at = 0;
        while at < self.fields.len() {
            hash = field(hash, &self.fields[at], is_map);
            at += 1;
        }
        let mut at = 0;
        while at < self.rules.len() {
            hash = exclusive(hash, &self.rules[at]);
            at += 1;
        }
        hash.fingerprint()
    }

    /// Fails the build if the layout is not the pinned one.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::panic)] // Evaluated at compile time only.
    pub const fn assert_fingerprint(&self, pinned: u64) {
        let now = self.fingerprint();
        if now.to_u64() != pinned {
            let text = ConstText::of_mismatch("row", pinned, now, "; undo the change, or pin the new value");
            panic!("{}", text.as_str());
        }
    }
}

/// What `put` deletes of a family.
const fn exclusive(hash: Fnv, rule: &FamilyRule) -> Fnv {
    if rule.is_exclusive { hash.text("exclusive").text(rule.family) } else { hash }
}

const fn field(hash: Fnv, field: &FieldSchema, is_row: bool) -> Fnv {
    match field {
        FieldSchema::Column { family, column: [one] } => column(hash.text("column").text(family), one),
        FieldSchema::Struct { family, columns, is_optional } => {
            let mut hash = hash.text("struct").text(family).number(*is_optional as u64);
            let mut at = 0;
            while at < columns.len() {
                hash = column(hash, &columns[at]);
                at += 1;
            }
            hash
        }
        FieldSchema::Map { family, key, stored: of, kind: is, is_optional: _ } => {
            let hash = hash.text("map").text(if is_row { "" } else { family });
            let hash = match key {
                CellType::Text => hash,
                key => stored(hash.text("key"), key),
            };
            kind(stored(hash, of), *is)
        }
    }
}

const fn column(hash: Fnv, column: &ColumnSchema) -> Fnv {
    let mut hash = hash.text(column.name);
    let mut at = 0;
    while at < column.aliases.len() {
        let Alias { family, name } = column.aliases[at];
        hash = hash.text("alias");
        if let Some(family) = family {
            hash = hash.text(family);
        }
        hash = hash.text(name);
        at += 1;
    }
    let hash = kind(stored(hash, &column.stored), column.kind).number(column.is_required as u64);
    windows(hash, column.window_micros)
}

const fn windows(hash: Fnv, micros: i64) -> Fnv {
    match micros {
        0 => hash,
        micros => hash.text("windows").number(micros.cast_unsigned()),
    }
}

const fn names(mut hash: Fnv, names: &[&str]) -> Fnv {
    let mut at = 0;
    while at < names.len() {
        hash = hash.text(names[at]);
        at += 1;
    }
    hash.number(names.len() as u64)
}

const fn kind(hash: Fnv, kind: ColumnKind) -> Fnv {
    hash.text(match kind {
        ColumnKind::Value => "value",
        ColumnKind::Timestamped => "timestamped",
        ColumnKind::Versions => "versions",
        ColumnKind::Counter => "counter",
        ColumnKind::Sum => "sum",
        ColumnKind::Min => "min",
        ColumnKind::Max => "max",
        ColumnKind::SumVersions => "sum versions",
        ColumnKind::MinVersions => "min versions",
        ColumnKind::MaxVersions => "max versions",
    })
}

const fn stored(hash: Fnv, stored: &CellType) -> Fnv {
    match stored {
        CellType::Integer { min, max } => {
            hash.text("integer").number(min.cast_unsigned()).number(max.cast_unsigned())
        }
        CellType::NonZero { min, max } => {
            hash.text("nonzero").number(min.cast_unsigned()).number(max.cast_unsigned())
        }
        CellType::Bool => hash.text("bool"),
        CellType::Code(codes) => {
            let (mut hash, mut at) = (hash.text("code"), 0);
            while at < codes.len() {
                hash = hash.number(codes[at].0.cast_unsigned());
                at += 1;
            }
            hash.number(codes.len() as u64)
        }
        CellType::F32 => hash.text("f32"),
        CellType::F64 => hash.text("f64"),
        CellType::Text => hash.text("text"),
        CellType::Char => hash.text("char"),
        CellType::Enum(variants) => names(hash.text("enum"), variants),
        CellType::Bytes => hash.text("bytes"),
        CellType::Array(length) => hash.text("array").number(*length as u64),
        CellType::Unit => hash.text("unit"),
        CellType::Uuid => hash.text("uuid"),
        CellType::IpAddress => hash.text("ip"),
        CellType::Ipv4Address => hash.text("ipv4"),
        CellType::Ipv6Address => hash.text("ipv6"),
        CellType::Time => hash.text("time"),
        CellType::Date => hash.text("date"),
        CellType::Json => hash.text("json"),
        CellType::Proto => hash.text("proto"),
        CellType::UnixTime(unit) => hash.text("unix").text(unit.name()),
        CellType::Custom(name) => hash.text("custom").text(name),
    }
}
