//! How generated code reads and writes a field: in its column, or in its family.
//!
//! The functions take closures that decode or encode a value, not a bound on its type, so that a type without an encoding is
//! one error, at the field.

#![expect(clippy::missing_errors_doc, reason = "generated code calls these functions")]

use std::time::Duration;

use super::aggregate::{self, Aggregate, addition};
use super::encode::RowWriter;
use super::raw::CellSlice;
use super::{CellError, CellWriter, Name, Qualifier, RawCell, RowError, SERVER_TIME, Timestamped, Versions};

/// A field that its column needs.
#[inline]
pub fn required<T>(read: Option<T>, family: &str, qualifier: &str) -> Result<T, RowError> {
    read.ok_or_else(|| RowError::missing(Name { family, qualifier: qualifier.as_bytes() }))
}

/// The newest value of a column.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn newest<'r, T>(
    cells: CellSlice<'r>,
    decode: impl FnOnce(&'r [u8]) -> Result<T, CellError>,
    family: &str,
    qualifier: &[u8],
) -> Result<Option<T>, RowError> {
    match cells.first() {
        Some(cell) => match decode(cell.value()) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(RowError::cell(Name { family, qualifier }, error)),
        },
        None => Ok(None),
    }
}

/// The newest value of a column with its timestamp.
pub fn newest_timestamped<'r, T>(
    cells: CellSlice<'r>,
    decode: impl FnOnce(&'r [u8]) -> Result<T, CellError>,
    family: &str,
    qualifier: &[u8],
) -> Result<Option<Timestamped<T>>, RowError> {
    let at = cells.first().map(RawCell::timestamp_micros);
    let value = newest(cells, decode, family, qualifier)?;
    Ok(at.zip(value).map(|(at, value)| Timestamped::new(at, value)))
}

/// Every version of a column.
pub fn versions<'r, T>(
    cells: CellSlice<'r>,
    decode: impl Fn(&'r [u8]) -> Result<T, CellError>,
    family: &str,
    qualifier: &[u8],
) -> Result<Versions<T>, RowError> {
    let version = |cell: RawCell<'r>| Ok(Timestamped::new(cell.timestamp_micros(), decode(cell.value())?));
    let versions: Result<_, CellError> = cells.iter().map(version).collect();
    versions.map_err(|error| RowError::cell(Name { family, qualifier }, error))
}

/// An aggregate of all time.
pub fn aggregate<A: Aggregate>(cells: CellSlice<'_>, family: &str, qualifier: &[u8]) -> Result<A, RowError> {
    aggregate::read(cells).map_err(|error| RowError::cell(Name { family, qualifier }, error))
}

/// The aggregates of windows of time, which are `window_micros` wide.
///
/// # Errors
/// If a cell is not at the start of a window: a program with windows of another width has added to it.
pub fn aggregates<A: Aggregate>(
    cells: CellSlice<'_>,
    family: &str,
    qualifier: &[u8],
    window_micros: i64,
) -> Result<Versions<A>, RowError> {
    let starts_window = |at: i64| at != 0 && (window_micros == 0 || at % window_micros == 0);
    if let Some(cell) = cells.iter().find(|cell| !starts_window(cell.timestamp_micros())) {
        let error = CellError::malformed(format_args!(
            "has an aggregate of the time {}, in microseconds since the epoch, at which no window of {:?} begins: a program whose \
             row type differs has added to it",
            cell.timestamp_micros(),
            Duration::from_micros(window_micros.unsigned_abs()),
        ));
        return Err(RowError::cell(Name { family, qualifier }, error));
    }
    versions(cells, aggregate::decode, family, qualifier)
}

/// The entries of a map that is a family.
pub fn map<'r, Q: Qualifier, V, M: Default + Extend<(Q, V)>>(
    cells: CellSlice<'r>,
    family: &str,
    read: impl Fn(CellSlice<'r>, &str, &[u8]) -> Result<Option<V>, RowError>,
) -> Result<M, RowError> {
    let mut map = M::default();
    for column in cells.columns() {
        // The empty name marks a family without columns.
        let Some(newest) = column.first().filter(|newest| !newest.qualifier().is_empty()) else { continue };
        let qualifier = newest.qualifier();
        let key =
            Q::of_qualifier(qualifier).map_err(|error| RowError::cell(Name { family, qualifier }, error))?;
        map.extend(read(column, family, qualifier)?.map(|value| (key, value)));
    }
    Ok(map)
}

/// A family that may be absent, which has none of the field's columns.
pub fn optional_family<'r, P>(
    cells: CellSlice<'r>,
    owns: impl Fn(&[u8]) -> bool,
    read: impl FnOnce(CellSlice<'r>, &str) -> Result<P, RowError>,
    family: &str,
) -> Result<Option<P>, RowError> {
    is_present(cells, owns).then(|| read(cells, family)).transpose()
}

