//! Stored rows read by a schema that is known at run time, where they lie.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::ValueRef;
use crate::key::ReadValue;
use crate::row::generated::{self as typed, CellSlice, Slot};
use crate::row::{
    CellType, ColumnKind, ColumnSchema, FieldSchema, Max, Name, RawRow, RowCells, RowError, RowSchema, Shown,
    Timestamped, is_same_name,
};

/// Reads rows by a schema: all fields of it, or some.
///
/// What is known before the first row is computed once: which places of a row have a column of the schema.
#[derive(Debug)]
pub(crate) struct RowReader {
    schema: &'static RowSchema,
    /// The family of a row that is a map.
    family: Arc<str>,
    /// What is read of each row, in the order of the caller.
    fields: Vec<ReadField>,
    /// Where columns of the schema are stored, also of fields that are not read, by family and name.
    places: Vec<Place>,
    /// How many columns are read.
    columns: usize,
}

#[derive(Clone, Copy, Debug)]
struct ReadField {
    schema: &'static FieldSchema,
    /// The number of its first column among those that are read.
    first: usize,
}

/// A place in a row that the schema names.
#[derive(Debug)]
struct Place {
    family: Arc<str>,
    /// None for any name of a family that is a map.
    name: Option<&'static str>,
    /// The column that it is a place of, if that is read.
    column: Option<Placed>,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    /// The column's number.
    at: usize,
    /// 0 for its own place, and from 1 on for former ones: the first that has a cell counts.
    rank: usize,
}

/// Where the cells of a column are in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    slot: Slot,
    rank: usize,
}

impl RowReader {
    /// Reads the fields with these numbers; none for all.
    pub(crate) fn new(
        schema: &'static RowSchema,
        family: impl Into<Arc<str>>,
        fields: Option<&[usize]>,
    ) -> Self {
        let mut reader =
            Self { schema, family: family.into(), fields: Vec::new(), places: Vec::new(), columns: 0 };
        let own: Arc<str> = schema.own_family().map_or_else(|| Arc::clone(&reader.family), Into::into);
        reader.places.push(Place { family: own, name: Some(""), column: None });
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let fields = fields.unwrap_or(&all);
        for at in fields {
            let Some(field) = schema.fields().get(*at) else { continue };
            let first = reader.columns;
            reader.columns += field.columns().len();
            reader.fields.push(ReadField { schema: field, first });
            reader.add_places(field, Some(first));
        }
        for (at, field) in schema.fields().iter().enumerate() {
            if !fields.contains(&at) {
                reader.add_places(field, None);
            }
        }
        reader.places.sort_by(|one, other| (&one.family, one.name).cmp(&(&other.family, other.name)));
        reader
    }

    fn add_places(&mut self, field: &'static FieldSchema, first: Option<usize>) {
        let family: Arc<str> = match field.family() {
            "" => Arc::clone(&self.family),
            family => family.into(),
        };
        match field {
            FieldSchema::Map { .. } => {
                self.places.push(Place { family: Arc::clone(&family), name: None, column: None });
            }
            // Its marker.
            FieldSchema::Struct { .. } => {
                self.places.push(Place { family: Arc::clone(&family), name: Some(""), column: None });
            }
            FieldSchema::Column { .. } => {}
        }
        for (at, column) in field.columns().iter().enumerate() {
            let at = first.map(|first| first + at);
            let own = Place {
                family: Arc::clone(&family),
                name: Some(column.name()),
                column: at.map(|at| Placed { at, rank: 0 }),
            };
            let former = column.aliases().enumerate().map(|(number, alias)| Place {
                family: alias.family.map_or_else(|| Arc::clone(&family), Into::into),
                name: Some(alias.name),
                column: at.map(|at| Placed { at, rank: 1 + number }),
            });
            self.places.push(own);
            self.places.extend(former);
        }
    }

    /// The number of the first place with this family and name.
    fn place_of(&self, family: &[u8], name: Option<&[u8]>) -> Option<usize> {
        let key = |place: &Place| (place.family.as_bytes().cmp(family)).then(place.name.map(str::as_bytes).cmp(&name));
        let at = self.places.partition_point(|place| key(place).is_lt());
        self.places.get(at).filter(|place| key(place).is_eq()).map(|_| at)
    }

