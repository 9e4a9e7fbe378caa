//! Rows by a schema that is known at run time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::slice;
use std::sync::Arc;

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::read::{DynColumnRef, DynReader, DynRowRef, RowBuffer, RowReader};
use super::{Value, ValueRef};
use crate::row::generated as typed;
use crate::row::{
    Any, CellError, CellType, CellWriter, ColumnKind, ColumnRef, ColumnSchema, DEFAULT_FAMILY, Entry,
    EscapedText, FieldSchema, Mutation, MutationList, Name, RawCell, RawCells, RawRow, RowError, RowSchema,
    RowWriter, Shown, Timestamped, Versions, check_kind,
};

/// A row with a schema in place of a Rust type: reads and writes as the row type with that schema does.
///
/// ```
/// use keyderive::Row;
/// use keyderive::dynamic::{DynRow, Value};
/// use keyderive::row::RowSchema;
///
/// #[derive(Row)]
/// struct Event {
///     kind: String,
///     note: Option<String>,
///     #[row(counter)]
///     views: i64,
/// }
///
/// let schema = RowSchema::from_json(&Event::SCHEMA.to_json())?;
/// let mut event = DynRow::new(schema);
/// event.set("kind", "login")?.set("cf:views", 3)?;
/// assert_eq!(event.column("kind").and_then(|kind| kind.value().newest()), Some(&Value::from("login")));
/// assert_eq!(event.to_string(), "Event\n  cf:kind: \"login\"\n  cf:note: absent\n  cf:views: 3\n");
///
/// let error = event.set("views", "many").unwrap_err().to_string();
/// assert!(error.starts_with("column `cf:views` holds an integer of -9223372036854775808 to"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `{}` prints a line for each column, `{:?}` the same in one line, and [`serde::Serialize`] gives a map of the present columns, with
/// times, dates and UUIDs as text, bytes as hexadecimal digits, and versions as a list of their timestamps and values.
///
/// Columns are named `family:name`, or `name` in the row's own family. In a map whose keys are bytes, a name that is not ASCII text is
/// escaped.
#[derive(Clone, PartialEq)]
pub struct DynRow {
    schema: &'static RowSchema,
    /// The family of a row that is a map.
    family: Arc<str>,
    /// One for each field of the schema.
    fields: Vec<Field>,
    foreign: RawRow,
}

#[derive(Clone, PartialEq)]
enum Field {
    /// An absent family.
    Absent,
    Column(ColumnValue),
    /// The columns of a struct.
    Columns(Vec<ColumnValue>),
    /// By their qualifiers.
    Map(BTreeMap<Bytes, ColumnValue>),
}

/// What a column of a [`DynRow`] holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnValue {
    /// No value: the column is absent.
    Absent,
    /// The column is absent, and reads as a default that only the program with the row type knows.
    Default,
    /// A value, a count, or an aggregate of all time.
    Value(Value),
    /// A value with a timestamp of its own.
    Timestamped(Timestamped<Value>),
    /// Every version, or an aggregate for each window of time.
    Versions(Versions<Value>),
}

impl ColumnValue {
    /// The value, or the newest of several.
    #[must_use]
    pub fn newest(&self) -> Option<&Value> {
        match self {
            Self::Absent | Self::Default => None,
            Self::Value(value) => Some(value),
            Self::Timestamped(value) => Some(&value.value),
            Self::Versions(versions) => versions.newest(),
        }
    }

    /// Whether nothing is stored.
    fn is_absent(&self) -> bool {
        match self {
            Self::Absent | Self::Default => true,
            Self::Versions(versions) => versions.is_empty(),
            Self::Value(_) | Self::Timestamped(_) => false,
        }
    }
}

impl Field {
    /// The field whose first column has this index in a row.
    fn of_read(schema: &FieldSchema, row: DynRowRef<'_>, first: usize) -> Self {
        let value = |at: usize, kind| {
            row.column(at).map_or(ColumnValue::Absent, |column| ColumnValue::of_read(column, kind))
        };
        match schema {
            FieldSchema::Column { column: [column], .. } => Self::Column(value(first, column.kind())),
            FieldSchema::Struct { columns, .. } => {
                Self::Columns((first..).zip(*columns).map(|(at, column)| value(at, column.kind())).collect())
            }
            FieldSchema::Map { kind, .. } => {
                let entry = |entry: DynColumnRef<'_>| {
                    (Bytes::copy_from_slice(entry.qualifier()), ColumnValue::of_read(entry, *kind))
                };
                Self::Map(row.entries(first).into_iter().flatten().map(entry).collect())
            }
        }
    }

    /// The values of the columns that have a name in the type.
    fn values(&self) -> &[ColumnValue] {
        match self {
            Self::Column(value) => slice::from_ref(value),
            Self::Columns(values) => values,
            Self::Absent | Self::Map(_) => &[],
        }
    }
}

