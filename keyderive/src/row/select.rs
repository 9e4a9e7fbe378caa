//! Some columns of a row, as values of their types.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::column::{Column, ColumnPlace, ColumnRef, ColumnType, Entry, Family, MapFamily};
use super::field::optional_family;
use super::live::Live;
use super::raw::{CellSlice, RawRow};
use super::schema::{ColumnSchema, FieldSchema, RowSchema};
use super::{
    FamilyField, Name, Qualifier, RowCells, RowError, RowFilter, StoredCell, Sum, Timestamped, Versions,
};

/// Columns of the row type `R` that a read takes alone: a column, a family, or a tuple of up to 16 of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select columns of `{R}`",
    label = "not a selection",
    note = "select a column such as `Event::KIND`, a family such as `Event::PLACE`, or a tuple of up to 16 of them; a tuple can hold tuples"
)]
pub trait Selection<R> {
    /// What is read of a row.
    type Output;
    #[doc(hidden)]
    type Reader: SelectionReader<Output = Self::Output> + Send + Sync + 'static;

    #[doc(hidden)]
    fn reader(self) -> Result<Self::Reader, RowError>;
}

/// Reads the selected columns of rows.
#[doc(hidden)]
pub trait SelectionReader {
    type Output;

    fn columns(&self, out: &mut SelectedColumns);

    fn read(&self, cells: RowCells<'_>) -> Result<Self::Output, RowError>;
}

/// The columns that are selected.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct SelectedColumns {
    /// By family, and whether every version is read.
    columns: BTreeMap<(String, bool), Vec<Bytes>>,
    families: Vec<(String, bool)>,
    has_required: bool,
}

/// The label of the cell that returns a row without any of the selected columns.
pub(super) const PRESENCE: &str = "keyderive-row";

impl SelectedColumns {
    /// Whether a column is among them; with `None`, whether a whole family is.
    pub(super) fn contains(&self, family: &str, name: Option<&str>) -> bool {
        let has_name = |((of, _), names): (&(String, bool), &Vec<Bytes>)| {
            of == family && name.is_some_and(|name| names.iter().any(|other| other == name.as_bytes()))
        };
        self.families.iter().any(|(of, _)| of == family) || self.columns.iter().any(has_name)
    }

    /// The columns of a selection.
    pub(super) fn of(selection: &dyn ErasedSelection) -> Self {
        let mut columns = Self::default();
        selection.columns(&mut columns);
        columns
    }

    /// The filter of these columns, with at most `versions` versions of a column that has several; with `live`, of live
    /// cells only.
    ///
    /// A row without any of them is returned all the same if none is required: its first counted cell is passed without its value, with
    /// a label. A filter of versions after it would count that cell too, so each branch has its own.
    pub(super) fn filter(
        mut self,
        live: Option<Live>,
        counted: Option<RowFilter>,
        versions: Option<u32>,
    ) -> RowFilter {
        if versions == Some(0) {
            return RowFilter::block_all();
        }
        let of_family = |family: &str, filter: RowFilter| match live {
            Some(live) => live.of_family(family, filter),
            None => filter,
        };
        // A server sends a cell once for each branch that passes it.
        let mut families: BTreeMap<String, bool> = BTreeMap::new();
        for (family, all) in self.families {
            *families.entry(family).or_default() |= all;
        }
        let of_every_version = self.columns.iter().filter(|((_, all), _)| *all);
        let of_every_version: BTreeMap<String, Vec<Bytes>> =
            of_every_version.map(|((family, _), names)| (family.clone(), names.clone())).collect();
        self.columns.retain(|(family, all), names| match families.get_mut(family) {
            Some(of_family) => {
                *of_family |= all;
                false
            }
            None => {
                if !all && let Some(others) = of_every_version.get(family) {
                    names.retain(|name| !others.contains(name));
                }
                !names.is_empty()
            }
        });
        let columns = self
            .columns
            .into_iter()
            .map(|((family, all), names)| (all, of_family(&family, RowFilter::any_column(&*family, names))));
        let families =
            families.into_iter().map(|(family, all)| (all, of_family(&family, RowFilter::family(&*family))));
        let (every_version, newest): (Vec<_>, Vec<_>) = columns.chain(families).partition(|(all, _)| *all);
        let latest = |of: Vec<(bool, RowFilter)>, versions: Option<u32>| -> Vec<RowFilter> {
            let filters: Vec<_> = of.into_iter().map(|(_, filter)| filter).collect();
            match versions.map(RowFilter::latest) {
                Some(latest) if !filters.is_empty() => {
                    vec![RowFilter::chain([RowFilter::interleave(filters), latest])]
                }
                _ => filters,
            }
        };
        let presence = counted.into_iter().chain(RowFilter::existence());
        let presence = RowFilter::chain(presence.chain([RowFilter::own_label(PRESENCE)]));
        let selected = latest(newest, Some(1)).into_iter().chain(latest(every_version, versions));
        RowFilter::interleave(selected.chain((!self.has_required).then_some(presence)))
    }
}