/// Whether a family that may be absent has one of the field's columns.
pub(crate) fn is_present(cells: CellSlice<'_>, owns: impl Fn(&[u8]) -> bool) -> bool {
    cells.qualifiers().any(|(_, qualifier)| owns(qualifier))
}

/// Any column is one of a map.
#[must_use]
pub fn owns_all(_: &[u8]) -> bool {
    true
}

/// Writes of fields.
impl RowWriter<'_> {
    /// Sets a column to the field's value.
    #[doc(hidden)]
    #[inline]
    pub fn write_value<V>(
        &mut self,
        column: Name<'_>,
        value: &V,
        encode: impl FnOnce(&V, &mut CellWriter<'_>) -> Result<(), CellError>,
    ) -> Result<(), RowError> {
        self.set_with(column, SERVER_TIME, |out| encode(value, out))
    }

    /// Sets a column to the field's value, or deletes it.
    #[doc(hidden)]
    #[inline]
    pub fn write_option<V>(
        &mut self,
        column: Name<'_>,
        value: &Option<V>,
        encode: impl FnOnce(&V, &mut CellWriter<'_>) -> Result<(), CellError>,
    ) -> Result<(), RowError> {
        match value {
            Some(value) => self.write_value(column, value, encode),
            None => {
                self.delete(column);
                Ok(())
            }
        }
    }

    /// Makes versions with times of their own the only ones of a column.
    #[doc(hidden)]
    pub fn write_versions<V>(
        &mut self,
        column: Name<'_>,
        versions: &[Timestamped<V>],
        encode: impl Fn(&V, &mut CellWriter<'_>) -> Result<(), CellError>,
    ) -> Result<(), RowError> {
        self.set_versions(column, versions, encode)
    }

    /// Adds an aggregate's value to the one that the server keeps, if the write adds; others leave it as it is.
    #[doc(hidden)]
    #[inline]
    pub fn add_aggregate<A: Aggregate>(&mut self, column: Name<'_>, value: &A) -> Result<(), RowError> {
        if !self.adds() {
            return Ok(());
        }
        let Some(amount) = value.added() else { return Ok(()) };
        self.add(&addition(column, A::KIND, 0, 0, amount)?);
        Ok(())
    }

    /// [`add_aggregate`](Self::add_aggregate) of each window of time.
    #[doc(hidden)]
    #[inline]
    pub fn add_aggregates<A: Aggregate>(
        &mut self,
        column: Name<'_>,
        versions: &[Timestamped<A>],
        window_micros: i64,
    ) -> Result<(), RowError> {
        if !self.adds() {
            return Ok(());
        }
        for Timestamped { timestamp_micros, value } in versions {
            if let Some(amount) = value.added() {
                self.add(&addition(column, A::KIND_IN_WINDOWS, window_micros, *timestamp_micros, amount)?);
            }
        }
        Ok(())
    }

    /// Adds the aggregates of a map, if the write adds.
    #[doc(hidden)]
    #[inline]
    pub fn add_map<'m, Q: Qualifier + 'm, V: 'm>(
        &mut self,
        family: &str,
        entries: impl IntoIterator<Item = (&'m Q, &'m V)>,
        add: impl Fn(&mut Self, Name<'_>, &V) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        if !self.adds() {
            return Ok(());
        }
        self.write_entries(family, entries, add)
    }

    /// Deletes a family, and sets the entries of a map in it.
    #[doc(hidden)]
    pub fn write_map<'m, Q: Qualifier + 'm, V: 'm>(
        &mut self,
        family: &str,
        entries: impl IntoIterator<Item = (&'m Q, &'m V)>,
        write: impl Fn(&mut Self, Name<'_>, &V) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        self.delete_family(family);
        self.write_entries(family, entries, write)
    }

    fn write_entries<'m, Q: Qualifier + 'm, V: 'm>(
        &mut self,
        family: &str,
        entries: impl IntoIterator<Item = (&'m Q, &'m V)>,
        write: impl Fn(&mut Self, Name<'_>, &V) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        for (key, value) in entries {
            let qualifier = Q::to_qualifier(key.borrowed())
                .map_err(|error| RowError::cell(Name { family, qualifier: b"" }, error))?;
            if qualifier.is_empty() {
                return Err(RowError::empty_name(family));
            }
            write(self, Name { family, qualifier: &qualifier }, value)?;
        }
        Ok(())
    }

    /// Writes a family that may be absent.
    #[doc(hidden)]
    pub fn write_optional_family<P>(
        &mut self,
        family: &str,
        value: &Option<P>,
        write: impl FnOnce(&P, &str, &mut Self) -> Result<(), RowError>,
        delete: impl FnOnce(&str, &mut Self),
    ) -> Result<(), RowError> {
        let Some(value) = value else {
            delete(family, self);
            return Ok(());
        };
        let before = self.cells();
        write(value, family, self)?;
        self.end_family(family, before);
        Ok(())
    }
}
