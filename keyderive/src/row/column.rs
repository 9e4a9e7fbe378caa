//! Columns as values: constants of a row type, entries of its maps, and what may be done with each.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use bytes::Bytes;

use super::aggregate::{Aggregate, read};
use super::raw::{CellSlice, RawCell};
use super::schema::Alias;
use super::{
    As, Cell, CellError, CellType, CellWriter, ColumnKind, ComparableCell, Encoding, Max, Min, Name,
    OrderedCell, OwnedCell, Qualifier, RowError, StoredCell, Sum, Timestamped, Versions,
};

/// The type of a column: its field's, with `String` for text and [`As`] for a field with an encoding of its own.
///
/// | field | column |
/// |---|---|
/// | `T`, `&str` | `T`, `String` |
/// | `Option<T>`, `T` with `default`, an entry of a map of `T` | `Option<T>` |
/// | `i64` with `counter` | [`Counter`] |
/// | [`Versions<T>`], [`Timestamped<T>`] | the same |
/// | [`Sum`], [`Min`], [`Max`], [`Versions`] of these | the same |
/// | `T` with `json`, `ts` or `with` | [`As<T, …>`](As), also inside the others |
pub trait ColumnType {
    #[doc(hidden)]
    type Cell: StoredCell;
    /// What [`select`](crate::Table::select) gives of the column.
    type Output;
    #[doc(hidden)]
    const KIND: ColumnKind;
    #[doc(hidden)]
    const IS_REQUIRED: bool;

    /// The column's value from its cells, which may be none. `None` if it needs a cell and has none.
    #[doc(hidden)]
    fn output(cells: CellSlice<'_>) -> Result<Option<Self::Output>, CellError>;
}

/// The type of a column with `#[row(counter)]`: an integer that [`increment`](crate::Table::increment) adds to.
#[derive(Debug)]
pub enum Counter {}

/// The type of a column that was named by text: [`Row::column`](super::Row::column).
#[derive(Debug)]
pub enum Any {}

impl StoredCell for Any {
    type Value = Bytes;
    const STORED: CellType = CellType::Bytes;

    fn read(value: &[u8]) -> Result<Bytes, CellError> {
        Ok(Bytes::copy_from_slice(value))
    }
}

/// It has a type at run time, which decides.
impl ComparableCell for Any {}
impl OrderedCell for Any {}

/// The type of a column whose field has a fault that the derive reports. It takes every value, so that the fault is one error.
#[doc(hidden)]
#[derive(Debug)]
pub enum Faulty {}

impl StoredCell for Faulty {
    type Value = Self;
    const STORED: CellType = CellType::Bytes;

    fn read(_: &[u8]) -> Result<Self, CellError> {
        Err(CellError::unsupported("is of a row type with faults"))
    }
}

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl<V> CellValue<Faulty> for V {
    fn encode_value(&self, _: CellType, _: &mut CellWriter<'_>) -> Result<(), CellError> {
        Ok(())
    }
}

impl SettableAt for Faulty {}
impl Clearable for Faulty {}
impl Countable for Faulty {}
impl Addable for Faulty {}
impl AddableAt for Faulty {}
impl History for Faulty {}
impl Appendable for Faulty {}
impl ComparableCell for Faulty {}
impl OrderedCell for Faulty {}

/// What a cell of an aggregate holds, which no condition compares.
#[doc(hidden)]
#[derive(Debug)]
pub enum Aggregated {}

impl StoredCell for Aggregated {
    type Value = i64;
    const STORED: CellType = <i64 as Cell>::TYPE;

    fn read(value: &[u8]) -> Result<i64, CellError> {
        <i64 as Cell>::decode(value)
    }
}

/// A column of aggregates is not set; this lets the error say so alone.
impl CellValue<Aggregated> for i64 {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        self.encode(out)
    }
}

fn newest<S: StoredCell>(cells: CellSlice<'_>) -> Result<Option<S::Value>, CellError> {
    cells.first().map(|cell| S::read(cell.value())).transpose()
}

fn timestamped<S: StoredCell>(cell: RawCell<'_>) -> Result<Timestamped<S::Value>, CellError> {
    Ok(Timestamped::new(cell.timestamp_micros(), S::read(cell.value())?))
}