/// A selection whose type its reader knows.
pub(crate) trait ErasedSelection: fmt::Debug + Send + Sync {
    fn columns(&self, out: &mut SelectedColumns);

    fn as_any(&self) -> &dyn Any;
}

/// A selection of columns that are read as a `T`.
pub(crate) struct HeldSelection<T>(Box<dyn SelectionReader<Output = T> + Send + Sync>);

impl<T: 'static> HeldSelection<T> {
    pub(crate) fn new(reader: impl SelectionReader<Output = T> + Send + Sync + 'static) -> Self {
        Self(Box::new(reader))
    }

    /// The selected columns of a row. The cell that marks its presence is none of theirs.
    pub(crate) fn read(&self, row: &RawRow, family: &str) -> Result<T, RowError> {
        match row.without_label(PRESENCE) {
            Some(row) => self.0.read(RowCells::new(&row, family)),
            None => self.0.read(RowCells::new(row, family)),
        }
    }
}

impl<T: 'static> ErasedSelection for HeldSelection<T> {
    fn columns(&self, out: &mut SelectedColumns) {
        self.0.columns(out);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T> fmt::Debug for HeldSelection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeldSelection")
    }
}

/// Columns of a row type that is known at run time: rows without any are read too.
#[derive(Debug)]
pub(crate) struct SchemaSelection {
    pub(crate) fields: Vec<SelectedField>,
    /// The family of a row that is a map.
    pub(crate) family: Arc<str>,
}

/// A field of a row type with some columns selected; a map is selected whole.
#[derive(Debug)]
pub(crate) struct SelectedField {
    pub(crate) schema: &'static FieldSchema,
    pub(crate) columns: Vec<&'static ColumnSchema>,
}

impl SelectedField {
    /// All fields of a row type with all their columns.
    pub(crate) fn all_of(schema: &'static RowSchema) -> Vec<Self> {
        let all = |schema: &'static FieldSchema| Self { schema, columns: schema.columns().iter().collect() };
        schema.fields().iter().map(all).collect()
    }
}

impl ErasedSelection for SchemaSelection {
    fn columns(&self, out: &mut SelectedColumns) {
        for SelectedField { schema, columns } in &self.fields {
            let family = if schema.family().is_empty() { &*self.family } else { schema.family() };
            let whole = match schema {
                FieldSchema::Map { kind, .. } => Some(kind.reads_versions()),
                // Any of its columns says that it is there, and so does its marker.
                FieldSchema::Struct { is_optional, .. } => is_optional.then_some(true),
                FieldSchema::Column { .. } => None,
            };
            out.families.extend(whole.map(|every_version| (family.to_owned(), every_version)));
            for column in columns {
                let former = column.aliases().map(|alias| (alias.family.unwrap_or(family), alias.name));
                let places = [(family, column.name())].into_iter().chain(former);
                for (family, name) in places {
                    let key = (family.to_owned(), column.kind().reads_versions());
                    out.columns.entry(key).or_default().push(Bytes::copy_from_slice(name.as_bytes()));
                }
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The row without the mark of presence that a selection may add.
pub(crate) fn without_presence(row: &RawRow) -> Option<RawRow> {
    row.without_label(PRESENCE)
}

/// Makes `copy` the row without the mark of presence, in the memory that it has; false if the row has none.
pub(crate) fn copy_without_presence(row: &RawRow, copy: &mut RawRow) -> bool {
    row.copy_without_label(PRESENCE, copy)
}

fn cells_of<'r>(cells: RowCells<'r>, column: Name<'_>) -> CellSlice<'r> {
    let family = cells.of_family(column.family);
    let (_, rest) = family.split_where(|cell| cell.qualifier() == column.qualifier);
    rest.split_where(|cell| cell.qualifier() != column.qualifier).0
}

/// Reads one column.
#[doc(hidden)]
pub struct ColumnReader<T> {
    place: ColumnPlace,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for ColumnReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnReader").field(&self.place).finish()
    }
}

impl<T: ColumnType> SelectionReader for ColumnReader<T> {
    type Output = T::Output;

    fn columns(&self, out: &mut SelectedColumns) {
        let all = T::KIND.reads_versions();
        let names = [self.place.name()].into_iter().chain(self.place.former());
        for Name { family, qualifier } in names {
            let columns = out.columns.entry((family.to_owned(), all)).or_default();
            columns.push(Bytes::copy_from_slice(qualifier));
        }
        out.has_required |= T::IS_REQUIRED;
    }

    fn read(&self, cells: RowCells<'_>) -> Result<T::Output, RowError> {
        let places = [self.place.name()].into_iter().chain(self.place.former());
        let mut found = places.map(|name| cells_of(cells, name)).filter(|cells| !cells.is_empty());
        let found = found.next().unwrap_or_else(|| cells.all().part(0..0));
        match T::output(found) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(RowError::missing(self.place.name())),
            Err(error) => Err(RowError::cell(self.place.name(), error)),
        }
    }
}

macro_rules! columns {
    ($($type:ident)*) => {$(
        impl<R, T: ColumnType + 'static> Selection<R> for $type<R, T> {
            type Output = T::Output;
            type Reader = ColumnReader<T>;

            fn reader(self) -> Result<ColumnReader<T>, RowError> {
                let place = ColumnRef::<R>::place(self)?;
                Ok(ColumnReader { place, of: std::marker::PhantomData })
            }
        }
    )*};
}

columns! { Column Entry }

/// Reads a family that is a struct; none if it has none of the struct's columns.
#[doc(hidden)]
#[derive(Debug)]
pub struct FamilyReader<P> {
    family: &'static str,
    of: std::marker::PhantomData<fn() -> P>,
}

impl<P: for<'r> FamilyField<Decoded<'r> = P>> SelectionReader for FamilyReader<P> {
    type Output = Option<P>;