impl ColumnValue {
    fn of_read(column: DynColumnRef<'_>, kind: ColumnKind) -> Self {
        let own =
            |cell: &Timestamped<ValueRef<'_>>| Timestamped::new(cell.timestamp_micros, cell.value.to_value());
        match (kind, column.cells()) {
            (kind, cells) if kind.reads_versions() => Self::Versions(cells.iter().map(own).collect()),
            (_, []) if column.is_default() => Self::Default,
            (_, []) => Self::Absent,
            (ColumnKind::Timestamped, [cell, ..]) => Self::Timestamped(own(cell)),
            (_, [cell, ..]) => Self::Value(cell.value.to_value()),
        }
    }
}

impl<V: Into<Value>> From<V> for ColumnValue {
    fn from(value: V) -> Self {
        Self::Value(value.into())
    }
}

impl From<Timestamped<Value>> for ColumnValue {
    fn from(value: Timestamped<Value>) -> Self {
        Self::Timestamped(value)
    }
}

impl From<Versions<Value>> for ColumnValue {
    fn from(versions: Versions<Value>) -> Self {
        Self::Versions(versions)
    }
}

/// A column of a [`DynRow`].
#[derive(Clone)]
pub struct DynColumn<'r> {
    family: &'r str,
    qualifier: &'r [u8],
    stored: CellType,
    kind: ColumnKind,
    /// Whether its name is any bytes.
    is_binary: bool,
    value: &'r ColumnValue,
}

impl<'r> DynColumn<'r> {
    /// The column family.
    #[must_use]
    pub fn family(&self) -> &'r str {
        self.family
    }

    /// The stored name.
    #[must_use]
    pub fn qualifier(&self) -> &'r [u8] {
        self.qualifier
    }

    /// The name as text; bytes other than ASCII text are escaped.
    #[must_use]
    pub fn name(&self) -> Cow<'r, str> {
        match str::from_utf8(self.qualifier) {
            Ok(name) if !self.is_binary => Cow::Borrowed(name),
            _ => Cow::Owned(self.qualifier.escape_ascii().to_string()),
        }
    }

    /// How its cells are stored. The values of [`CellType::Proto`] and [`CellType::Custom`] are the stored bytes.
    #[must_use]
    pub fn stored(&self) -> CellType {
        self.stored
    }

    /// Which of its cells are read, and who writes them.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// What it holds.
    #[must_use]
    pub fn value(&self) -> &'r ColumnValue {
        self.value
    }

    /// One value, printed for people.
    fn write_value(&self, value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.stored, value) {
            (CellType::Custom(_) | CellType::Proto, Value::Bytes(bytes)) => {
                write!(f, "{} ({})", Shown(bytes), self.stored)
            }
            (_, Value::Bytes(bytes)) => write!(f, "{}", Shown(bytes)),
            (CellType::Code(_), Value::Integer(code)) => {
                write!(f, "{code}")?;
                match i64::try_from(*code).ok().and_then(|code| self.stored.variant(code)) {
                    Some(variant) => write!(f, " (`{variant}`)"),
                    None => Ok(()),
                }
            }
            _ => write!(f, "{value:?}"),
        }
    }

    fn write_version(&self, version: &Timestamped<Value>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_value(&version.value, f)?;
        write!(f, " at {}", time(version.timestamp_micros))
    }
}

/// `family:name: value`
impl fmt::Display for DynColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.family, EscapedText(self.name().as_bytes()))?;
        match self.value {
            ColumnValue::Absent => f.write_str("absent"),
            ColumnValue::Default => f.write_str("absent, so that it is the program's default"),
            ColumnValue::Value(value) => self.write_value(value, f),
            ColumnValue::Timestamped(version) => self.write_version(version, f),
            ColumnValue::Versions(versions) if versions.is_empty() => f.write_str("no versions"),
            ColumnValue::Versions(versions) => versions.iter().enumerate().try_for_each(|(at, version)| {
                f.write_str(if at == 0 { "" } else { ", " })?;
                self.write_version(version, f)
            }),
        }
    }
}

