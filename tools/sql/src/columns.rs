//! The columns of a table: the Arrow types of key fields and cells, and conversions of values in both directions.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit as ArrowUnit, i256};
use datafusion::common::{Constraint, Constraints, Result, ScalarValue, plan_err};
use keyderive::dynamic::{TableLayout, Value};
use keyderive::key::{FieldValues, TimeUnit};
use keyderive::row::{CellType, ColumnKind, ColumnSchema, DeclaredColumn, RowSchema};

/// The type of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With the limits of a Rust type.
    Integer {
        min: i128,
        max: u128,
    },
    Bool,
    F32,
    F64,
    /// Text, and what is shown as text: names of variants, addresses, JSON.
    Text,
    /// Stored as numbers, shown as the names of variants.
    Code(&'static [(i64, &'static str)]),
    Bytes,
    /// Text of 36 characters, in lower case.
    Uuid,
    Time(TimeUnit),
    Date,
}

/// 128-bit integers have up to 39 digits.
const WIDE: DataType = DataType::Decimal256(39, 0);

/// The type of the times at which cells were written.
pub(crate) fn cell_time() -> DataType {
    timestamp(ArrowUnit::Microsecond)
}

fn timestamp(unit: ArrowUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

/// What a literal means for a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Value(Value),
    /// No row has it: it is NULL, or the column's type holds no such value.
    Never,
}

impl Kind {
    pub(crate) fn of_cell(stored: CellType) -> Self {
        match stored {
            CellType::Integer { .. } | CellType::NonZero { .. } => Self::INT64,
            CellType::Bool => Self::Bool,
            CellType::Code(codes) => Self::Code(codes),
            CellType::F32 => Self::F32,
            CellType::F64 => Self::F64,
            CellType::Text
            | CellType::Char
            | CellType::Enum(_)
            | CellType::Json
            | CellType::IpAddress
            | CellType::Ipv4Address
            | CellType::Ipv6Address => Self::Text,
            CellType::Uuid => Self::Uuid,
            CellType::Time => Self::Time(TimeUnit::Nanos),
            CellType::UnixTime(unit) => Self::Time(unit),
            CellType::Date => Self::Date,
            // Bytes, messages, and what an encoding of the user's own writes.
            _ => Self::Bytes,
        }
    }

    const INT64: Self = Self::Integer { min: i64::MIN as i128, max: i64::MAX as u128 };

    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Integer { min, max } => {
                let is = |least: i128, greatest: u128| min >= least && max <= greatest;
                match min {
                    0.. if is(0, u8::MAX.into()) => DataType::UInt8,
                    0.. if is(0, u16::MAX.into()) => DataType::UInt16,
                    0.. if is(0, u32::MAX.into()) => DataType::UInt32,
                    0.. if is(0, u64::MAX.into()) => DataType::UInt64,
                    _ if is(i8::MIN.into(), i8::MAX as u128) => DataType::Int8,
                    _ if is(i16::MIN.into(), i16::MAX as u128) => DataType::Int16,
                    _ if is(i32::MIN.into(), i32::MAX as u128) => DataType::Int32,
                    _ if is(i64::MIN.into(), i64::MAX as u128) => DataType::Int64,
                    _ => WIDE,
                }
            }
            Self::Bool => DataType::Boolean,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
            Self::Text | Self::Code(_) | Self::Uuid => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::Time(unit) => timestamp(match unit {
                TimeUnit::Secs => ArrowUnit::Second,
                TimeUnit::Millis => ArrowUnit::Millisecond,
                TimeUnit::Micros => ArrowUnit::Microsecond,
                _ => ArrowUnit::Nanosecond,
            }),
            Self::Date => DataType::Date32,
        }
    }

    /// What a literal of the column's own type means; `None` for another type, with which DataFusion compares after a cast, which may round.
    pub(crate) fn literal(self, scalar: &ScalarValue) -> Option<Literal> {
        use ScalarValue as S;
        if let S::Dictionary(_, inner) = scalar {
            return self.literal(inner);
        }
        if scalar.is_null() {
            return Some(Literal::Never);
        }
        let value = match (self, scalar) {
            (
                Self::Text | Self::Code(_) | Self::Uuid,
                S::Utf8(Some(text)) | S::LargeUtf8(Some(text)) | S::Utf8View(Some(text)),
            ) => match self {
                Self::Uuid => match uuid(text) {
                    Some(uuid) => Value::Uuid(uuid),
                    None => return Some(Literal::Never),
                },
                _ => Value::Text(text.clone()),
            },
            (
                Self::Bytes,
                S::Binary(Some(bytes)) | S::LargeBinary(Some(bytes)) | S::BinaryView(Some(bytes)),
            ) => Value::Bytes(bytes.clone()),
            (Self::Bool, S::Boolean(Some(value))) => Value::Bool(*value),
            (Self::F32, S::Float32(Some(value))) => Value::F32(*value),
            (Self::F64, S::Float64(Some(value))) => Value::F64(*value),
            (Self::Date, S::Date32(Some(days))) => Value::Date((*days).into()),
            (Self::Integer { .. } | Self::Time(_), _) if scalar.data_type() == self.data_type() => {
                match scalar {
                    S::UInt8(Some(value)) => (*value).into(),
                    S::UInt16(Some(value)) => (*value).into(),
                    S::UInt32(Some(value)) => (*value).into(),
                    S::UInt64(Some(value)) => (*value).into(),
                    S::Int8(Some(value)) => (*value).into(),
                    S::Int16(Some(value)) => (*value).into(),
                    S::Int32(Some(value)) => (*value).into(),
                    S::Int64(Some(value)) => (*value).into(),
                    S::Decimal256(Some(value), ..) => wide(*value)?,
                    S::TimestampSecond(Some(value), _)
                    | S::TimestampMillisecond(Some(value), _)
                    | S::TimestampMicrosecond(Some(value), _)
                    | S::TimestampNanosecond(Some(value), _) => {
                        Value::Time(i128::from(*value) * self.nanos())
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Literal::Value(value))
    }

    /// How many nanoseconds a unit of this kind of times has.
    pub(crate) fn nanos(self) -> i128 {
        match self {
            Self::Time(TimeUnit::Secs) => 1_000_000_000,
            Self::Time(TimeUnit::Millis) => 1_000_000,
            Self::Time(TimeUnit::Micros) => 1_000,
            _ => 1,
        }
    }
}

/// The number, if 128 bits hold it.
fn wide(value: i256) -> Option<Value> {
    match value.to_i128() {
        Some(value) => Some(Value::Integer(value)),
        None if value.is_negative() => None,
        None => value.to_string().parse().ok().map(Value::Unsigned),
    }
}

/// The UUID that text in the form of the column says.
fn uuid(text: &str) -> Option<u128> {
    let is_canonical = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        });
    is_canonical.then(|| u128::from_str_radix(&text.replace('-', ""), 16).ok())?
}