    fn columns(&self, out: &mut SelectedColumns) {
        out.families.push((self.family.to_owned(), true));
    }

    fn read(&self, cells: RowCells<'_>) -> Result<Option<P>, RowError> {
        optional_family(cells.of_family(self.family), P::owns, P::read, self.family)
    }
}

impl<R, P, C> Selection<R> for Family<R, P, C>
where
    P: for<'r> FamilyField<Decoded<'r> = P> + 'static,
{
    type Output = Option<P>;
    type Reader = FamilyReader<P>;

    fn reader(self) -> Result<FamilyReader<P>, RowError> {
        Ok(FamilyReader { family: self.family(), of: std::marker::PhantomData })
    }
}

/// The column of a map's entry.
#[doc(hidden)]
pub trait EntryColumn: ColumnType {
    /// The value of an entry that is present.
    type Value;

    fn value(output: Self::Output) -> Option<Self::Value>;
}

impl<S: StoredCell> EntryColumn for Option<S> {
    type Value = S::Value;

    fn value(output: Option<S::Value>) -> Option<S::Value> {
        output
    }
}

impl<S: StoredCell> EntryColumn for Option<Timestamped<S>> {
    type Value = Timestamped<S::Value>;

    fn value(output: Option<Timestamped<S::Value>>) -> Option<Timestamped<S::Value>> {
        output
    }
}

macro_rules! entry_columns {
    ($([$($param:tt)*] $type:ty;)*) => {$(
        impl<$($param)*> EntryColumn for $type {
            type Value = <Self as ColumnType>::Output;

            fn value(output: Self::Value) -> Option<Self::Value> {
                Some(output)
            }
        }
    )*};
}

entry_columns! {
    [S: StoredCell] Versions<S>;
    [] Sum;
    [] super::Min;
    [] super::Max;
    [] Versions<Sum>;
    [] Versions<super::Min>;
    [] Versions<super::Max>;
}

/// Reads a family that is a map.
#[doc(hidden)]
#[derive(Debug)]
pub struct MapReader<Q, T> {
    family: &'static str,
    of: std::marker::PhantomData<fn() -> (Q, T)>,
}

impl<Q: Qualifier, T: EntryColumn> SelectionReader for MapReader<Q, T> {
    type Output = BTreeMap<Q, T::Value>;

    fn columns(&self, out: &mut SelectedColumns) {
        out.families.push((self.family.to_owned(), T::KIND.reads_versions()));
    }

    fn read(&self, cells: RowCells<'_>) -> Result<Self::Output, RowError> {
        let mut map = BTreeMap::new();
        for column in cells.of_family(self.family).columns() {
            let Some(newest) = column.first().filter(|newest| !newest.qualifier().is_empty()) else {
                continue;
            };
            let name = Name { family: self.family, qualifier: newest.qualifier() };
            let at_column = |error| RowError::cell(name, error);
            let key = Q::of_qualifier(newest.qualifier()).map_err(at_column)?;
            let value = T::output(column).map_err(at_column)?.and_then(T::value);
            map.extend(value.map(|value| (key, value)));
        }
        Ok(map)
    }
}

impl<R, Q: Qualifier + 'static, T: EntryColumn + 'static> Selection<R> for MapFamily<R, Q, T> {
    type Output = BTreeMap<Q, T::Value>;
    type Reader = MapReader<Q, T>;

    fn reader(self) -> Result<MapReader<Q, T>, RowError> {
        Ok(MapReader { family: self.family(), of: std::marker::PhantomData })
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+))*) => {$(
        impl<R, $($name: Selection<R>),+> Selection<R> for ($($name,)+) {
            type Output = ($($name::Output,)+);
            type Reader = ($($name::Reader,)+);

            fn reader(self) -> Result<Self::Reader, RowError> {
                Ok(($(self.$at.reader()?,)+))
            }
        }

        impl<$($name: SelectionReader),+> SelectionReader for ($($name,)+) {
            type Output = ($($name::Output,)+);

            fn columns(&self, out: &mut SelectedColumns) {
                $(self.$at.columns(out);)+
            }

            fn read(&self, cells: RowCells<'_>) -> Result<Self::Output, RowError> {
                Ok(($(self.$at.read(cells)?,)+))
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, L 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, L 10, M 11)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, L 10, M 11, N 12)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, L 10, M 11, N 12, O 13)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, L 10, M 11, N 12, O 13, P 14)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, L 10, M 11, N 12, O 13, P 14, Q 15)
}
