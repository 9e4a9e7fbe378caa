//! Conditions on the stored row: a conditional write applies only if they hold, a scan returns only rows that meet them.

use std::marker::PhantomData;
use std::ops::Bound;

use bytes::Bytes;

use super::cell::{Bounded, StoredOrder};
use super::column::{Appendable, ColumnPlace};
use super::filter::MAX_DEPTH;
use super::live::Live;
use super::{
    CellError, CellType, CellValue, Column, ColumnRef, ColumnType, ComparableCell, ComparedVersion, Entry,
    Family, MapFamily, Name, OrderedCell, RowError, RowFilter,
};
use crate::plan::prefix_end;

/// A condition on a row of the type `R`, for [`put_if`](crate::Table::put_if), [`delete_if`](crate::Table::delete_if),
/// [`only_if`](crate::Update::only_if) and [`matching`](crate::Scan::matching).
///
/// ```
/// use keyderive::Row;
/// use keyderive::row::Condition;
///
/// #[derive(Row)]
/// struct Job {
///     owner: Option<String>,
///     attempts: u32,
/// }
///
/// let is_unclaimed = Job::OWNER.absent();
/// let is_mine = Job::OWNER.equals("alice");
/// let is_hopeless = Job::ATTEMPTS.greater_than(3);
/// let is_new: Condition<Job> = Condition::row_exists().not();
/// let is_free = Job::OWNER.absent().or(Job::ATTEMPTS.equals(0));
/// ```
///
/// A condition compares the newest stored version of a column. Every comparison with an absent column is false, and its
/// [`not`](Self::not) is true. Defaults, and the 0 of an absent counter, exist only in reads: use `absent()` for them.
///
/// Values are compared as reads return them, and need not be storable. A time between two stored ones of `#[row(ts(unit = "secs"))]` is an
/// exact bound and equals neither. A value that no cell can hold, such as a `u64` above `i64::MAX` or the year 10000, equals nothing, and
/// is still an exact bound. NaN, which is in no order, is an error. In a family with a `ttl`, cells that
/// [reads hide](crate::guide::promises#rows-that-a-ttl-hides) are absent.
///
/// # Limits
///
/// Bigtable takes a condition of 20,480 bytes and 20 levels. `a.and(b).and(c)` becomes a balanced tree, and `a.or(b).or(c)`
/// one level, so that the bytes are the limit: 200 comparisons of short columns fit. Each change between `and` and `or` is a
/// level of its own: a chain that alternates ends at about 16 parts. Multiply it out to one `or` of `and`s: `a.or(b).and(c)`
/// is `a.and(c).or(b.and(c))`. A value is sent twice to be found equal, so it may have about 10,000 bytes. A condition above
/// a limit is an error that says what takes the room, before anything is sent.
///
/// [`and`](Self::and), and a `not` inside another condition, are sent as Bigtable's condition filters, which are slow. Bigtable
/// documents that the parts of such a filter may see different states of a row that changes meanwhile. A condition
/// without them is one test of one state, and the right guard for a [`put_if`](crate::Table::put_if) among competing writers.
#[derive(Debug)]
#[must_use = "a condition does nothing by itself"]
pub struct Condition<R> {
    test: Test,
    /// The first error of its parts.
    fault: Option<RowError>,
    /// The levels of its test.
    depth: u8,
    of: PhantomData<fn() -> R>,
}

#[derive(Clone, Debug)]
enum Test {
    Row,
    Filter(RowFilter),
    Family(String),
    /// The newest value of a column, or any if there is no filter.
    Column {
        family: String,
        qualifier: Bytes,
        value: Option<RowFilter>,
    },
    Version {
        family: String,
        qualifier: Bytes,
        timestamp_micros: i64,
    },
    Not(Box<Test>),
    /// At least two, none of them an `And`.
    And(Vec<Test>),
    /// At least two, none of them an `Or`.
    Or(Vec<Test>),
}

impl<R> Clone for Condition<R> {
    fn clone(&self) -> Self {
        let Self { test, fault, depth, of } = self;
        Self { test: test.clone(), fault: fault.clone(), depth: *depth, of: *of }
    }
}

impl<R> Condition<R> {
    /// The row has a cell in any family, other than those that a `ttl` hides.
    pub fn row_exists() -> Self {
        Test::Row.into()
    }

    /// The filter passes at least one cell of the row. It sees all stored cells, also those that a `ttl` hides.
    pub fn filter(filter: RowFilter) -> Self {
        Test::Filter(filter).into()
    }