impl fmt::Debug for DynColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn time(micros: i64) -> Value {
    Value::Time(i128::from(micros) * 1000)
}

impl DynRow {
    /// A row without values; optional families are absent. A row that is a map is in the family `cf`; see
    /// [`in_family`](Self::in_family).
    #[must_use]
    pub fn new(schema: &'static RowSchema) -> Self {
        let field = |field: &FieldSchema| match field {
            FieldSchema::Struct { is_optional: true, .. } | FieldSchema::Map { is_optional: true, .. } => {
                Field::Absent
            }
            field => empty(field),
        };
        Self {
            schema,
            family: DEFAULT_FAMILY.into(),
            fields: schema.fields().iter().map(field).collect(),
            foreign: RawRow::default(),
        }
    }

    /// The same row in another family, which a row that is a map needs if its table's family is not `cf`.
    #[must_use]
    pub fn in_family(self, family: &str) -> Self {
        Self { family: family.into(), ..self }
    }

    /// Reads a stored row, as the row type with that schema does. `family` is the family of a row that is a map.
    ///
    /// Columns that the schema does not name are [`foreign`](Self::foreign).
    ///
    /// # Errors
    /// Those of the row type: a required column is missing, or a cell does not have the column's type.
    pub fn read(schema: &'static RowSchema, family: &str, row: &RawRow) -> Result<Self, RowError> {
        DynReader::new(schema, schema, family).read(row)
    }

    /// The row whose columns were all read.
    pub(super) fn of_read(reader: &RowReader, read: &RowBuffer<'_>, row: &RawRow) -> Self {
        let all = DynRowRef::new(row.key(), reader, read);
        let mut next = 0;
        let field = |schema: &FieldSchema| {
            let first = next;
            let is_map = matches!(schema, FieldSchema::Map { .. });
            next += if is_map { 1 } else { schema.columns().len() };
            match reader.is_present(schema, row) {
                true => Field::of_read(schema, all, first),
                false => Field::Absent,
            }
        };
        let foreign = |cell: RawCell<'_>| !reader.is_known(cell.family_bytes(), cell.qualifier());
        Self {
            schema: reader.schema(),
            family: Arc::clone(reader.family()),
            fields: reader.schema().fields().iter().map(field).collect(),
            foreign: if reader.has_foreign { row.filtered(foreign) } else { RawRow::default() },
        }
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &'static RowSchema {
        self.schema
    }

