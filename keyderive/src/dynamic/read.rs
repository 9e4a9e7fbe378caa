//! Decodes stored rows in place, by a schema that is known at run time.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

use super::{DynRow, ValueRef};
use crate::key::ReadValue;
use crate::row::generated::{self as typed, CellSlice, Slot};
use crate::row::{
    CellError, CellType, ColumnKind, ColumnSchema, DeclaredColumn, FieldSchema, Max, Name, RawCell, RawRow,
    RowCells, RowError, RowSchema, Shown, Timestamped, is_present, is_same_name,
};

/// How many places to try in order before a binary search.
const NEAR: usize = 3;

/// Reads columns of rows by a schema.
///
/// Computes once, before the first row, which family and name each column of the schema has.
#[derive(Debug)]
pub(crate) struct RowReader {
    schema: &'static RowSchema,
    /// The row type that the schema may be a part of.
    whole: &'static RowSchema,
    /// The family of a row that is a map.
    family: Arc<str>,
    /// The columns to read, in the order of the caller.
    columns: Vec<ReadColumn>,
    /// All stored places of the schema's columns, including columns that are not read, sorted by family and name. No two are the same.
    places: Vec<Place>,
    /// The cells of the last row; none if it had cells in no place.
    last: Vec<LastCell>,
    /// Whether the last row had cells that the schema does not name.
    pub(super) has_foreign: bool,
}

/// A column that is read, and where it was in the last row.
#[derive(Debug)]
struct ReadColumn {
    declared: DeclaredColumn,
    /// How its newest cell is stored, if that is its value whatever else the row has.
    newest: Option<CellType>,
    /// Where its cells were in the row.
    found: Found,
    /// Where they are in the buffer.
    span: ColumnSpan,
}

/// A cell of the last row.
#[derive(Clone, Copy, Debug)]
struct LastCell {
    place: usize,
    /// Whether it is in the family of the cell before it.
    shares_family: bool,
}

/// A place in a row that the schema names.
#[derive(Debug)]
struct Place {
    family: Arc<str>,
    /// `None` for all names of a family that is a map.
    name: Option<&'static str>,
    /// The columns that are stored here and read.
    of: Vec<PlaceOf>,
}

#[derive(Clone, Copy, Debug)]
struct PlaceOf {
    /// The index of the column among those that are read.
    column: usize,
    /// 0 for its own name, 1 and above for aliases: the first with a cell wins.
    rank: usize,
}

/// Where the cells of a column are in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    slot: Slot,
    rank: usize,
}

impl Place {
    /// Whether a cell is stored here; of a family that is a map, no cell is.
    #[inline]
    fn has(&self, cell: RawCell<'_>) -> bool {
        self.has_name(cell) && is_same_name(self.family.as_bytes(), cell.family_bytes())
    }

    /// [`has`](Self::has) of a cell that is known to be in the family.
    #[inline(always)]
    fn has_name(&self, cell: RawCell<'_>) -> bool {
        self.name.is_some_and(|name| is_same_name(name.as_bytes(), cell.qualifier()))
    }
}

impl ReadColumn {
    fn new(declared: DeclaredColumn) -> Self {
        let newest = match declared {
            DeclaredColumn::Column { column, in_optional_family: false, .. }
                if matches!(
                    column.kind(),
                    ColumnKind::Value | ColumnKind::Counter | ColumnKind::Timestamped
                ) =>
            {
                Some(column.stored())
            }
            _ => None,
        };
        Self { declared, newest, found: Found::default(), span: ColumnSpan::default() }
    }
}

impl RowReader {
    /// Reads all columns that the schema declares.
    pub(crate) fn of_all(schema: &'static RowSchema, family: impl Into<Arc<str>>) -> Self {
        let all: Vec<usize> = (0..schema.declared_columns().count()).collect();
        Self::new(schema, family, &all)
    }

    /// Reads all columns of a part of a row type: an optional family is there if any of its columns is, of the whole type.
    pub(crate) fn of_part(
        schema: &'static RowSchema,
        whole: &'static RowSchema,
        family: impl Into<Arc<str>>,
    ) -> Self {
        Self::of_all(schema, family).beside(whole)
    }