    /// The negation.
    #[expect(
        clippy::should_implement_trait,
        reason = "a condition reads better with it after: `exists().not()`"
    )]
    pub fn not(self) -> Self {
        match self.test {
            Test::Not(test) => Self { test: *test, depth: self.depth - 1, ..self },
            test => Self { test: Test::Not(Box::new(test)), ..self }.around(self.depth),
        }
    }

    /// Both hold.
    pub fn and(self, other: Self) -> Self {
        let depth = level(&self, Test::is_and).max(level(&other, Test::is_and));
        let fault = self.fault.or(other.fault);
        Self { test: self.test.and(other.test), fault, ..self }.around(depth)
    }

    /// One of them holds, or both.
    pub fn or(self, other: Self) -> Self {
        let depth = level(&self, Test::is_or).max(level(&other, Test::is_or));
        let fault = self.fault.or(other.fault);
        Self { test: self.test.or(other.test), fault, ..self }.around(depth)
    }

    /// The condition, with parts of at most `depth` levels. A condition too deep for the service ends here, so that every
    /// walk over a test may recurse.
    fn around(self, depth: u8) -> Self {
        match depth {
            // Sent as its negation, a test loses one level.
            ..=MAX_DEPTH => Self { depth: depth + 1, ..self },
            _ => Self { test: Test::Filter(RowFilter::too_deep()), depth: 1, ..self },
        }
    }

    fn failed(error: RowError) -> Self {
        Self { test: Test::Row, fault: Some(error), depth: 1, of: PhantomData }
    }

    /// The same condition, of another row type.
    pub(crate) fn retyped<T>(self) -> Condition<T> {
        let Self { test, fault, depth, of: _ } = self;
        Condition { test, fault, depth, of: PhantomData }
    }

    /// The versions that it compares: those that a guarded write has to replace.
    pub(crate) fn compared_versions(&self) -> Vec<ComparedVersion> {
        let mut compared = Vec::new();
        self.test.compared_versions(true, &mut compared);
        compared
    }

    /// The filter that leaves a cell where the condition holds, or, for `true`, where it does not. None stands for any cell
    /// of the row.
    pub(crate) fn into_filter(self, live: Live) -> Result<(Option<RowFilter>, bool), RowError> {
        match self.fault {
            Some(error) => Err(error),
            None => Ok(self.test.into_branch(live)),
        }
    }
}

impl<R> From<Test> for Condition<R> {
    fn from(test: Test) -> Self {
        Self { depth: test.depth(), test, fault: None, of: PhantomData }
    }
}

impl Test {
    fn is_and(&self) -> bool {
        matches!(self, Self::And(_))
    }

    fn is_or(&self) -> bool {
        matches!(self, Self::Or(_))
    }

    /// How many levels it has.
    fn depth(&self) -> u8 {
        match self {
            Self::Not(test) => test.depth().saturating_add(1),
            Self::And(tests) | Self::Or(tests) => {
                tests.iter().map(Self::depth).max().unwrap_or(0).saturating_add(1)
            }
            _ => 1,
        }
    }

    fn and(self, other: Self) -> Self {
        let parts = |test| match test {
            Self::And(tests) => tests,
            test => vec![test],
        };
        Self::And(joined(parts(self), parts(other)))
    }

    fn or(self, other: Self) -> Self {
        let parts = |test| match test {
            Self::Or(tests) => tests,
            test => vec![test],
        };
        Self::Or(joined(parts(self), parts(other)))
    }

    /// A filter passes nothing of a row that does not exist. So a test that holds for such a row is sent as its negation,
    /// with the branches swapped.
    fn into_branch(self, live: Live) -> (Option<RowFilter>, bool) {
        let is_negated = self.holds_for_no_row();
        let test = if is_negated { self.negated() } else { self };
        match test {
            Self::Row if live.is_every_cell() => (None, is_negated),
            test => (Some(test.filter(live)), is_negated),
        }
    }

    fn holds_for_no_row(&self) -> bool {
        match self {
            Self::Not(test) => !test.holds_for_no_row(),
            Self::And(tests) => tests.iter().all(Self::holds_for_no_row),
            Self::Or(tests) => tests.iter().any(Self::holds_for_no_row),
            _ => false,
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Not(test) => *test,
            Self::And(tests) => tests.into_iter().map(Self::negated).reduce(Self::or).unwrap_or(Self::Row),
            Self::Or(tests) => tests.into_iter().map(Self::negated).reduce(Self::and).unwrap_or(Self::Row),
            test => Self::Not(Box::new(test)),
        }
    }

