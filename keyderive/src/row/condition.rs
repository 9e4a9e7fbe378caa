//! Conditions on the stored row: a conditional write applies only if they hold, a scan returns only rows that meet them.

use std::marker::PhantomData;
use std::ops::Bound;

use bytes::Bytes;

use super::cell::StoredOrder;
use super::column::{Appendable, Place};
use super::{
    CellError, CellValue, CellWriter, Column, ColumnRef, ColumnType, ComparableCell, ComparedVersion, Entry,
    Family, MapFamily, Name, OrderedCell, RowError, RowFilter, RowSchema,
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
/// [`and`](Self::and), and a `not` inside another condition, are sent as Bigtable's condition filters, which are slow. Bigtable
/// documents that the parts of such a filter may see different states of a row that changes meanwhile. A condition
/// without them is one test of one state, and the right guard for a [`put_if`](crate::Table::put_if) among competing writers.
#[derive(Debug)]
#[must_use = "a condition does nothing by itself"]
pub struct Condition<R> {
    test: Test,
    /// The first error of its parts.
    fault: Option<RowError>,
    of: PhantomData<fn() -> R>,
}

#[derive(Debug)]
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
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}

impl<R> Condition<R> {
    /// The row has a cell in any family.
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
        let test = match self.test {
            Test::Not(test) => *test,
            test => Test::Not(Box::new(test)),
        };
        Self { test, ..self }
    }

    /// Both hold.
    pub fn and(self, other: Self) -> Self {
        self.with(other, Test::And)
    }

    /// One of them holds, or both.
    pub fn or(self, other: Self) -> Self {
        self.with(other, Test::Or)
    }

    fn with(self, other: Self, join: fn(Box<Test>, Box<Test>) -> Test) -> Self {
        let fault = self.fault.or(other.fault);
        Self { test: join(Box::new(self.test), Box::new(other.test)), fault, of: PhantomData }
    }

    fn failed(error: RowError) -> Self {
        Self { test: Test::Row, fault: Some(error), of: PhantomData }
    }

    /// The versions that it compares: those that a guarded write has to replace.
    pub(crate) fn compared_versions(&self) -> Vec<ComparedVersion> {
        let mut compared = Vec::new();
        self.test.compared_versions(true, &mut compared);
        compared
    }

    /// The filter that leaves a cell where the condition holds, or, for `true`, where it does not. None stands for any cell
    /// of the row.
    pub(crate) fn into_filter(
        self,
        schema: &RowSchema,
        now_micros: i64,
    ) -> Result<(Option<RowFilter>, bool), RowError> {
        match self.fault {
            Some(error) => Err(error),
            None => Ok(self.test.into_branch(schema, now_micros)),
        }
    }
}

impl<R> From<Test> for Condition<R> {
    fn from(test: Test) -> Self {
        Self { test, fault: None, of: PhantomData }
    }
}

impl Test {
    /// A filter passes nothing of a row that does not exist. So a test that holds for such a row is sent as its negation,
    /// with the branches swapped.
    fn into_branch(self, schema: &RowSchema, now_micros: i64) -> (Option<RowFilter>, bool) {
        let is_negated = self.holds_for_no_row();
        let test = if is_negated { self.negated() } else { self };
        match test {
            Self::Row if schema.has_no_ttl() => (None, is_negated),
            test => (Some(test.filter(schema, now_micros)), is_negated),
        }
    }

    fn holds_for_no_row(&self) -> bool {
        match self {
            Self::Not(test) => !test.holds_for_no_row(),
            Self::And(one, other) => one.holds_for_no_row() && other.holds_for_no_row(),
            Self::Or(one, other) => one.holds_for_no_row() || other.holds_for_no_row(),
            _ => false,
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Not(test) => *test,
            Self::And(one, other) => Self::Or(Box::new(one.negated()), Box::new(other.negated())),
            Self::Or(one, other) => Self::And(Box::new(one.negated()), Box::new(other.negated())),
            test => Self::Not(Box::new(test)),
        }
    }

    /// The filter that passes a cell of an existing row if the test holds.
    fn filter(self, schema: &RowSchema, now_micros: i64) -> RowFilter {
        let live = |family: &str, filter: RowFilter| schema.live(family, filter, now_micros);
        match self {
            Self::Row => schema.live_cells(now_micros).unwrap_or_else(RowFilter::pass_all),
            Self::Filter(filter) => filter,
            Self::Family(family) => live(&family, RowFilter::family(&*family)),
            Self::Column { family, qualifier, value } => {
                let column = live(&family, RowFilter::exact_column(&*family, qualifier));
                let value = value.into_iter().flat_map(|value| [RowFilter::latest(1), value]);
                RowFilter::chain([column].into_iter().chain(value))
            }
            Self::Version { family, qualifier, timestamp_micros } => RowFilter::chain([
                live(&family, RowFilter::exact_column(&*family, qualifier)),
                RowFilter::latest(1),
                RowFilter::timestamps(timestamp_micros..=timestamp_micros),
            ]),
            Self::Not(test) => RowFilter::condition(
                test.filter(schema, now_micros),
                RowFilter::block_all(),
                RowFilter::cells_per_row(1),
            ),
            Self::And(one, other) => RowFilter::condition(
                one.filter(schema, now_micros),
                other.filter(schema, now_micros),
                RowFilter::block_all(),
            ),
            Self::Or(one, other) => {
                RowFilter::interleave([one.filter(schema, now_micros), other.filter(schema, now_micros)])
            }
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
            Self::And(one, other) | Self::Or(one, other) => {
                one.compared_versions(is_positive, out);
                other.compared_versions(is_positive, out);
            }
            _ => {}
        }
    }
}