    /// The columns in the order of the schema, including absent ones, with the entries of maps in the order of their names. Columns of
    /// absent families are left out.
    pub fn columns(&self) -> impl Iterator<Item = DynColumn<'_>> {
        self.schema
            .fields()
            .iter()
            .zip(&self.fields)
            .flat_map(|(schema, field)| self.columns_of(schema, field))
    }

    fn columns_of<'r>(
        &'r self,
        schema: &'static FieldSchema,
        field: &'r Field,
    ) -> impl Iterator<Item = DynColumn<'r>> {
        let family = self.family_of(schema);
        let columns = schema.columns().iter().zip(field.values()).map(move |(column, value)| DynColumn {
            family,
            qualifier: column.name().as_bytes(),
            stored: column.stored(),
            kind: column.kind(),
            is_binary: false,
            value,
        });
        let map = match (schema, field) {
            (FieldSchema::Map { key, stored, kind, .. }, Field::Map(entries)) => {
                Some((entries, *stored, *kind, key.is_any_bytes()))
            }
            _ => None,
        };
        let entries = map.into_iter().flat_map(move |(entries, stored, kind, is_binary)| {
            let column =
                move |(qualifier, value)| DynColumn { family, qualifier, stored, kind, is_binary, value };
            entries.iter().map(move |(qualifier, value): (&'r Bytes, _)| column((&qualifier[..], value)))
        });
        columns.chain(entries)
    }

    /// The column of this name, `name` or `family:name`; `None` if the schema has no such column, if its family is absent, or if its map
    /// has no such entry.
    #[must_use]
    pub fn column(&self, path: &str) -> Option<DynColumn<'_>> {
        let (family, name) = path.split_once(':').unwrap_or((self.own_family(), path));
        self.columns().find(|column| {
            column.family == family && (column.qualifier == name.as_bytes() || column.name() == name)
        })
    }

    /// Whether an optional family is present. Other families always are.
    #[must_use]
    pub fn has_family(&self, family: &str) -> bool {
        let mut fields = self.schema.fields().iter().zip(&self.fields);
        fields.any(|(schema, field)| self.family_of(schema) == family && !matches!(field, Field::Absent))
    }

    /// The cells of columns that the schema does not name, without their labels. They hold the response that they came in in memory.
    pub fn foreign(&self) -> RawCells<'_> {
        self.foreign.cells()
    }

    /// Sets a column, `name` or `family:name`, or an entry of a map. An optional family is present from then on. Text for a column of
    /// another type is parsed, as [`parse_cell`](super::parse_cell) does.
    ///
    /// # Errors
    /// If the schema has no such column, if the server computes its value, or if the column cannot hold the value.
    pub fn set(&mut self, path: &str, value: impl Into<ColumnValue>) -> Result<&mut Self, RowError> {
        let (value, place) = (value.into(), self.entry(path)?.place()?);
        check_kind(
            &place,
            |kind| !kind.is_aggregate(),
            "is an aggregate, which the server keeps; `add` to it instead",
        )?;
        let value = accept(place.stored, place.kind, place.is_required, value)
            .map_err(|error| RowError::cell(place.name(), error))?;
        for (at, schema) in self.schema.fields().iter().enumerate() {
            if self.family_of(schema) != place.family {
                continue;
            }
            let column =
                schema.columns().iter().position(|column| column.name().as_bytes() == place.qualifier);
            let is_map = matches!(schema, FieldSchema::Map { .. });
            let Some(field) = self.fields.get_mut(at).filter(|_| is_map || column.is_some()) else {
                continue;
            };
            if let Field::Absent = field {
                *field = empty(schema);
            }
            match field {
                Field::Map(entries) if value.is_absent() => _ = entries.remove(&place.qualifier),
                Field::Map(entries) => _ = entries.insert(place.qualifier, value),
                Field::Column(own) => *own = value,
                Field::Columns(values) => {
                    if let Some(own) = column.and_then(|column| values.get_mut(column)) {
                        *own = value;
                    }
                }
                Field::Absent => {}
            }
            break;
        }
        Ok(self)
    }

    /// Makes an optional family absent, or an absent one present without a column.
    ///
    /// # Errors
    /// If the schema has no such family, or the family is not optional.
    pub fn set_family(&mut self, family: &str, is_there: bool) -> Result<&mut Self, RowError> {
        let is_it = |schema: &FieldSchema| match schema {
            FieldSchema::Struct { family: of, is_optional, .. }
            | FieldSchema::Map { family: of, is_optional, .. } => *of == family && *is_optional,
            FieldSchema::Column { .. } => false,
        };
        let mut fields = self.schema.fields().iter().zip(&mut self.fields);
        let Some((schema, field)) = fields.find(|(schema, _)| is_it(schema)) else {
            let error =
                CellError::unsupported(format_args!("is not an optional family of `{}`", self.schema.name()));
            return Err(RowError::cell(Name { family, qualifier: b"" }, error));
        };
        match (is_there, &field) {
            (true, Field::Absent) => *field = empty(schema),
            (false, _) => *field = Field::Absent,
            (true, _) => {}
        }
        Ok(self)
    }

    /// The changes that make a stored row equal to this one, as [`put`](crate::Table::put) of the row type sends them: columns of the
    /// schema that have no value are deleted, and foreign ones stay as they are. A column whose absence is the program's default is
    /// deleted too. [`RawTable::mutate_row`](crate::client::RawTable::mutate_row) applies them, and says when it does not retry.
    ///
    /// # Errors
    /// If a required column has no value, or two versions have one timestamp.
    pub fn mutations(&self) -> Result<Vec<Mutation>, RowError> {
        self.encode(false).map(|list| list.as_slice().to_vec())
    }

    /// The changes of a put; with `merges`, those of a merge, which leaves absent columns as they are.
    pub(crate) fn encode(&self, merges: bool) -> Result<MutationList, RowError> {
        let mut list = MutationList::default();
        list.write(|sink| self.write(&mut RowWriter::new(sink, &self.family, merges)))?;
        Ok(list)
    }

    /// The column named by text, as for a row type.
    pub(crate) fn entry(&self, path: &str) -> Result<Entry<Self, Option<Any>>, RowError> {
        self.schema.column_in(&self.family, path)
    }

    fn own_family(&self) -> &str {
        self.schema.own_family().unwrap_or(&self.family)
    }

    fn family_of(&self, schema: &'static FieldSchema) -> &str {
        match schema.family() {
            "" => &self.family,
            family => family,
        }
    }

    pub(crate) fn write(&self, out: &mut RowWriter<'_>) -> Result<(), RowError> {
        for rule in self.schema.rules().filter(|rule| rule.is_exclusive) {
            out.delete_family(rule.family);
        }
        for (schema, field) in self.schema.fields().iter().zip(&self.fields) {
            self.write_field(schema, field, out)?;
        }
        // Values that the server keeps do not make a row; a struct that is a family counts as a value, whatever it has.
        let own = self.own_family();
        let is_set = |column: &ColumnSchema| !column.kind().is_aggregate();
        let is_value = |field: &FieldSchema| match field {
            FieldSchema::Map { kind, .. } => !kind.is_aggregate(),
            FieldSchema::Struct { family, .. } if *family != own => true,
            field => field.columns().iter().any(is_set),
        };
        if self.schema.fields().is_empty() || self.schema.fields().iter().any(is_value) {
            out.end_row(own);
            return Ok(());
        }
        out.end_row_of_aggregates(own)
    }

    fn write_field(
        &self,
        schema: &'static FieldSchema,
        field: &Field,
        out: &mut RowWriter<'_>,
    ) -> Result<(), RowError> {
        let family = self.family_of(schema);
        match (schema, field) {
            (FieldSchema::Map { kind, .. }, _) if kind.is_aggregate() => Ok(()),
            (FieldSchema::Map { .. }, Field::Absent) => {
                out.delete_family(family);
                Ok(())
            }
            (FieldSchema::Map { stored, kind, is_optional, .. }, Field::Map(entries)) => {
                let before = out.cells();
                out.write_map(family, entries, |out, column, value| {
                    write_value(column, *stored, *kind, value, out)
                })?;
                if *is_optional {
                    out.end_family(family, before);
                }
                Ok(())
            }
            (schema, Field::Column(_) | Field::Columns(_)) => {
                let before = out.cells();
                for (column, value) in schema.columns().iter().zip(field.values()) {
                    write_column(family, column, value, out)?;
                }
                if let FieldSchema::Struct { is_optional: true, .. } = schema {
                    out.end_family(family, before);
                }
                Ok(())
            }
            (schema, _) => {
                typed::delete_columns(schema.columns(), family, out);
                Ok(())
            }
        }
    }
}