macro_rules! column_types {
    ($([$($param:tt)*] $type:ty: $cell:ty, $output:ty, $kind:ident, $required:literal, $read:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($param)*> ColumnType for $type {
            type Cell = $cell;
            type Output = $output;
            const KIND: ColumnKind = ColumnKind::$kind;
            const IS_REQUIRED: bool = $required;

            fn output(cells: CellSlice<'_>) -> Result<Option<$output>, CellError> {
                $read(cells)
            }
        }
    )*};
}

column_types! {
    [S: StoredCell] S: S, S::Value, Value, true, newest::<S>;
    [S: StoredCell] Option<S>: S, Option<S::Value>, Value, false, |cells| newest::<S>(cells).map(Some);
    [S: StoredCell] Timestamped<S>: S, Timestamped<S::Value>, Timestamped, true,
        |cells: CellSlice<'_>| cells.first().map(timestamped::<S>).transpose();
    [S: StoredCell] Option<Timestamped<S>>: S, Option<Timestamped<S::Value>>, Timestamped, false,
        |cells: CellSlice<'_>| cells.first().map(timestamped::<S>).transpose().map(Some);
    [S: StoredCell] Versions<S>: S, Versions<S::Value>, Versions, false,
        |cells: CellSlice<'_>| cells.iter().map(timestamped::<S>).collect::<Result<_, _>>().map(Some);
    [] Counter: i64, i64, Counter, false, |cells| newest::<i64>(cells).map(|count| Some(count.unwrap_or(0)));
}

macro_rules! aggregates {
    ($($type:ident)*) => {$(
        impl ColumnType for $type {
            type Cell = Aggregated;
            type Output = Self;
            const KIND: ColumnKind = <Self as Aggregate>::KIND;
            const IS_REQUIRED: bool = false;

            fn output(cells: CellSlice<'_>) -> Result<Option<Self>, CellError> {
                read(cells).map(Some)
            }
        }

        impl ColumnType for Versions<$type> {
            type Cell = Aggregated;
            type Output = Self;
            const KIND: ColumnKind = <$type as Aggregate>::KIND_IN_WINDOWS;
            const IS_REQUIRED: bool = false;

            fn output(cells: CellSlice<'_>) -> Result<Option<Self>, CellError> {
                let version = |cell: RawCell<'_>| {
                    Ok(Timestamped::new(cell.timestamp_micros(), <$type>::of(<i64 as Cell>::decode(cell.value())?)))
                };
                cells.iter().map(version).collect::<Result<_, _>>().map(Some)
            }
        }

        impl Clearable for $type {}
        impl Clearable for Versions<$type> {}
        impl Addable for $type {}
        impl AddableAt for Versions<$type> {}
    )*};
}

aggregates! { Sum Min Max }

/// A column that a program sets.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` cannot be set",
    label = "neither a value nor an `Option` of one",
    note = "an aggregate, such as `Sum`, is changed by `.add(column, amount)` and emptied by `.clear(column)`; a column of \
            `Versions<…>` takes `.add_version(column, micros, value)`"
)]
pub trait Settable: ColumnType {}
#[diagnostic::do_not_recommend]
impl<S: StoredCell> Settable for S {}
impl<S: StoredCell> Settable for Option<S> {}
impl<S: StoredCell> Settable for Timestamped<S> {}
impl<S: StoredCell> Settable for Option<Timestamped<S>> {}
impl Settable for Counter {}

/// A column of values with timestamps of their own.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` takes the server's time",
    label = "has no timestamps of its own",
    note = "a field of the type `Timestamped<…>` has; another column is set by `.set(…)`"
)]
pub trait SettableAt: Settable {}
impl<S: StoredCell> SettableAt for Timestamped<S> {}
impl<S: StoredCell> SettableAt for Option<Timestamped<S>> {}

/// A column without which a row can still be read.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` cannot be cleared: a row without it can no longer be read",
    label = "a required column",
    note = "make the field an `Option<…>` or give it `#[row(default)]`; or delete the row"
)]
pub trait Clearable: ColumnType {}
impl<S: StoredCell> Clearable for Option<S> {}
impl<S: StoredCell> Clearable for Option<Timestamped<S>> {}
impl<S: StoredCell> Clearable for Versions<S> {}
impl Clearable for Counter {}