/// A value of a column with a type, in its stored form.
fn stored<V: CellValue<C>, C>(place: &Place, value: &V) -> Result<Vec<u8>, RowError> {
    let mut bytes = Vec::new();
    let encoded = value.encode_value(place.stored, &mut CellWriter::new(&mut bytes));
    let encoded = encoded.and_then(|()| match StoredOrder::of(place.stored).is_nan(&bytes) {
        true => Err(CellError::unsupported(
            "is compared with NaN, which equals nothing and is in no range; compare with a number, or write `.exists()`",
        )),
        false => Ok(()),
    });
    encoded.map_err(|error| RowError::cell(place.name(), error))?;
    Ok(bytes)
}

/// The test of a column's newest value, or whether there is one if there is no filter. A column without a value has that of a
/// former name, as for a read.
fn on_column<R>(place: &Place, value: Option<&RowFilter>) -> Condition<R> {
    let test = |Name { family, qualifier }: Name<'_>, value: Option<&RowFilter>| {
        let (family, qualifier) = (family.to_owned(), Bytes::copy_from_slice(qualifier));
        Box::new(Test::Column { family, qualifier, value: value.cloned() })
    };
    let mut names: Vec<_> = [place.name()].into_iter().chain(place.former()).collect();
    let Some(last) = names.pop() else { return Test::Row.into() };
    let all = names.into_iter().rev().fold(test(last, value), |former, name| {
        let absent = Box::new(Test::Not(test(name, None)));
        let former = if value.is_some() { Box::new(Test::And(absent, former)) } else { former };
        Box::new(Test::Or(test(name, value), former))
    });
    (*all).into()
}

fn compared<R, C: ColumnRef<R>>(
    column: C,
    filter: impl FnOnce(&Place, StoredOrder) -> Result<RowFilter, RowError>,
) -> Condition<R> {
    let place = match column.place() {
        Ok(place) => place,
        Err(error) => return Condition::failed(error),
    };
    match filter(&place, StoredOrder::of(place.stored)) {
        Ok(value) => on_column(&place, Some(&value)),
        Err(error) => Condition::failed(error),
    }
}

fn within<R, C: ColumnRef<R>, V: CellValue<T>, T>(
    column: C,
    lower: Bound<V>,
    upper: Bound<V>,
) -> Condition<R> {
    compared(column, |place, order| {
        let stored = |bound: Bound<V>| match bound {
            Bound::Included(value) => stored(place, &value).map(Bound::Included),
            Bound::Excluded(value) => stored(place, &value).map(Bound::Excluded),
            Bound::Unbounded => Ok(Bound::Unbounded),
        };
        let (lower, upper) = (stored(lower)?, stored(upper)?);
        Ok(order.filter(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)))
    })
}

macro_rules! conditions {
    ($($type:ident)*) => {$(
        /// Conditions on the column's newest version.
        impl<R, T: ColumnType> $type<R, T> {
            /// The column has a value.
            pub fn exists(self) -> Condition<R> {
                match self.place() {
                    Ok(place) => on_column(&place, None),
                    Err(error) => Condition::failed(error),
                }
            }

            /// The column has no value, or the row does not exist.
            pub fn absent(self) -> Condition<R> {
                self.exists().not()
            }

            /// The column holds this value. Both zeros of floats are equal.
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
                    let equal = |value: V| {
                        let value = stored(place, &value)?;
                        Ok(order.filter(Bound::Included(&value), Bound::Included(&value)))
                    };
                    values.into_iter().map(equal).collect::<Result<Vec<_>, _>>().map(RowFilter::interleave)
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
                compared(self, |_, order| {
                    let prefix = prefix.as_ref();
                    let end = prefix_end(prefix);
                    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                    Ok(order.filter(Bound::Included(prefix), end))
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
            /// The guarded write gives the column a later timestamp than the compared one: this machine's time, or one
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
            /// If this machine's clock is ahead, the cell gets a future timestamp, which hides a plain `put`: write such a
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
                let Place { family, qualifier, .. } = place;
                Test::Version { family: family.into_owned(), qualifier, timestamp_micros }.into()
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