    /// The filter that passes a cell of an existing row if the test holds.
    fn filter(self, live: Live) -> RowFilter {
        match self {
            Self::Row => live.cells().unwrap_or_else(RowFilter::pass_all),
            Self::Filter(filter) => filter,
            Self::Family(family) => live.of_family(&family, RowFilter::family(&*family)),
            Self::Column { family, qualifier, value } => {
                let column = live.of_family(&family, RowFilter::exact_column(&*family, qualifier));
                let value = value.into_iter().flat_map(|value| [RowFilter::latest(1), value]);
                RowFilter::chain([column].into_iter().chain(value))
            }
            Self::Version { family, qualifier, timestamp_micros } => RowFilter::chain([
                live.of_family(&family, RowFilter::exact_column(&*family, qualifier)),
                RowFilter::latest(1),
                RowFilter::timestamps(timestamp_micros..=timestamp_micros),
            ]),
            Self::Not(test) => {
                RowFilter::condition(test.filter(live), RowFilter::block_all(), RowFilter::cells_per_row(1))
            }
            Self::And(tests) => all_of(tests.into_iter().map(|test| test.filter(live)).collect()),
            Self::Or(tests) => RowFilter::interleave(tests.into_iter().map(|test| test.filter(live))),
        }
    }

    fn compared_versions(&self, is_positive: bool, out: &mut Vec<ComparedVersion>) {
        match self {
            Self::Version { family, qualifier, timestamp_micros } if is_positive => {
                out.push(ComparedVersion {
                    family: family.as_str().into(),
                    qualifier: qualifier.clone(),
                    timestamp_micros: *timestamp_micros,
                });
            }
            Self::Not(test) => test.compared_versions(!is_positive, out),
            Self::And(tests) | Self::Or(tests) => {
                tests.iter().for_each(|test| test.compared_versions(is_positive, out));
            }
            _ => {}
        }
    }
}

/// How deep a condition is as a part of a larger one. If both are of the same kind, its parts become parts of the larger
/// one.
fn level<R>(condition: &Condition<R>, is_same: fn(&Test) -> bool) -> u8 {
    if is_same(&condition.test) { condition.depth - 1 } else { condition.depth }
}

/// Both lists; the order of parts has no meaning.
fn joined(mut one: Vec<Test>, mut other: Vec<Test>) -> Vec<Test> {
    if one.len() < other.len() {
        std::mem::swap(&mut one, &mut other);
    }
    one.append(&mut other);
    one
}

/// A filter that passes a cell of a row if each of the filters does: a balanced tree, since nesting is limited.
fn all_of(mut filters: Vec<RowFilter>) -> RowFilter {
    match filters.len() {
        0 => RowFilter::pass_all(),
        1 => filters.remove(0),
        parts => {
            let others = filters.split_off(parts / 2);
            RowFilter::condition(all_of(filters), all_of(others), RowFilter::block_all())
        }
    }
}

/// A compared value of a column with a type.
fn bounded<V: CellValue<C>, C>(place: &ColumnPlace, value: &V) -> Result<Bounded, RowError> {
    check_comparable(place)?;
    let bounded = Bounded::new(|out| value.encode_bound(place.stored, out));
    let bounded = bounded.and_then(|value| match StoredOrder::of(place.stored).is_nan(value.stored()) {
        true => Err(CellError::unsupported(
            "is compared with NaN, which equals nothing and is in no range; compare with a number, or write `.exists()`",
        )),
        false => Ok(value),
    });
    bounded.map_err(|error| RowError::cell(place.name(), error))
}

/// Rejects a comparison that the server cannot make. The compiler does so for a column with a type; one that was named by text is
/// known by its place alone.
fn check_comparable(place: &ColumnPlace) -> Result<(), RowError> {
    let fault = match place.stored {
        _ if place.kind.is_aggregate() => {
            "is an aggregate, which is compared by the program that has read it"
        }
        CellType::Time => {
            "is a time in RFC 3339, and a time has several texts; store it with `#[row(ts(unit = \"…\"))]` to compare it at the \
             server"
        }
        CellType::Json | CellType::Proto => {
            "has several encodings for one value; compare it in the program that has read it"
        }
        _ => return Ok(()),
    };
    Err(RowError::cell(place.name(), CellError::unsupported(fault)))
}

/// Rejects an order that stored bytes do not have. The compiler does so for a column with a type.
fn check_ordered(place: &ColumnPlace) -> Result<(), RowError> {
    if place.stored.is_ordered() {
        return Ok(());
    }
    let fault = "has an encoding whose order is not that of its values; compare it with `equals`, or in the program that \
                 has read it";
    Err(RowError::cell(place.name(), CellError::unsupported(fault)))
}