/// A column that the server counts in.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` is no counter",
    label = "cannot be incremented",
    note = "a counter is an `i64` field with `#[row(counter)]`, or an entry of a map of `i64`; an aggregate, such as `Sum`, takes \
            `.add(…)` in an update"
)]
pub trait Countable: ColumnType {}
impl Countable for Counter {}
/// The entries of a map of integers.
impl Countable for Option<i64> {}
/// A column that was named by text is checked before anything is sent.
impl Countable for Option<Any> {}

/// A column that takes what is added to it.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` is no aggregate",
    label = "cannot be added to",
    note = "an aggregate is a field of the type `Sum`, `Min` or `Max`; a field with `#[row(counter)]` takes \
            `table.increment(…)`; an aggregate in windows of time takes `.add_at(…)`"
)]
pub trait Addable: ColumnType {}

impl Addable for Option<Any> {}

/// A column that takes what is added to it at a time.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` has no aggregate for each window of time",
    label = "cannot be added to at a time",
    note = "a field of the type `Versions<Sum>` with `#[row(window = \"1h\")]` has; a `Sum` takes `.add(…)`"
)]
pub trait AddableAt: ColumnType {}

/// A column that keeps its versions.
#[diagnostic::on_unimplemented(
    message = "a column of `{Self}` keeps one version",
    label = "has no history to add to",
    note = "a field of the type `Versions<…>` keeps every version that its family's rule leaves"
)]
pub trait History: ColumnType {}
impl<S: StoredCell> History for Versions<S> {}
/// A column that was named by text is checked before anything is sent.
impl History for Option<Any> {}

/// A column that bytes are appended to.
#[diagnostic::on_unimplemented(
    message = "nothing can be appended to a column of `{Self}`",
    label = "neither text nor bytes",
    note = "the server appends to a column of text or bytes: `String`, `Vec<u8>`, `Bytes`, or an `Option` of one"
)]
pub trait Appendable: ColumnType {}

macro_rules! appendable {
    ($($type:ty)*) => {$(
        impl Appendable for $type {}
        impl Appendable for Option<$type> {}
    )*};
}

appendable! { String Box<str> std::sync::Arc<str> Vec<u8> Bytes Any }

/// A value that a column can be set to or compared with.
///
/// Of the column's own type, by value or by reference; text and bytes also as `&str` and `&[u8]`.
#[diagnostic::on_unimplemented(
    message = "a column of `{C}` cannot hold `{Self}`",
    label = "not a value of this column",
    note = "the column's type is that of its field in the row type; convert the value, as by `.into()` or `as`",
    note = "`None` is written by `.clear(column)`, an `Option` by `.set_or_clear(column, option)`, and a condition asks by `.absent()` \
            or `.exists()`; for a time that is stored as a number, the field is of a time type, with `#[row(ts(unit = …))]`"
)]
pub trait CellValue<C> {
    /// Appends the stored bytes, for a column whose cells are stored as this.
    #[doc(hidden)]
    fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError>;

    /// As [`Cell::encode_bound`].
    #[doc(hidden)]
    fn encode_bound(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        self.encode_value(stored, out).map(|()| Ordering::Equal)
    }
}

impl<C: OwnedCell> CellValue<C> for C {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        self.encode(out)
    }

    fn encode_bound(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        Cell::encode_bound(self, out)
    }
}

impl<C: OwnedCell> CellValue<C> for &C {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        (*self).encode(out)
    }

    fn encode_bound(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        Cell::encode_bound(*self, out)
    }
}

impl<T, E: Encoding<T>> CellValue<As<T, E>> for T {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        E::encode(self, out)
    }

    fn encode_bound(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        E::encode_bound(self, out)
    }
}

impl<T, E: Encoding<T>> CellValue<As<T, E>> for &T {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        E::encode(self, out)
    }

    fn encode_bound(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        E::encode_bound(self, out)
    }
}

macro_rules! borrowed_values {
    ($($value:ty: $($type:ty)*;)*) => {$($(
        impl CellValue<$type> for $value {
            fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                out.write(self.as_ref());
                Ok(())
            }
        }
    )*)*};
}