    /// Decides by the columns of the whole type whether an optional family is there.
    pub(crate) fn beside(mut self, whole: &'static RowSchema) -> Self {
        let schema = self.schema;
        self.whole = whole;
        if std::ptr::eq(schema, whole) {
            return self;
        }
        let places = |field: &'static FieldSchema| {
            let names = field.columns().iter().flat_map(|column| {
                let former = column.aliases().filter(|alias| alias.family.is_none()).map(|alias| alias.name);
                std::iter::once(column.name()).chain(former)
            });
            names.map(|name| (field.family(), name))
        };
        let optional = schema.fields().iter().filter(|field| field.is_optional());
        for (family, name) in optional.filter_map(|field| whole.field_of(field.family())).flat_map(places) {
            let family = self.family_named(family);
            let place = |place: &Place| (&place.family, place.name).cmp(&(&family, Some(name)));
            if let Err(at) = self.places.binary_search_by(place) {
                self.places.insert(at, Place { family, name: Some(name), of: Vec::new() });
            }
        }
        self
    }

    /// Reads the columns with these indices among those that the schema declares.
    pub(crate) fn new(schema: &'static RowSchema, family: impl Into<Arc<str>>, columns: &[usize]) -> Self {
        let (family, all): (Arc<str>, Vec<_>) = (family.into(), schema.declared_columns().collect());
        let mut reader = Self {
            schema,
            whole: schema,
            family,
            columns: columns.iter().filter_map(|at| all.get(*at).copied()).map(ReadColumn::new).collect(),
            places: Vec::new(),
            last: Vec::new(),
            has_foreign: false,
        };
        let mut places = BTreeMap::<_, Vec<PlaceOf>>::new();
        let own = reader.family_named(schema.own_family().unwrap_or_default());
        places.insert((own, Some("")), Vec::new());
        for field in schema.fields() {
            let name = match field {
                FieldSchema::Column { .. } => continue,
                // Its marker.
                FieldSchema::Struct { .. } => Some(""),
                FieldSchema::Map { .. } => None,
            };
            places.entry((reader.family_named(field.family()), name)).or_default();
        }
        for (number, declared) in all.iter().enumerate() {
            let DeclaredColumn::Column { family, column, .. } = declared else { continue };
            let names = std::iter::once((*family, column.name()))
                .chain(column.aliases().map(|alias| (alias.family.unwrap_or(family), alias.name)));
            for (rank, (family, name)) in names.enumerate() {
                let read = (0..columns.len()).filter(|column| columns[*column] == number);
                let place = places.entry((reader.family_named(family), Some(name))).or_default();
                place.extend(read.map(|column| PlaceOf { column, rank }));
            }
        }
        let place = |((family, name), of)| Place { family, name, of };
        reader.places = places.into_iter().map(place).collect();
        reader
    }

    pub(crate) fn schema(&self) -> &'static RowSchema {
        self.schema
    }

    /// The family of a row that is a map.
    pub(super) fn family(&self) -> &Arc<str> {
        &self.family
    }

    fn family_named(&self, name: &str) -> Arc<str> {
        if name.is_empty() { Arc::clone(&self.family) } else { name.into() }
    }

    fn family_of<'a>(&'a self, name: &'a str) -> &'a str {
        if name.is_empty() { &self.family } else { name }
    }

    /// The index of the first place with this family and name.
    fn place_of(&self, family: &[u8], name: Option<&[u8]>) -> Option<usize> {
        let key = |place: &Place| {
            (place.family.as_bytes().cmp(family)).then(place.name.map(str::as_bytes).cmp(&name))
        };
        let at = self.places.partition_point(|place| key(place).is_lt());
        self.places.get(at).filter(|place| key(place).is_eq()).map(|_| at)
    }

    /// Whether the schema names the place of a cell.
    pub(super) fn is_known(&self, family: &[u8], name: &[u8]) -> bool {
        self.place_of(family, Some(name)).or_else(|| self.place_of(family, None)).is_some()
    }

    /// Whether the cells of a row are in the places of the last row's, so that each column has the same numbers of cells.
    #[inline]
    fn is_as_last(&self, cells: CellSlice<'_>) -> bool {
        if self.last.is_empty() || usize::try_from(cells.len()) != Ok(self.last.len()) {
            return false;
        }
        let mut before: Option<RawCell<'_>> = None;
        cells.iter().zip(&self.last).all(|(cell, last)| {
            let place = &self.places[last.place];
            let before = before.replace(cell);
            let is_in_family =
                last.shares_family && before.is_some_and(|before| cell.has_family_span_of(before));
            if is_in_family { place.has_name(cell) } else { place.has(cell) }
        })
    }

    /// Finds the cells of each column in a row; returns whether the row has cells that the schema does not name.
    fn find(&mut self, cells: CellSlice<'_>) -> bool {
        self.columns.iter_mut().for_each(|column| column.found = Found::default());
        self.last.clear();
        let (mut at, mut has_foreign, mut are_all_in_places) = (0, false, true);
        for (number, cell) in (0..).zip(cells.iter()) {
            // Most rows have the columns in the order of the places, and lack one here and there.
            let near = self.places.iter().skip(at).take(NEAR).position(|place| place.has(cell));
            let (family, name) = (cell.family_bytes(), cell.qualifier());
            let found = near.map(|near| at + near).or_else(|| self.place_of(family, Some(name)));
            let Some(found) = found else {
                are_all_in_places = false;
                has_foreign |= self.place_of(family, None).is_none();
                continue;
            };
            let shares_family = number > 0 && self.places[at].family == self.places[found].family;
            at = found;
            self.last.push(LastCell { place: found, shares_family });
            for PlaceOf { column, rank } in &self.places[at].of {
                let Some(ReadColumn { found, .. }) = self.columns.get_mut(*column) else { continue };
                if *rank < found.rank || found.slot.is_empty() {
                    *found = Found { slot: Slot::default(), rank: *rank };
                }
                if *rank == found.rank {
                    found.slot.take(number);
                }
            }
        }
        if !are_all_in_places {
            self.last.clear();
        }
        has_foreign
    }

    /// Reads a row.
    ///
    /// # Errors
    /// Those of the row type: the first in the order of the columns.
    pub(crate) fn read<'r>(&mut self, row: &'r RawRow, out: &mut RowBuffer<'r>) -> Result<(), RowError> {
        out.entries.clear();
        out.cells.clear();
        let cells = row.cell_slice();
        if !self.is_as_last(cells) {
            self.has_foreign = self.find(cells);
        }
        for at in 0..self.columns.len() {
            let ReadColumn { declared, newest, found, .. } = &self.columns[at];
            self.columns[at].span = match (newest, cells.of(found.slot).first()) {
                (Some(stored), Some(cell)) => {
                    let start = out.cells.len();
                    push_cell(cell, stored, &mut out.cells).map_err(
                        #[cold]
                        |error| self.cell_error(declared, error),
                    )?;
                    ColumnSpan { start, end: start + 1, is_present: true, is_default: false }
                }
                _ => self.read_column(declared, row, found.slot, out)?,
            };
        }
        Ok(())
    }

    fn cell_error(&self, declared: &DeclaredColumn, error: CellError) -> RowError {
        let (family, qualifier) = match *declared {
            DeclaredColumn::Column { family, column, .. } => (family, column.name()),
            DeclaredColumn::Map { family, .. } => (family, ""),
        };
        RowError::cell(Name { family: self.family_of(family), qualifier: qualifier.as_bytes() }, error)
    }

    #[inline]
    fn read_column<'r>(
        &self,
        declared: &DeclaredColumn,
        row: &'r RawRow,
        slot: Slot,
        out: &mut RowBuffer<'r>,
    ) -> Result<ColumnSpan, RowError> {
        match *declared {
            DeclaredColumn::Column { family, in_optional_family: true, .. } if !self.has(family, row) => {
                Ok(ColumnSpan::default())
            }
            DeclaredColumn::Column { family, column, .. } => {
                let cells = row.cell_slice().of(slot);
                read_named(column, self.family_of(family), cells, &mut out.cells)
            }
            DeclaredColumn::Map { family, key, stored, kind, is_optional } => {
                let family = self.family_of(family);
                let cells = RowCells::new(row, "").of_family(family);
                let is_present = !is_optional || !cells.is_empty();
                let of_entry = CellsOf { cells, stored, kind, window_micros: 0 };
                let start = out.entries.len();
                read_entries(key, of_entry, family, out)?;
                Ok(ColumnSpan { start, end: out.entries.len(), is_present, is_default: false })
            }
        }
    }

    /// Whether the optional struct in this family is present.
    fn has(&self, family: &str, row: &RawRow) -> bool {
        let is_it = |field: &&FieldSchema| field.is_optional() && field.family() == family;
        self.schema.fields().iter().find(is_it).is_none_or(|field| self.is_present(field, row))
    }

    /// Whether a field is present: an optional family needs a cell in one of its columns, or its marker.
    pub(super) fn is_present(&self, field: &FieldSchema, row: &RawRow) -> bool {
        let cells = || RowCells::new(row, "").of_family(self.family_of(field.family()));
        match field {
            FieldSchema::Struct { is_optional: true, .. } => {
                let whole = self.whole.field_of(field.family()).unwrap_or(field);
                is_present(cells(), |name| whole.owns(name))
            }
            FieldSchema::Map { is_optional: true, .. } => !cells().is_empty(),
            _ => true,
        }
    }
}