/// Tests a column's newest value; without a filter, whether it has one. A column without a value takes the one of a former
/// name, as for a read.
fn on_column(place: &ColumnPlace, value: Option<&RowFilter>) -> Condition<()> {
    on_newest(place, value.is_some(), |name| column(name, value.cloned()))
}

fn column(Name { family, qualifier }: Name<'_>, value: Option<RowFilter>) -> Test {
    Test::Column { family: family.to_owned(), qualifier: Bytes::copy_from_slice(qualifier), value }
}

/// Passes if the column, or a former name of it, passes the test. If `hides`, a cell of a name hides the cells of earlier
/// names, whether or not it passes.
fn on_newest(place: &ColumnPlace, hides: bool, test: impl Fn(Name<'_>) -> Test) -> Condition<()> {
    let mut names: Vec<_> = [place.name()].into_iter().chain(place.former()).collect();
    let Some(last) = names.pop() else { return Test::Row.into() };
    let all = names.into_iter().rev().fold(test(last), |former, name| {
        let absent = Test::Not(Box::new(column(name, None)));
        let former = if hides { absent.and(former) } else { former };
        test(name).or(former)
    });
    all.into()
}

fn compared<R, C: ColumnRef<R>>(
    column: C,
    filter: impl FnOnce(&ColumnPlace, StoredOrder) -> Result<RowFilter, RowError>,
) -> Condition<R> {
    let compared = column.place().and_then(|place| {
        let value = filter(&place, StoredOrder::of(place.stored))?;
        Ok(on_column(&place, Some(&value)))
    });
    compared.unwrap_or_else(Condition::failed).retyped()
}

fn within<R, C: ColumnRef<R>, V: CellValue<T>, T>(
    column: C,
    lower: Bound<V>,
    upper: Bound<V>,
) -> Condition<R> {
    compared(column, |place, order| {
        let bounded = |bound: Bound<V>| match bound {
            Bound::Included(value) => bounded(place, &value).map(Bound::Included),
            Bound::Excluded(value) => bounded(place, &value).map(Bound::Excluded),
            Bound::Unbounded => Ok(Bound::Unbounded),
        };
        let (lower, upper) = (bounded(lower)?, bounded(upper)?);
        check_ordered(place)?;
        Ok(RowFilter::in_ranges(order.within(lower.as_ref(), upper.as_ref())))
    })
}

macro_rules! conditions {
    ($($type:ident)*) => {$(
        /// Conditions on the column's newest version.
        impl<R, T: ColumnType> $type<R, T> {
            /// The column has a value.
            pub fn exists(self) -> Condition<R> {
                match self.place() {
                    Ok(place) => on_column(&place, None).retyped(),
                    Err(error) => Condition::failed(error),
                }
            }

            /// The column has no value, or the row does not exist. A column that was renamed without an
            /// [`alias`](macro@crate::Row) has no value under its new name.
            pub fn absent(self) -> Condition<R> {
                self.exists().not()
            }

            /// The column holds this value. Both zeros of floats are equal. A value that the column cannot hold, such as half a
            /// second in whole seconds, equals nothing.
            pub fn equals<V: CellValue<T::Cell>>(self, value: V) -> Condition<R>
            where
                T::Cell: ComparableCell,
            {
                self.one_of([value])
            }

            /// The column holds one of these values.
            pub fn one_of<V: CellValue<T::Cell>>(self, values: impl IntoIterator<Item = V>) -> Condition<R>
            where
                T::Cell: ComparableCell,
            {
                compared(self, |place, order| {
                    let equal = |value: V| Ok(RowFilter::in_ranges(order.equal(&bounded(place, &value)?)));
                    let filters = values.into_iter().map(equal).collect::<Result<Vec<_>, _>>()?;
                    Ok(RowFilter::interleave(filters.into_iter().filter(|filter| !filter.is_block_all())))
                })
            }

            /// The column holds a lesser value.
            pub fn less_than<V: CellValue<T::Cell>>(self, value: V) -> Condition<R>
            where
                T::Cell: OrderedCell,
            {
                within(self, Bound::Unbounded, Bound::Excluded(value))
            }

            /// The column holds this value or a lesser one.
            pub fn at_most<V: CellValue<T::Cell>>(self, value: V) -> Condition<R>
            where
                T::Cell: OrderedCell,
            {
                within(self, Bound::Unbounded, Bound::Included(value))
            }

            /// The column holds this value or a greater one.
            pub fn at_least<V: CellValue<T::Cell>>(self, value: V) -> Condition<R>
            where
                T::Cell: OrderedCell,
            {
                within(self, Bound::Included(value), Bound::Unbounded)
            }

            /// The column holds a greater value.
            pub fn greater_than<V: CellValue<T::Cell>>(self, value: V) -> Condition<R>
            where
                T::Cell: OrderedCell,
            {
                within(self, Bound::Excluded(value), Bound::Unbounded)
            }

            /// The column holds one of two values, or one between them.
            pub fn between<V: CellValue<T::Cell>>(self, least: V, greatest: V) -> Condition<R>
            where
                T::Cell: OrderedCell,
            {
                within(self, Bound::Included(least), Bound::Included(greatest))
            }

            /// The column holds text, or bytes, that begin with this.
            pub fn starts_with(self, prefix: impl AsRef<[u8]>) -> Condition<R>
            where
                T: Appendable,
            {
                compared(self, |place, order| {
                    if order != StoredOrder::Bytes {
                        let error = CellError::unsupported("is a number, and `starts_with` compares text and bytes only; compare it by its value");
                        return Err(RowError::cell(place.name(), error));
                    }
                    let prefix = prefix.as_ref();
                    let end = prefix_end(prefix);
                    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                    Ok(RowFilter::in_ranges(order.ranges(Bound::Included(prefix), end)))
                })
            }

            /// The newest version has this timestamp, in microseconds: nobody has written the column since it was read.
            ///
            /// ```
            /// use keyderive::row::Timestamped;
            /// # use keyderive::{Client, Row, RowKey};
            /// # #[derive(RowKey)] struct PageKey { url: String }
            ///
            /// #[derive(Row)]
            /// struct Page {
            ///     text: Timestamped<String>,
            /// }
            ///
            /// # #[tokio::main(flavor = "current_thread")]
            /// # async fn main() -> Result<(), keyderive::Error> {
            /// let pages = Client::embedded().table::<PageKey, Page>("pages");
            /// pages.create_if_absent().await?;
            /// let home = PageKey { url: "/".into() };
            /// pages.put(&home, &Page { text: Timestamped::new(1_000_000, "Hello".into()) }).await?;
            ///
            /// let read = pages.get(&home).await?.unwrap();
            /// let unchanged = || Page::TEXT.version(read.text.timestamp_micros);
            /// let mine = Page { text: Timestamped::now("Hello, Bigtable".into()) };
            /// assert!(pages.put_if(&home, &mine, unchanged()).await?);
            /// assert!(!pages.put_if(&home, &mine, unchanged()).await?);
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// The guarded write gives the column a later timestamp than the compared one: the [client's time](crate::Client::now), or one
            /// millisecond after the compared timestamp if that is later. This overrides an earlier time in a
            /// [`Timestamped`](super::Timestamped). So if several writers have read the same version, one of them gets true.
            ///
            /// The guarded write must set the column; otherwise it fails, since the version would stay valid for other
            /// writers. A negative timestamp, which no version has, is an error.
            ///
            /// The comparison is exact if all writers compare the version. Compare a value instead if
            ///
            /// - a plain [`put`](crate::Table::put) may write the column in the same millisecond, which keeps the timestamp;
            /// - the column may be deleted and set again, which can restore the timestamp.
            ///
            /// If the client's clock is ahead, the cell gets a future timestamp, which hides a plain `put`: write such a
            /// column with conditions only.
            pub fn version(self, timestamp_micros: i64) -> Condition<R> {
                let place = match self.place() {
                    Ok(place) => place,
                    Err(error) => return Condition::failed(error),
                };
                if timestamp_micros < 0 {
                    let error = CellError::unsupported(format_args!(
                        "is compared with the timestamp {timestamp_micros}, which no version has: compare with the timestamp \
                         that was read"
                    ));
                    return Condition::failed(RowError::cell(place.name(), error));
                }
                on_newest(&place, true, |Name { family, qualifier }| Test::Version {
                    family: family.to_owned(),
                    qualifier: Bytes::copy_from_slice(qualifier),
                    timestamp_micros,
                })
                .retyped()
            }
        }
    )*};
}

conditions! { Column Entry }

impl<R, P, C> Family<R, P, C> {
    /// The family has a cell.
    pub fn exists(&self) -> Condition<R> {
        Test::Family(self.family().to_owned()).into()
    }

    /// The family has no cell, or the row does not exist.
    pub fn absent(&self) -> Condition<R> {
        self.exists().not()
    }
}

impl<R, Q, T> MapFamily<R, Q, T> {
    /// The family has a cell.
    pub fn exists(self) -> Condition<R> {
        Test::Family(self.family().to_owned()).into()
    }

    /// The family has no cell, or the row does not exist.
    pub fn absent(self) -> Condition<R> {
        self.exists().not()
    }
}