borrowed_values! {
    &str: String Box<str> std::sync::Arc<str>;
    &[u8]: Vec<u8> Bytes;
    &String: Box<str> std::sync::Arc<str>;
    &Vec<u8>: Bytes;
}

impl<const N: usize> CellValue<Vec<u8>> for &[u8; N] {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        out.write(*self);
        Ok(())
    }
}

impl<const N: usize> CellValue<Bytes> for &[u8; N] {
    fn encode_value(&self, _: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        out.write(*self);
        Ok(())
    }
}

/// A column of the row type `R`.
///
/// A constant of the row type, an entry of a map, a column of a struct that is a family, or a column that was named by text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a column of `{R}`",
    label = "not a column of this table's rows",
    note = "a column is a constant of the row type, such as `Event::KIND`, an entry of a map, such as \
            `Event::DAILY.at(\"0015\")`, or a column of a family, such as `Event::PLACE.city`"
)]
pub trait ColumnRef<R>: Sized {
    /// The column's type.
    type Type: ColumnType;

    #[doc(hidden)]
    fn place(self) -> Result<ColumnPlace, RowError>;
}

/// Where a column is.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct ColumnPlace {
    pub(crate) family: Cow<'static, str>,
    pub(crate) qualifier: Bytes,
    /// Its former places.
    pub(crate) aliases: &'static [Alias],
    pub(crate) stored: CellType,
    pub(crate) kind: ColumnKind,
    pub(crate) is_required: bool,
}

impl ColumnPlace {
    pub(crate) fn name(&self) -> Name<'_> {
        Name { family: &self.family, qualifier: &self.qualifier }
    }

    /// The column's former places.
    pub(crate) fn former(&self) -> impl Iterator<Item = Name<'_>> {
        self.aliases.iter().map(|alias| Name {
            family: alias.family.unwrap_or(&self.family),
            qualifier: alias.name.as_bytes(),
        })
    }
}

/// The constant of a field that is a column of the row type `R`.
///
/// ```
/// use keyderive::Row;
/// use keyderive::row::Column;
///
/// #[derive(Row)]
/// struct Event {
///     kind: String,
///     #[row(name = "n")]
///     note: Option<String>,
/// }
///
/// let kind: Column<Event, String> = Event::KIND;
/// assert_eq!((kind.family(), kind.name()), ("cf", "kind"));
/// assert_eq!(Event::NOTE.name(), "n");
/// ```
pub struct Column<R, T> {
    family: &'static str,
    name: &'static str,
    aliases: &'static [Alias],
    of: PhantomData<fn() -> (R, T)>,
}

impl<R, T> Column<R, T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(family: &'static str, name: &'static str, aliases: &'static [Alias]) -> Self {
        Self { family, name, aliases, of: PhantomData }
    }

    /// The column family's name.
    #[must_use]
    pub const fn family(self) -> &'static str {
        self.family
    }

    /// The column qualifier.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<R, T> Clone for Column<R, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, T> Copy for Column<R, T> {}

impl<R, T> fmt::Debug for Column<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({}:{})", self.family, self.name)
    }
}

impl<R, T: ColumnType> ColumnRef<R> for Column<R, T> {
    type Type = T;

    fn place(self) -> Result<ColumnPlace, RowError> {
        Ok(ColumnPlace {
            family: Cow::Borrowed(self.family),
            qualifier: Bytes::from_static(self.name.as_bytes()),
            aliases: self.aliases,
            stored: T::Cell::STORED,
            kind: T::KIND,
            is_required: T::IS_REQUIRED,
        })
    }
}

/// A column that has its name at run time: an entry of a map, or a column that was named by text.
///
/// Clone it to use it twice. It owns its name, so it is not `Copy`, as a [`Column`] is.
pub struct Entry<R, T> {
    place: Result<ColumnPlace, RowError>,
    of: PhantomData<fn() -> (R, T)>,
}

impl<R, T: ColumnType> Entry<R, T> {
    pub(super) fn new(place: Result<ColumnPlace, RowError>) -> Self {
        Self { place, of: PhantomData }
    }
}

impl<R, T: ColumnType> ColumnRef<R> for Entry<R, T> {
    type Type = T;