/// Appends the value of a cell.
#[inline(always)]
fn push_cell<'r>(
    cell: RawCell<'r>,
    stored: &CellType,
    out: &mut Vec<Timestamped<ValueRef<'r>>>,
) -> Result<(), CellError> {
    out.push(Timestamped::new(cell.timestamp_micros(), ValueRef::Bytes(&[])));
    out.last_mut().map_or(Ok(()), |to| stored.read_to(cell.value(), &mut to.value))
}

/// Reads a column that has a name in the type.
#[inline]
fn read_named<'r>(
    column: &'static ColumnSchema,
    family: &str,
    cells: CellSlice<'r>,
    out: &mut Vec<Timestamped<ValueRef<'r>>>,
) -> Result<ColumnSpan, RowError> {
    let (name, start, kind) = (column.name(), out.len(), column.kind());
    let own = CellsOf { cells, stored: column.stored(), kind, window_micros: column.window_micros() };
    own.read(family, name.as_bytes(), out)?;
    let mut is_default = false;
    if out.len() == start && !kind.reads_versions() {
        match kind {
            ColumnKind::Sum => out.push(Timestamped::new(0, 0.into())),
            _ if column.is_required() => typed::required(None, family, name)?,
            ColumnKind::Counter => out.push(Timestamped::new(0, 0.into())),
            _ => is_default = column.has_default(),
        }
    }
    Ok(ColumnSpan { start, end: out.len(), is_present: true, is_default })
}