/// A present field whose columns are all absent.
fn empty(schema: &FieldSchema) -> Field {
    match schema {
        FieldSchema::Map { .. } => Field::Map(BTreeMap::new()),
        FieldSchema::Column { .. } => Field::Column(ColumnValue::Absent),
        schema => Field::Columns(schema.columns().iter().map(|_| ColumnValue::Absent).collect()),
    }
}

/// The content of a column after it is set to this value.
fn accept(
    stored: CellType,
    kind: ColumnKind,
    is_required: bool,
    value: ColumnValue,
) -> Result<ColumnValue, CellError> {
    let version = |Timestamped { timestamp_micros, value }: Timestamped<Value>| {
        stored.accept(&value).map(|value| Timestamped::new(timestamp_micros, value))
    };
    match (kind, value) {
        (_, ColumnValue::Absent | ColumnValue::Default) if is_required => Err(CellError::unsupported(
            "cannot be cleared: a row without it can no longer be read; delete the row",
        )),
        (_, absent @ (ColumnValue::Absent | ColumnValue::Default)) => Ok(absent),
        (ColumnKind::Timestamped, ColumnValue::Timestamped(value)) => {
            version(value).map(ColumnValue::Timestamped)
        }
        (ColumnKind::Versions, ColumnValue::Versions(versions)) => {
            let versions: Result<_, _> = versions.into_iter().map(version).collect();
            versions.map(ColumnValue::Versions)
        }
        (ColumnKind::Timestamped, _) => Err(CellError::unsupported(
            "has a timestamp of its own; give it with the value, as a `Timestamped`",
        )),
        (ColumnKind::Versions, _) => Err(CellError::unsupported(
            "has versions with timestamps of their own; give all of them, as `Versions`",
        )),
        (_, ColumnValue::Value(value)) => stored.accept(&value).map(ColumnValue::Value),
        _ => Err(CellError::unsupported("has the server's time; give it one value without a timestamp")),
    }
}