    pub(crate) fn schema(&self) -> &'static RowSchema {
        self.schema
    }

    /// The family of a row that is a map.
    pub(super) fn family(&self) -> &Arc<str> {
        &self.family
    }

    /// Whether the schema names the place of a cell.
    pub(super) fn is_known(&self, family: &[u8], name: &[u8]) -> bool {
        self.place_of(family, Some(name)).or_else(|| self.place_of(family, None)).is_some()
    }

    /// Notes where the columns of a row are.
    fn find(&self, cells: CellSlice<'_>, found: &mut Vec<Found>) -> bool {
        found.clear();
        found.resize(self.columns, Found::default());
        let (mut next, mut number, mut has_foreign) = (0, 0, false);
        for column in cells.columns() {
            let (start, end) = (number, number + column.len());
            number = end;
            let Some(first) = column.first() else { continue };
            let (family, name) = (first.family_bytes(), first.qualifier());
            let is_it = |place: &Place| {
                place.name.is_some_and(|own| is_same_name(own.as_bytes(), name))
                    && is_same_name(place.family.as_bytes(), family)
            };
            // Most rows have the columns in the order of the places.
            let at = match self.places.get(next).is_some_and(is_it) {
                true => Some(next),
                false => self.place_of(family, Some(name)),
            };
            let Some(at) = at else {
                has_foreign |= self.place_of(family, None).is_none();
                continue;
            };
            next = at;
            while let Some(place) = self.places.get(next).filter(|place| is_it(place)) {
                next += 1;
                let Some(Placed { at, rank }) = place.column else { continue };
                if let Some(found) = found.get_mut(at).filter(|found| found.slot.is_empty() || rank < found.rank) {
                    *found = Found { slot: Slot::new(start, end), rank };
                }
            }
        }
        has_foreign
    }

    /// Reads a row.
    ///
    /// # Errors
    /// Those of the row type: the first in the order of its fields.
    pub(crate) fn read<'r>(&self, row: &'r RawRow, out: &mut RowBuffer<'r>) -> Result<(), RowError> {
        out.clear();
        let mut found = mem::take(&mut out.found);
        out.has_foreign = self.find(row.cell_slice(), &mut found);
        let read = self.fields.iter().try_for_each(|field| self.read_field(field, row, &found, out));
        out.found = found;
        read
    }

    fn family_of(&self, field: &'static FieldSchema) -> &str {
        match field.family() {
            "" => &self.family,
            family => family,
        }
    }

    fn read_field<'r>(
        &self,
        ReadField { schema, first }: &ReadField,
        row: &'r RawRow,
        found: &[Found],
        out: &mut RowBuffer<'r>,
    ) -> Result<(), RowError> {
        let (schema, family, start) = (*schema, self.family_of(schema), out.columns.len());
        let is_present = match schema {
            FieldSchema::Column { .. } | FieldSchema::Struct { is_optional: false, .. } => {
                self.read_columns(schema, family, row, &found[*first..], out)?;
                true
            }
            FieldSchema::Struct { is_optional: true, .. } => {
                let owns = |name: &[u8]| {
                    let mut columns = schema.columns().iter();
                    name.is_empty()
                        || columns.any(|column| {
                            column.name().as_bytes() == name
                                || column.aliases().any(|alias| alias.name.as_bytes() == name)
                        })
                };
                let cells = RowCells::new(row, "").of_family(family);
                let read = |_: CellSlice<'r>, family: &str| {
                    self.read_columns(schema, family, row, &found[*first..], out)
                };
                typed::optional_family(cells, owns, read, family)?.is_some()
            }
            FieldSchema::Map { key, stored, kind, is_optional, .. } => {
                let cells = RowCells::new(row, "").of_family(family);
                for column in cells.columns() {
                    // The empty name marks a family without columns.
                    let Some(first) = column.first().filter(|first| !first.qualifier().is_empty()) else {
                        continue;
                    };
                    let name = first.qualifier();
                    key.read(name)
                        .map_err(|error| RowError::cell(Name { family, qualifier: name }, error))?;
                    let start = out.cells.len();
                    let cell = CellsOf { cells: column, stored: *stored, kind: *kind, window_micros: 0 };
                    cell.read(family, name, &mut out.cells)?;
                    out.columns.push(ReadColumn {
                        qualifier: name,
                        start,
                        end: out.cells.len(),
                        is_default: false,
                    });
                }
                !(*is_optional && cells.is_empty())
            }
        };
        out.fields.push(ReadSpan { schema, start, end: out.columns.len(), is_present });
        Ok(())
    }

    fn read_columns<'r>(
        &self,
        schema: &'static FieldSchema,
        family: &str,
        row: &'r RawRow,
        found: &[Found],
        out: &mut RowBuffer<'r>,
    ) -> Result<(), RowError> {
        for (column, found) in schema.columns().iter().zip(found) {
            read_column(column, family, row.cell_slice().of(found.slot), out)?;
        }
        Ok(())
    }
}