/// Reads the entries of a map.
fn read_entries<'r>(
    key: CellType,
    CellsOf { cells, stored, kind, window_micros }: CellsOf<'r>,
    family: &str,
    out: &mut RowBuffer<'r>,
) -> Result<(), RowError> {
    for cells in cells.columns() {
        // The empty name marks a family without columns.
        let Some(first) = cells.first().filter(|first| !first.qualifier().is_empty()) else { continue };
        let (name, start) = (first.qualifier(), out.cells.len());
        key.read(name).map_err(|error| RowError::cell(Name { family, qualifier: name }, error))?;
        CellsOf { cells, stored, kind, window_micros }.read(family, name, &mut out.cells)?;
        out.entries.push(EntrySpan { qualifier: name, start, end: out.cells.len() });
    }
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
    #[inline(always)]
    fn read(
        &self,
        family: &str,
        name: &[u8],
        out: &mut Vec<Timestamped<ValueRef<'r>>>,
    ) -> Result<(), RowError> {
        let Self { cells, stored, kind, window_micros } = *self;
        match kind {
            ColumnKind::Value | ColumnKind::Counter | ColumnKind::Timestamped | ColumnKind::Versions => {
                let count = if kind.reads_versions() { usize::MAX } else { 1 };
                for cell in cells.iter().take(count) {
                    push_cell(cell, &stored, out)
                        .map_err(|error| RowError::cell(Name { family, qualifier: name }, error))?;
                }
            }
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

/// The values read from a row.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer<'r> {
    /// The values of the key's fields.
    pub(crate) key: Vec<ReadValue<'r>>,
    entries: Vec<EntrySpan<'r>>,
    cells: Vec<Timestamped<ValueRef<'r>>>,
}

/// A column that was read: its cells among all of them; or of a map its entries.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnSpan {
    start: usize,
    end: usize,
    /// False for a column or a map of an absent optional family.
    is_present: bool,
    is_default: bool,
}

/// An entry of a map that was read: its cells among all of them.
#[derive(Clone, Copy, Debug)]
struct EntrySpan<'r> {
    qualifier: &'r [u8],
    start: usize,
    end: usize,
}

impl RowBuffer<'_> {
    /// Reuses the memory for another row.
    #[inline]
    pub(crate) fn reused(self) -> RowBuffer<'static> {
        let Self { key, entries, cells } = self;
        RowBuffer { key: reused(key), entries: reused(entries), cells: reused(cells) }
    }
}

/// An empty list in the memory of another: the standard library collects a list of the same layout in place.
#[inline]
fn reused<A, B>(mut list: Vec<A>) -> Vec<B> {
    list.clear();
    list.into_iter().filter_map(|_| None).collect()
}

/// Reads owned rows, one after the other.
#[doc(hidden)]
#[derive(Debug)]
pub struct DynReader {
    reader: RowReader,
    buffer: RowBuffer<'static>,
}