fn write_column(
    family: &str,
    column: &ColumnSchema,
    value: &ColumnValue,
    out: &mut RowWriter<'_>,
) -> Result<(), RowError> {
    let name = Name { family, qualifier: column.name().as_bytes() };
    if column.is_required() && value.is_absent() {
        let error = CellError::unsupported("has no value, and a row without it cannot be read; set it");
        return Err(RowError::cell(name, error));
    }
    let before = out.cells();
    write_value(name, column.stored(), column.kind(), value, out)?;
    for alias in column.aliases() {
        out.delete_former(alias.family.unwrap_or(family), alias.name.as_bytes(), before);
    }
    Ok(())
}

fn write_value(
    column: Name<'_>,
    stored: CellType,
    kind: ColumnKind,
    value: &ColumnValue,
    out: &mut RowWriter<'_>,
) -> Result<(), RowError> {
    let encode = |value: &Value, out: &mut CellWriter<'_>| stored.write(value, out);
    match (kind, value) {
        // The server keeps them.
        (kind, _) if kind.is_aggregate() => Ok(()),
        (_, ColumnValue::Value(value)) => out.write_value(column, value, encode),
        (_, ColumnValue::Timestamped(version)) => {
            out.write_versions(column, slice::from_ref(version), encode)
        }
        (_, ColumnValue::Versions(versions)) => out.write_versions(column, versions, encode),
        (_, ColumnValue::Absent | ColumnValue::Default) => out.write_option(column, &None::<Value>, encode),
    }
}

impl DynRow {
    /// Prints the record line by line.
    fn each_line(&self, mut line: impl FnMut(&dyn fmt::Display) -> fmt::Result) -> fmt::Result {
        for (schema, field) in self.schema.fields().iter().zip(&self.fields) {
            let family = self.family_of(schema);
            if let Field::Absent = field {
                line(&format_args!("{family}: absent"))?;
            }
            for column in self.columns_of(schema, field) {
                line(&column)?;
            }
        }
        for cell in self.foreign() {
            line(&format_args!(
                "foreign {}:{}: {} at {}",
                cell.family(),
                EscapedText(cell.qualifier()),
                Shown(cell.value()),
                time(cell.timestamp_micros())
            ))?;
        }
        Ok(())
    }
}

/// The name of the row type, and a line for each column.
impl fmt::Display for DynRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.schema.name())?;
        self.each_line(|line| writeln!(f, "  {line}"))
    }
}

impl fmt::Debug for DynRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        self.each_line(|line| {
            set.entry(&format_args!("{line}"));
            Ok(())
        })?;
        set.finish()
    }
}

/// A map of the present columns, with a list of `foreign` cells, if any.
impl Serialize for DynRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for column in self.columns().filter(|column| !column.value.is_absent()) {
            map.serialize_entry(&format_args!("{}:{}", column.family, column.name()), &column)?;
        }
        let foreign: Vec<_> = self.foreign().map(ForeignCell).collect();
        if !foreign.is_empty() {
            map.serialize_entry("foreign", &foreign)?;
        }
        map.end()
    }
}

impl Serialize for DynColumn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            ColumnValue::Absent | ColumnValue::Default => serializer.serialize_none(),
            ColumnValue::Value(value) => value.serialize(serializer),
            ColumnValue::Timestamped(version) => SerializedVersion(version).serialize(serializer),
            ColumnValue::Versions(versions) => serializer.collect_seq(versions.iter().map(SerializedVersion)),
        }
    }
}

struct SerializedVersion<'v>(&'v Timestamped<Value>);

impl Serialize for SerializedVersion<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut version = serializer.serialize_struct("Version", 2)?;
        version.serialize_field("timestamp_micros", &self.0.timestamp_micros)?;
        version.serialize_field("value", &self.0.value)?;
        version.end()
    }
}

struct ForeignCell<'c>(RawCell<'c>);

impl Serialize for ForeignCell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut cell = serializer.serialize_struct("Cell", 4)?;
        cell.serialize_field("family", self.0.family())?;
        // No two names have one form.
        cell.serialize_field("qualifier", &self.0.qualifier().escape_ascii().to_string())?;
        cell.serialize_field("timestamp_micros", &self.0.timestamp_micros())?;
        cell.serialize_field("value", &Value::from(self.0.value()))?;
        cell.end()
    }
}