    fn place(self) -> Result<ColumnPlace, RowError> {
        self.place
    }
}

impl<R, T> Clone for Entry<R, T> {
    fn clone(&self) -> Self {
        Self { place: self.place.clone(), of: PhantomData }
    }
}

impl<R, T> fmt::Debug for Entry<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.place).finish()
    }
}

/// A family that is a map, as a constant of the row type `R`: columns of one type, named by keys of the type `Q`.
///
/// ```
/// use std::collections::BTreeMap;
/// use keyderive::Row;
///
/// #[derive(Row)]
/// struct Meter {
///     #[row(family)]
///     daily: BTreeMap<String, f64>,
/// }
///
/// let quarter_past_midnight = Meter::DAILY.at("0015");
/// ```
pub struct MapFamily<R, Q, T> {
    family: &'static str,
    of: Of<(R, Q, T)>,
}

/// Names types without holding them.
type Of<T> = PhantomData<fn() -> T>;

impl<R, Q, T> MapFamily<R, Q, T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(family: &'static str) -> Self {
        Self { family, of: PhantomData }
    }

    /// The column family's name.
    #[must_use]
    pub const fn family(self) -> &'static str {
        self.family
    }
}

impl<R, Q: Qualifier, T: ColumnType> MapFamily<R, Q, T> {
    /// The column of this key.
    #[must_use]
    pub fn at(self, key: &Q::Borrowed) -> Entry<R, T> {
        entry::<R, Q, T>(Cow::Borrowed(self.family), key, None)
    }
}

/// The entry of a map that is this family; with `misfit`, why the map cannot be read there.
pub(crate) fn entry<R, Q: Qualifier, T: ColumnType>(
    family: Cow<'static, str>,
    key: &Q::Borrowed,
    misfit: Option<String>,
) -> Entry<R, T> {
    let place = match (Q::to_qualifier(key), misfit) {
        (Ok(qualifier), _) if qualifier.is_empty() => Err(RowError::empty_name(&family)),
        (Ok(qualifier), Some(misfit)) => {
            let error = CellError::unsupported(format_args!(
                "is of a row type that does not fit the table: {misfit}"
            ));
            Err(RowError::cell(Name { family: &family, qualifier: &qualifier }, error))
        }
        (Ok(qualifier), None) => Ok(ColumnPlace {
            family,
            qualifier,
            aliases: &[],
            stored: T::Cell::STORED,
            kind: T::KIND,
            is_required: T::IS_REQUIRED,
        }),
        (Err(error), _) => Err(RowError::cell(Name { family: &family, qualifier: b"" }, error)),
    };
    Entry::new(place)
}

impl<R, Q, T> Clone for MapFamily<R, Q, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, Q, T> Copy for MapFamily<R, Q, T> {}

impl<R, Q, T> fmt::Debug for MapFamily<R, Q, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapFamily({})", self.family)
    }
}

/// A family that is a struct, as a constant of the row type `R`. Its columns are its fields: `Event::PLACE.city`.
pub struct Family<R, P, C> {
    family: &'static str,
    columns: C,
    of: PhantomData<fn() -> (R, P)>,
}

impl<R, P, C> Family<R, P, C> {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(family: &'static str, columns: C) -> Self {
        Self { family, columns, of: PhantomData }
    }

    /// The column family's name.
    #[must_use]
    pub const fn family(&self) -> &'static str {
        self.family
    }
}

impl<R, P, C> Deref for Family<R, P, C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.columns
    }
}

impl<R, P, C> fmt::Debug for Family<R, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Family({})", self.family)
    }
}

/// A family of the row type `R`: a constant of a field that is a struct or a map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a family of `{R}`",
    label = "not a family of this table's rows",
    note = "a family is the constant of a field with `#[row(family)]`, such as `Event::PLACE`"
)]
pub trait FamilyRef<R> {
    #[doc(hidden)]
    fn name(&self) -> &str;
}

impl<R, P, C> FamilyRef<R> for Family<R, P, C> {
    fn name(&self) -> &str {
        self.family()
    }
}

impl<R, Q, T> FamilyRef<R> for MapFamily<R, Q, T> {
    fn name(&self) -> &str {
        self.family()
    }
}