/// The kind of the stored bytes of a row key's field.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumn {
    /// The index of the field in the key.
    pub(crate) field: usize,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The names of an enum's variants, whose keys are in the order of their codes.
    pub(crate) variants: Option<Vec<&'static str>>,
}

impl KeyColumn {
    /// The column of a field; a hash has none, since its value is not in the key.
    fn of(field: usize, of: &keyderive::key::Field) -> Option<Self> {
        let kind = match of.values() {
            FieldValues::Integer { min, max } => Kind::Integer { min, max },
            FieldValues::Bool => Kind::Bool,
            FieldValues::Text | FieldValues::Char | FieldValues::Codes(_) => Kind::Text,
            FieldValues::Time { .. } => of.time_unit().map_or(Kind::Bytes, Kind::Time),
            FieldValues::Date => Kind::Date,
            FieldValues::Uuid { .. } => Kind::Uuid,
            // Bytes, and what a module of the user's own writes.
            _ => Kind::Bytes,
        };
        let variants = match of.values() {
            FieldValues::Codes(codes) => Some(codes.iter().map(|(_, name)| *name).collect()),
            _ => None,
        };
        of.hash_of().is_none().then_some(Self { field, name: of.name(), kind, variants })
    }
}

/// One column of cells.
#[derive(Clone, Debug)]
pub(crate) struct CellColumn {
    pub(crate) qualifier: &'static str,
    pub(crate) kind: Kind,
    pub(crate) reads: ColumnKind,
    pub(crate) is_required: bool,
}

impl CellColumn {
    fn data_type(&self) -> DataType {
        cells_type(self.kind, self.reads)
    }
}

/// The type of the cells of one column.
pub(crate) fn cells_type(kind: Kind, reads: ColumnKind) -> DataType {
    if reads.reads_versions() {
        DataType::List(Arc::new(Field::new_list_field(DataType::Struct(version_fields(kind)), true)))
    } else if reads == ColumnKind::Timestamped {
        DataType::Struct(version_fields(kind))
    } else {
        kind.data_type()
    }
}

/// A value and when it was written. All fields of structs are nullable, even if never NULL: DataFusion does not cast one struct type to
/// another.
pub(crate) fn version_fields(kind: Kind) -> Fields {
    Fields::from(vec![
        Field::new("timestamp", cell_time(), true),
        Field::new("value", kind.data_type(), true),
    ])
}

/// A column that is not of the key.
#[derive(Clone, Debug)]
pub(crate) struct RowColumn {
    /// The index of its first column among those that the row type declares.
    pub(crate) first: usize,
    pub(crate) family: &'static str,
    pub(crate) shape: Shape,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Cell(CellColumn),
    /// A family that may be absent; its columns are declared one after the other.
    Family(Vec<CellColumn>),
    Map {
        is_text: bool,
        kind: Kind,
        reads: ColumnKind,
        is_optional: bool,
    },
}

impl RowColumn {
    /// The indices of the declared columns that it is made of.
    pub(crate) fn declared(&self) -> Range<usize> {
        let count = if let Shape::Family(columns) = &self.shape { columns.len() } else { 1 };
        self.first..self.first + count
    }