fn read_column<'r>(
    column: &'static ColumnSchema,
    family: &str,
    cells: CellSlice<'r>,
    out: &mut RowBuffer<'r>,
) -> Result<(), RowError> {
    let (name, start) = (column.name(), out.cells.len());
    let (stored, kind, window_micros) = (column.stored(), column.kind(), column.window_micros());
    CellsOf { cells, stored, kind, window_micros }.read(family, name.as_bytes(), &mut out.cells)?;
    let mut is_default = false;
    if out.cells.len() == start && !kind.reads_versions() {
        if column.is_required() && kind != ColumnKind::Sum {
            typed::required(None::<()>, family, name)?;
        }
        match kind {
            ColumnKind::Counter | ColumnKind::Sum => out.cells.push(Timestamped::new(0, 0.into())),
            _ => is_default = column.has_default(),
        }
    }
    out.columns.push(ReadColumn { qualifier: name.as_bytes(), start, end: out.cells.len(), is_default });
    Ok(())
}

/// The cells of a column, and how they are read.
#[derive(Clone, Copy)]
struct CellsOf<'r> {
    cells: CellSlice<'r>,
    stored: CellType,
    kind: ColumnKind,
    window_micros: i64,
}

impl<'r> CellsOf<'r> {
    /// Appends what a column of the kind holds.
    fn read(
        self,
        family: &str,
        name: &[u8],
        out: &mut Vec<Timestamped<ValueRef<'r>>>,
    ) -> Result<(), RowError> {
        let Self { cells, stored, kind, window_micros } = self;
        let decode = |bytes: &'r [u8]| stored.read(bytes);
        match kind {
            ColumnKind::Value | ColumnKind::Counter | ColumnKind::Timestamped => {
                out.extend(typed::newest_timestamped(cells, decode, family, name)?);
            }
            ColumnKind::Versions => out.extend(typed::versions(cells, decode, family, name)?),
            // All kinds of aggregates read the same, except for a column without a cell.
            ColumnKind::Sum | ColumnKind::Min | ColumnKind::Max => {
                let aggregate: Max = typed::aggregate(cells, family, name)?;
                out.extend(aggregate.get().map(|value| Timestamped::new(0, value.into())));
            }
            ColumnKind::SumVersions | ColumnKind::MinVersions | ColumnKind::MaxVersions => {
                let windows = typed::aggregates::<Max>(cells, family, name, window_micros)?;
                let version = |Timestamped { timestamp_micros, value }: Timestamped<Max>| {
                    Some(Timestamped::new(timestamp_micros, value.get()?.into()))
                };
                out.extend(windows.into_iter().filter_map(version));
            }
        }
        Ok(())
    }
}

/// What was read of a row.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer<'r> {
    /// The values of the key's fields.
    pub(crate) key: Vec<ReadValue<'r>>,
    fields: Vec<ReadSpan>,
    columns: Vec<ReadColumn<'r>>,
    cells: Vec<Timestamped<ValueRef<'r>>>,
    /// Whether the row has cells that the schema does not name.
    pub(crate) has_foreign: bool,
    found: Vec<Found>,
}

/// A field that was read: its columns among all of them.
#[derive(Clone, Copy, Debug)]
struct ReadSpan {
    schema: &'static FieldSchema,
    start: usize,
    end: usize,
    is_present: bool,
}

/// A column that was read: its cells among all of them.
#[derive(Clone, Copy, Debug)]
struct ReadColumn<'r> {
    qualifier: &'r [u8],
    start: usize,
    end: usize,
    is_default: bool,
}

impl<'r> RowBuffer<'r> {
    fn clear(&mut self) {
        self.fields.clear();
        self.columns.clear();
        self.cells.clear();
    }

    /// The memory, for a row somewhere else.
    pub(crate) fn reused<'other>(self) -> RowBuffer<'other> {
        let Self { key, mut fields, columns, cells, has_foreign, found } = self;
        fields.clear();
        RowBuffer {
            key: reused(key),
            fields,
            columns: reused(columns),
            cells: reused(cells),
            has_foreign,
            found,
        }
    }

    /// The row, of which the key's bytes are these.
    pub(crate) fn row<'a>(&'a self, key: &'a [u8]) -> DynRowRef<'a> {
        DynRowRef { key, read: self }
    }

    /// The fields that were read.
    pub(super) fn fields(&self) -> impl ExactSizeIterator<Item = DynFieldRef<'_>> {
        self.fields.iter().map(|span| DynFieldRef { span, read: self })
    }
}

/// An empty list in the memory of another: the standard library collects a list of the same layout in place.
fn reused<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

/// A row of a table whose layout is data, borrowed: in the closure of [`DynTableScan::visit`](crate::DynTableScan::visit) or of a
/// [`DynCursor`](crate::DynCursor).
///
/// The key and all fields that the scan reads have been decoded and checked before the closure is called.
#[derive(Clone, Copy)]
pub struct DynRowRef<'a> {
    key: &'a [u8],
    read: &'a RowBuffer<'a>,
}