impl DynReader {
    /// Reads all columns of a part of a row type.
    pub(crate) fn new(
        schema: &'static RowSchema,
        whole: &'static RowSchema,
        family: impl Into<Arc<str>>,
    ) -> Self {
        Self { reader: RowReader::of_part(schema, whole, family), buffer: RowBuffer::default() }
    }

    pub(crate) fn read(&mut self, row: &RawRow) -> Result<DynRow, RowError> {
        let mut read: RowBuffer<'_> = mem::take(&mut self.buffer);
        let result = self.reader.read(row, &mut read).map(|()| DynRow::of_read(&self.reader, &read, row));
        self.buffer = read.reused();
        result.map_err(|error| error.of_row(row))
    }
}

/// A row of a table whose layout is data, borrowed: in the closure of [`Scan::visit`](crate::Scan::visit) or of a
/// [`DynCursor`](crate::table::DynCursor).
///
/// The key and all columns that the scan reads have been decoded and checked before the closure is called.
///
/// The index of a column is its position among those that the scan reads: all [declared ones](crate::row::RowSchema::declared_columns) in
/// their order, or those of [`Scan::cursor`](crate::Scan::cursor).
#[derive(Clone, Copy)]
pub struct DynRowRef<'a> {
    key: &'a [u8],
    reader: &'a RowReader,
    read: &'a RowBuffer<'a>,
}

impl<'a> DynRowRef<'a> {
    pub(crate) fn new(key: &'a [u8], reader: &'a RowReader, read: &'a RowBuffer<'a>) -> Self {
        Self { key, reader, read }
    }

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

    /// The value of a field of the key, by its index in the [schema](crate::key::KeySchema::fields); `None` if it has no such field.
    #[inline]
    #[must_use]
    pub fn key_field(self, at: usize) -> Option<ValueRef<'a>> {
        self.read.key.get(at).map(ReadValue::as_ref)
    }

    /// The value of a column, or the newest of several: [`DynColumnRef::newest`] of [`column`](Self::column).
    #[inline]
    #[must_use]
    pub fn newest(self, at: usize) -> Option<ValueRef<'a>> {
        self.column(at)?.newest()
    }

    /// A column. `None` if its family is optional and absent, if it is a map, which has [entries](Self::entries), or if the scan does not
    /// read it.
    #[inline]
    #[must_use]
    pub fn column(self, at: usize) -> Option<DynColumnRef<'a>> {
        let (DeclaredColumn::Column { column, .. }, span) = self.read_at(at)? else { return None };
        let cells = &self.read.cells[span.start..span.end];
        let qualifier = column.name().as_bytes();
        span.is_present.then_some(DynColumnRef { qualifier, cells, is_default: span.is_default })
    }

    /// The entries of a family that is a map, in the order of their names. `None` if it is optional and absent, if it is not a map, or if
    /// the scan does not read it.
    #[inline]
    #[must_use]
    pub fn entries(self, at: usize) -> Option<impl ExactSizeIterator<Item = DynColumnRef<'a>>> {
        let (DeclaredColumn::Map { .. }, span) = self.read_at(at)? else { return None };
        let entry = |EntrySpan { qualifier, start, end }: &EntrySpan<'a>| DynColumnRef {
            qualifier,
            cells: &self.read.cells[*start..*end],
            is_default: false,
        };
        span.is_present.then(|| self.read.entries[span.start..span.end].iter().map(entry))
    }

    #[inline]
    fn read_at(self, at: usize) -> Option<(&'a DeclaredColumn, ColumnSpan)> {
        self.reader.columns.get(at).map(|column| (&column.declared, column.span))
    }
}

/// The key, and a line for each present column.
impl fmt::Debug for DynRowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |at| self.column(at).into_iter().chain(self.entries(at).into_iter().flatten());
        let columns: Vec<_> = (0..self.reader.columns.len()).flat_map(of).collect();
        f.debug_struct("DynRowRef").field("key", &Shown(self.key)).field("columns", &columns).finish()
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
    /// The column's name: for an entry, the stored one; otherwise that of the row type, even if the cell had an alias.
    #[must_use]
    pub fn qualifier(self) -> &'a [u8] {
        self.qualifier
    }

    /// The value, or the newest of several; `None` if the column is absent.
    #[inline]
    #[must_use]
    pub fn newest(self) -> Option<ValueRef<'a>> {
        self.cells.first().map(|cell| cell.value)
    }

    /// The cells that the column's [kind](crate::row::ColumnKind) reads, the newest first: one or none, or every version. A counter or sum
    /// without a stored cell is a 0 at the time 0.
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