    pub(crate) fn data_type(&self) -> DataType {
        match &self.shape {
            Shape::Cell(column) => column.data_type(),
            Shape::Family(columns) => DataType::Struct(family_fields(columns)),
            Shape::Map { is_text, kind, reads, .. } => {
                DataType::Map(Arc::new(map_entries(*is_text, *kind, *reads)), false)
            }
        }
    }

    fn is_nullable(&self) -> bool {
        match &self.shape {
            Shape::Cell(column) => !column.is_required,
            Shape::Family(_) => true,
            Shape::Map { is_optional, .. } => *is_optional,
        }
    }

    fn name(&self) -> &'static str {
        match &self.shape {
            Shape::Cell(column) => column.qualifier,
            Shape::Family(_) | Shape::Map { .. } => self.family,
        }
    }

    /// The long name, for when a key field or another column has the short one, as in calls of `DynTable`.
    fn long_name(&self) -> String {
        match &self.shape {
            Shape::Cell(column) => format!("{}:{}", self.family, column.qualifier),
            Shape::Family(_) | Shape::Map { .. } => format!("{}:", self.family),
        }
    }
}

/// The columns of a family that is a struct.
pub(crate) fn family_fields(columns: &[CellColumn]) -> Fields {
    columns.iter().map(|column| Field::new(column.qualifier, column.data_type(), true)).collect()
}

/// The entries of a map, with the names of its columns.
pub(crate) fn map_entries(is_text: bool, kind: Kind, reads: ColumnKind) -> Field {
    let key = Field::new("key", if is_text { DataType::Utf8 } else { DataType::Binary }, false);
    let value = Field::new("value", cells_type(kind, reads), true);
    Field::new("entries", DataType::Struct(Fields::from(vec![key, value])), false)
}

/// The columns of a table, the key's before the rows'.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) key: Vec<KeyColumn>,
    pub(crate) row: Vec<RowColumn>,
    pub(crate) schema: SchemaRef,
    /// The primary key, unless a field of the key has no column.
    pub(crate) constraints: Constraints,
}

impl Columns {
    pub(crate) fn of(layout: &TableLayout) -> Result<Self> {
        let fields = layout.key().schema().fields();
        let key: Vec<_> = fields.iter().enumerate().filter_map(|(at, of)| KeyColumn::of(at, of)).collect();
        let row = layout.row_type().map_or_else(Vec::new, |row| row_columns(row, layout.family()));
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for name in key.iter().map(|column| column.name).chain(row.iter().map(RowColumn::name)) {
            *uses.entry(name).or_default() += 1;
        }
        let keys = key.iter().map(|column| Field::new(column.name, column.kind.data_type(), false));
        let rows = row.iter().map(|column| {
            let name = if uses[column.name()] > 1 { column.long_name() } else { column.name().to_owned() };
            Field::new(name, column.data_type(), column.is_nullable())
        });
        let all: Vec<_> = keys.chain(rows).collect();
        let mut names: Vec<_> = all.iter().map(Field::name).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[one, other]| one == other) {
            return plan_err!(
                "the table `{}` has two columns `{name}`: rename a field of the key",
                layout.name()
            );
        }
        let mut constraints = Vec::new();
        if key.len() == fields.len() {
            constraints.push(Constraint::PrimaryKey((0..key.len()).collect()));
        }
        let constraints = Constraints::new_unverified(constraints);
        Ok(Self { key, row, schema: Arc::new(Schema::new(all)), constraints })
    }

    /// The key's column of this name.
    pub(crate) fn key_named(&self, name: &str) -> Option<&KeyColumn> {
        self.key.iter().find(|column| column.name == name)
    }
}

/// The columns of a row type.
fn row_columns(row_type: &RowSchema, own_family: &'static str) -> Vec<RowColumn> {
    let cell = |column: &ColumnSchema| CellColumn {
        qualifier: column.name(),
        kind: Kind::of_cell(column.stored()),
        reads: column.kind(),
        is_required: column.is_required(),
    };
    let mut all: Vec<RowColumn> = Vec::new();
    for (first, declared) in row_type.declared_columns().enumerate() {
        let (family, shape) = match declared {
            DeclaredColumn::Column { family, column, in_optional_family: true } => {
                if let Some(RowColumn { family: of, shape: Shape::Family(columns), .. }) = all.last_mut()
                    && *of == family
                {
                    columns.push(cell(column));
                    continue;
                }
                (family, Shape::Family(vec![cell(column)]))
            }
            DeclaredColumn::Column { family, column, .. } => (family, Shape::Cell(cell(column))),
            DeclaredColumn::Map { family, key, stored, kind, is_optional } => {
                let is_text = !matches!(key, CellType::Bytes | CellType::Array(_) | CellType::Custom(_));
                (family, Shape::Map { is_text, kind: Kind::of_cell(stored), reads: kind, is_optional })
            }
            _ => continue,
        };
        // A row that is a map names no family.
        let family = if family.is_empty() { own_family } else { family };
        all.push(RowColumn { first, family, shape });
    }
    all
}