impl<'a> DynRowRef<'a> {
    /// The row key, as stored.
    #[must_use]
    pub fn key(self) -> &'a [u8] {
        self.key
    }

    /// The values of all fields of the key, from the left. A hashed field is its hash.
    #[inline]
    pub fn key_fields(self) -> impl ExactSizeIterator<Item = ValueRef<'a>> {
        self.read.key.iter().map(ReadValue::as_ref)
    }

    /// The value of a field of the key, by its index in the [schema](crate::key::Schema::fields); none if it has no such field.
    #[inline]
    #[must_use]
    pub fn key_field(self, at: usize) -> Option<ValueRef<'a>> {
        self.read.key.get(at).map(ReadValue::as_ref)
    }

    /// The fields of the row type that the scan reads, in the order in which it was told them.
    #[inline]
    pub fn fields(self) -> impl ExactSizeIterator<Item = DynFieldRef<'a>> {
        self.read.fields()
    }

    /// A field of the row type, by its index among those that the scan reads; none if it reads no such field.
    #[inline]
    #[must_use]
    pub fn field(self, at: usize) -> Option<DynFieldRef<'a>> {
        self.read.fields.get(at).map(|span| DynFieldRef { span, read: self.read })
    }

    /// The newest value of a field that is a column, by its index among those that the scan reads: [`DynColumnRef::newest`].
    #[inline]
    #[must_use]
    pub fn newest(self, at: usize) -> Option<ValueRef<'a>> {
        self.field(at)?.column(0)?.newest()
    }
}

/// The key, and a line for each column that is there.
impl fmt::Debug for DynRowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynRowRef")
            .field("key", &Shown(self.key))
            .field("fields", &fmt::from_fn(|f| f.debug_list().entries(self.fields()).finish()))
            .finish()
    }
}

/// A field of a row type in a [`DynRowRef`]: a column, or a family that is a struct or a map.
#[derive(Clone, Copy)]
pub struct DynFieldRef<'a> {
    span: &'a ReadSpan,
    read: &'a RowBuffer<'a>,
}

impl<'a> DynFieldRef<'a> {
    /// What the row type says of it.
    #[must_use]
    pub fn schema(self) -> &'static FieldSchema {
        self.span.schema
    }

    /// Whether it is there: false for an optional family of which nothing is stored.
    #[must_use]
    pub fn is_present(self) -> bool {
        self.span.is_present
    }

    /// Its columns: of a column, itself; of a struct, one for each of its columns, in their order; of a map, its entries, in the order of
    /// their names. None of a family that is not there.
    #[inline]
    pub fn columns(self) -> impl ExactSizeIterator<Item = DynColumnRef<'a>> {
        let ReadSpan { start, end, .. } = *self.span;
        self.read.columns[start..end].iter().map(move |column| self.column_ref(column))
    }

    /// The column with this index among its columns: 0 for a field that is a column.
    #[inline]
    #[must_use]
    pub fn column(self, at: usize) -> Option<DynColumnRef<'a>> {
        let ReadSpan { start, end, .. } = *self.span;
        self.read.columns[start..end].get(at).map(|column| self.column_ref(column))
    }

    fn column_ref(self, column: &'a ReadColumn<'a>) -> DynColumnRef<'a> {
        let ReadColumn { qualifier, start, end, is_default } = *column;
        DynColumnRef { qualifier, cells: &self.read.cells[start..end], is_default }
    }
}

impl fmt::Debug for DynFieldRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.columns()).finish()
    }
}

/// A column in a [`DynRowRef`], or an entry of a map.
#[derive(Clone, Copy)]
pub struct DynColumnRef<'a> {
    qualifier: &'a [u8],
    cells: &'a [Timestamped<ValueRef<'a>>],
    is_default: bool,
}

impl<'a> DynColumnRef<'a> {
    /// The column's name: of an entry of a map, the stored one; otherwise that of the row type, wherever it was found.
    #[must_use]
    pub fn qualifier(self) -> &'a [u8] {
        self.qualifier
    }

    /// The value, or the newest of several; none if the column is absent.
    #[inline]
    #[must_use]
    pub fn newest(self) -> Option<ValueRef<'a>> {
        self.cells.first().map(|cell| cell.value)
    }

    /// The cells that the column's [kind](crate::row::ColumnKind) reads, the newest first: one or none, or every version. A counter and a
    /// sum of which nothing is stored are a 0 of the time 0.
    #[inline]
    #[must_use]
    pub fn cells(self) -> &'a [Timestamped<ValueRef<'a>>] {
        self.cells
    }

    /// Whether the column is absent, and reads as a default that only the program with the row type knows.
    #[must_use]
    pub fn is_default(self) -> bool {
        self.is_default
    }
}

impl fmt::Debug for DynColumnRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells.iter().map(|cell| (cell.timestamp_micros, cell.value));
        write!(f, "{}: ", self.qualifier.escape_ascii())?;
        f.debug_list().entries(cells).finish()
    }
}
