//! Filters: which cells of a row the server sends.

mod error;
mod range;
#[cfg(test)]
mod tests;
mod words;

use std::ops::{Bound, RangeBounds};

use bytes::Bytes;

use super::cell::{Bounded, StoredOrder, StoredRange};
use super::{Cell, ComparableCell, OrderedCell, RowError};

pub use self::error::FilterError;
pub(crate) use self::error::{FilterFault, Largest};
pub(crate) use self::range::{ByteRange, TimeRange};

/// How deep filters may be nested, by the protocol's own rule.
pub(super) const MAX_DEPTH: u8 = 20;

const MAX_LABEL_BYTES: usize = 15;

/// The prefix of reserved labels.
const OWN_LABELS: &str = "keyderive-";

/// A filter that the server applies to each row before it sends it.
///
/// ```
/// use keyderive::row::RowFilter;
///
/// let filter = RowFilter::chain([
///     RowFilter::any_column("stats", ["clicks", "views"]),
///     RowFilter::latest(1),
/// ]);
/// assert_eq!(
///     filter.to_string(),
///     "the columns `clicks`, `views` of the family `stats`, then the newest 1 of each column"
/// );
/// ```
///
/// A filter gets the cells of one row, in the table's order (by family, by qualifier, newest first), and passes some of
/// them. The server does not send a row without passed cells, but still reads it: a filter saves traffic, not reading.
/// Select rows with the plan of a scan.
///
/// Constructors never fail. The first read with a filter that the service would reject fails with a [`FilterError`]. A
/// filter has at most 20480 bytes as a message and 20 levels of nesting.
///
/// Regular expressions are RE2's, over bytes, and must match the whole key, name or value. `.` does not match a line feed;
/// `\C` matches any byte.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFilter {
    kind: FilterKind,
    traits: Traits,
}

/// What the filters around a filter need to know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Traits {
    depth: u8,
    has_label: bool,
    has_sink: bool,
    reads_key: bool,
}

/// What a filter does. A chain or an interleave has at least two filters, no range is empty, and a rejected part
/// rejects the whole filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FilterKind {
    PassAll,
    BlockAll,
    Chain(Vec<RowFilter>),
    Interleave(Vec<RowFilter>),
    Condition(Box<Condition>),
    Sink,
    RowKeyRegex(Bytes),
    RowSample(f64),
    Family(String),
    FamilyRegex(String),
    QualifierRegex(Bytes),
    AnyColumn { family: String, qualifiers: Vec<Bytes> },
    Columns { family: String, range: ByteRange },
    Timestamps(TimeRange),
    ValueRegex(Bytes),
    Values(ByteRange),
    SkipCells(u32),
    CellsPerRow(u32),
    CellsPerColumn(u32),
    StripValue,
    Label(String),
    Refused(FilterError),
}

/// One of two filters, by whether a third leaves any cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) predicate: RowFilter,
    pub(crate) then: RowFilter,
    pub(crate) otherwise: RowFilter,
}

/// How filters are put together.
impl RowFilter {
    /// Every cell.
    #[must_use]
    pub fn pass_all() -> Self {
        FilterKind::PassAll.into()
    }

    /// No cell, hence no row.
    #[must_use]
    pub fn block_all() -> Self {
        FilterKind::BlockAll.into()
    }

    /// Each filter gets the cells that the previous one passed. An empty chain passes everything.
    ///
    /// At most one filter of a chain may put [labels](Self::label) on cells, itself or nested.
    #[must_use]
    pub fn chain(filters: impl IntoIterator<Item = RowFilter>) -> Self {
        let mut filters: Vec<_> = filters.into_iter().collect();
        match filters.len() {
            0 => Self::pass_all(),
            1 => filters.remove(0),
            _ if filters.iter().filter(|filter| filter.traits.has_label).count() > 1 => {
                refused(FilterFault::TwoLabels)
            }
            _ => Self::around(Traits::of(&filters), FilterKind::Chain(filters)),
        }
    }

    /// Each filter gets the whole row; the passed cells are combined in the table's order. A cell that several filters pass
    /// comes several times. An empty interleave passes nothing.
    #[must_use]
    pub fn interleave(filters: impl IntoIterator<Item = RowFilter>) -> Self {
        let mut filters: Vec<_> = filters.into_iter().collect();
        match filters.len() {
            0 => Self::block_all(),
            1 => filters.remove(0),
            _ => Self::around(Traits::of(&filters), FilterKind::Interleave(filters)),
        }
    }

    /// Applies `then` to rows with a cell that `predicate` passes, and `otherwise` to the others.
    ///
    /// ```
    /// # use keyderive::row::RowFilter;
    /// // The newest cells of rows whose state is open, and nothing of the others.
    /// let open = RowFilter::exact_column("state", "open");
    /// let filter = RowFilter::condition(open, RowFilter::latest(1), RowFilter::block_all());
    /// ```
    ///
    /// The service does not apply all three to one snapshot of the row, and conditions are slow, most of all if
    /// `otherwise` passes anything. None of the three may contain a [`sink`](Self::sink).
    #[must_use]
    pub fn condition(predicate: RowFilter, then: RowFilter, otherwise: RowFilter) -> Self {
        let traits = match Traits::of([&predicate, &then, &otherwise]) {
            Ok(traits) if traits.has_sink => return refused(FilterFault::SinkInCondition),
            traits => traits,
        };
        Self::around(traits, FilterKind::Condition(Box::new(Condition { predicate, then, otherwise })))
    }

    /// Sends every cell that it gets directly to the client, past all later and outer filters.
    ///
    /// It is useful only in an [interleave](Self::interleave) within a [chain](Self::chain), to send cells that a later
    /// filter of the chain would drop. Cells that also pass another way come twice. A [condition](Self::condition) cannot
    /// contain it.
    #[must_use]
    pub fn sink() -> Self {
        Self { kind: FilterKind::Sink, traits: Traits { has_sink: true, ..Traits::SINGLE } }
    }
}

/// Filters of whole rows.
impl RowFilter {
    /// The rows whose key matches a regular expression.
    ///
    /// The server reads and matches every row of the scan. If the key's prefix is known, a plan reads less. A
    /// [re-keyed table](crate::table::rekey::Rekeyed) rejects it: a row has a key in each of its two tables.
    #[must_use]
    pub fn row_key_regex(regex: impl AsRef<[u8]>) -> Self {
        let kind = FilterKind::RowKeyRegex(owned(regex));
        Self { kind, traits: Traits { reads_key: true, ..Traits::SINGLE } }
    }

    /// Each row with this probability, above 0 and below 1.
    #[must_use]
    pub fn sample(probability: f64) -> Self {
        if probability > 0.0 && probability < 1.0 {
            return FilterKind::RowSample(probability).into();
        }
        refused(FilterFault::Sample(probability))
    }
}

/// Filters of columns. A family or column that the table does not have matches no cell, and is no error: see that names are spelled
/// as they are stored, such as `User::NAME.family()` and `User::NAME.name()`.
impl RowFilter {
    /// The columns of one family; no cell if the table does not have it.
    #[must_use]
    pub fn family(name: impl Into<String>) -> Self {
        let name = name.into();
        if name.contains(':') {
            return refused(FilterFault::Family(name));
        }
        FilterKind::Family(name).into()
    }

    /// The columns of the families whose name matches a regular expression. It cannot contain a colon, by the
    /// protocol's own rule.
    #[must_use]
    pub fn family_regex(regex: impl Into<String>) -> Self {
        let regex = regex.into();
        if regex.contains(':') {
            return refused(FilterFault::Family(regex));
        }
        FilterKind::FamilyRegex(regex).into()
    }

    /// The columns, of every family, whose qualifier matches a regular expression.
    #[must_use]
    pub fn qualifier_regex(regex: impl AsRef<[u8]>) -> Self {
        FilterKind::QualifierRegex(owned(regex)).into()
    }

    /// One column. The qualifier is bytes, not a regular expression. No cell if the table does not have the family or the column.
    #[must_use]
    pub fn exact_column(family: impl Into<String>, qualifier: impl AsRef<[u8]>) -> Self {
        Self::any_column(family, [qualifier])
    }

    /// Some columns of one family. The qualifiers are bytes, not regular expressions.
    #[must_use]
    pub fn any_column<Q: AsRef<[u8]>>(
        family: impl Into<String>,
        qualifiers: impl IntoIterator<Item = Q>,
    ) -> Self {
        let (family, qualifiers): (_, Vec<_>) = (family.into(), qualifiers.into_iter().map(owned).collect());
        if family.contains(':') {
            return refused(FilterFault::Family(family));
        }
        if qualifiers.is_empty() {
            return Self::block_all();
        }
        // It is sent as a chain of two.
        let traits = Traits { depth: 2, ..Traits::SINGLE };
        Self { kind: FilterKind::AnyColumn { family, qualifiers }, traits }
    }

    /// The columns of one family whose qualifier is in a range.
    ///
    /// ```
    /// # use keyderive::row::RowFilter;
    /// let from_may = RowFilter::columns("daily", "2026-05-01".."2026-06-01");
    /// let since_may = RowFilter::columns("daily", "2026-05-01"..);
    /// ```
    ///
    /// For all columns, use [`family`](Self::family). If the range is a pair of [`Bound`](std::ops::Bound)s, name the type
    /// of the bounds: `RowFilter::columns::<&str>(…)`.
    #[must_use]
    pub fn columns<Q: AsRef<[u8]>>(family: impl Into<String>, range: impl RangeBounds<Q>) -> Self {
        match ByteRange::new(&range) {
            Some(range) => FilterKind::Columns { family: family.into(), range }.into(),
            None => Self::block_all(),
        }
    }
}

/// Filters of cells.
impl RowFilter {
    /// The newest `versions` of each column.
    #[must_use]
    pub fn latest(versions: u32) -> Self {
        if versions == 0 { Self::block_all() } else { FilterKind::CellsPerColumn(versions).into() }
    }

    /// The first `cells` of each row, in the table's order.
    #[must_use]
    pub fn cells_per_row(cells: u32) -> Self {
        if cells == 0 { Self::block_all() } else { FilterKind::CellsPerRow(cells).into() }
    }

    /// Skips the first `cells` of each row, in the table's order.
    #[must_use]
    pub fn skip_cells(cells: u32) -> Self {
        if cells == 0 { Self::pass_all() } else { FilterKind::SkipCells(cells).into() }
    }

    /// The versions whose timestamp is in a range, in microseconds since the epoch.
    ///
    /// The bounds are sent as they are given, also to a table of milliseconds, whose timestamps are whole milliseconds.
    #[must_use]
    pub fn timestamps(micros: impl RangeBounds<i64>) -> Self {
        TimeRange::new(&micros).map_or_else(Self::block_all, |range| FilterKind::Timestamps(range).into())
    }

    /// The cells whose value matches a regular expression.
    #[must_use]
    pub fn value_regex(regex: impl AsRef<[u8]>) -> Self {
        FilterKind::ValueRegex(owned(regex)).into()
    }

    /// The cells whose value is in a range of bytes.
    ///
    /// Integers are stored as 8 bytes, big-endian, so non-negative ones sort as their bytes.
    ///
    /// ```
    /// # use keyderive::row::RowFilter;
    /// let hundreds = RowFilter::value_range(100_i64.to_be_bytes()..1000_i64.to_be_bytes());
    /// ```
    #[must_use]
    pub fn value_range<V: AsRef<[u8]>>(range: impl RangeBounds<V>) -> Self {
        ByteRange::new(&range).map_or_else(Self::block_all, |range| FilterKind::Values(range).into())
    }

    /// The cells whose value is in a range of values of a type, as [`Cell`](super::Cell) stores them.
    ///
    /// ```
    /// # use keyderive::row::RowFilter;
    /// let cold = RowFilter::value_in(..0.0_f64);
    /// let hundreds = RowFilter::value_in(-999..=-100_i64);
    /// ```
    ///
    /// The range is exact for cells that hold a value of this type, negative numbers and floats too. NaN is in no range, and
    /// both zeros are equal. Bounds need not be storable: above a `u64` of `i64::MAX` there is no cell. Where a
    /// [`Cell`](super::Cell) of your own rejects a bound, the filter is an error.
    #[must_use]
    pub fn value_in<V: Cell + OrderedCell>(range: impl RangeBounds<V>) -> Self {
        let bounded = |value: &V| Bounded::new(|out| value.encode_bound(out));
        let stored = |bound: Bound<&V>| match bound {
            Bound::Included(value) => bounded(value).map(Bound::Included),
            Bound::Excluded(value) => bounded(value).map(Bound::Excluded),
            Bound::Unbounded => Ok(Bound::Unbounded),
        };
        match (stored(range.start_bound()), stored(range.end_bound())) {
            (Ok(start), Ok(end)) => {
                Self::in_ranges(StoredOrder::of(V::TYPE).within(start.as_ref(), end.as_ref()))
            }
            (Err(error), _) | (_, Err(error)) => refused(FilterFault::Value(error.to_string())),
        }
    }

    /// The cells whose value is equal to this one, as [`Cell`](super::Cell) stores it.
    ///
    /// ```
    /// # use keyderive::row::RowFilter;
    /// let alice = RowFilter::chain([RowFilter::exact_column("cf", "owner"), RowFilter::value_is(&"alice")]);
    /// ```
    ///
    /// NaN is equal to nothing, nor is a value that no cell can hold; both zeros are equal.
    #[must_use]
    pub fn value_is<V: Cell + ComparableCell>(value: &V) -> Self {
        match Bounded::new(|out| value.encode_bound(out)) {
            Ok(value) => Self::in_ranges(StoredOrder::of(V::TYPE).equal(&value)),
            Err(error) => refused(FilterFault::Value(error.to_string())),
        }
    }

    /// The cells whose value is in one of these ranges.
    pub(super) fn in_ranges(ranges: Vec<StoredRange>) -> Self {
        Self::interleave(ranges.into_iter().map(Self::value_range))
    }

    /// Every cell, with an empty value instead of its own.
    #[must_use]
    pub fn strip_value() -> Self {
        FilterKind::StripValue.into()
    }

    /// One cell of each row, without its value: what shows that the row is there.
    pub(crate) fn existence() -> [Self; 2] {
        [Self::cells_per_row(1), Self::strip_value()]
    }

    /// Every cell, with this label, which [`RawCell::labels`](super::RawCell::labels) returns.
    ///
    /// A label is 1 to 15 characters of `a` to `z`, `0` to `9` and `-`. Labels that begin with `keyderive-` are reserved. A cell has
    /// at most one label.
    #[must_use]
    pub fn label(label: impl Into<String>) -> Self {
        let label = label.into();
        if label.starts_with(OWN_LABELS) {
            return refused(FilterFault::OwnLabel(label));
        }
        Self::own_label(label)
    }

    /// As [`label`](Self::label), also with a reserved label.
    pub(crate) fn own_label(label: impl Into<String>) -> Self {
        let label = label.into();
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if label.is_empty() || label.len() > MAX_LABEL_BYTES || !label.bytes().all(allowed) {
            return refused(FilterFault::Label(label));
        }
        Self { kind: FilterKind::Label(label), traits: Traits { has_label: true, ..Traits::SINGLE } }
    }
}

impl RowFilter {
    pub(crate) fn kind(&self) -> &FilterKind {
        &self.kind
    }

    /// Fails if the filter matches row keys. For tables that are re-keyed, where a row has two keys.
    pub(crate) fn check_keyless(&self) -> Result<(), FilterError> {
        if self.traits.reads_key { Err(FilterFault::KeyOfOneTable.into()) } else { Ok(()) }
    }

    /// Whether a cell may be sent with a label, or past later filters.
    pub(super) fn has_label_or_sink(&self) -> bool {
        self.traits.has_label || self.traits.has_sink
    }

    pub(crate) fn is_block_all(&self) -> bool {
        matches!(self.kind, FilterKind::BlockAll)
    }

    /// The filter with each sample passing every row, to read rows again that it has drawn.
    pub(crate) fn without_samples(self) -> Self {
        let all = |filters: Vec<Self>| filters.into_iter().map(Self::without_samples).collect();
        let kind = match self.kind {
            FilterKind::RowSample(_) => FilterKind::PassAll,
            FilterKind::Chain(filters) => FilterKind::Chain(all(filters)),
            FilterKind::Interleave(filters) => FilterKind::Interleave(all(filters)),
            FilterKind::Condition(condition) => {
                let [predicate, then, otherwise] =
                    [condition.predicate, condition.then, condition.otherwise].map(Self::without_samples);
                FilterKind::Condition(Box::new(Condition { predicate, then, otherwise }))
            }
            other => other,
        };
        Self { kind, ..self }
    }

    /// A filter that fails before it is sent: it would be nested too deep.
    pub(super) fn too_deep() -> Self {
        refused(FilterFault::Depth)
    }

    /// A filter that fails before it is sent: a selection takes no labels and no sinks.
    pub(super) fn in_selection() -> Self {
        refused(FilterFault::InSelection)
    }

    /// A filter that fails before it is sent: one of the columns to keep is not a column.
    pub(crate) fn of_no_column(error: &RowError) -> Self {
        refused(FilterFault::Column(error.to_string()))
    }

    fn around(traits: Result<Traits, FilterError>, kind: FilterKind) -> Self {
        match traits {
            Ok(traits) => Self { kind, traits },
            Err(error) => FilterKind::Refused(error).into(),
        }
    }
}

impl Traits {
    /// The traits of a filter without parts, labels and sinks.
    const SINGLE: Self = Self { depth: 1, has_label: false, has_sink: false, reads_key: false };

    /// The traits of a filter around `parts`. Too deep a filter is rejected at once, so that every walk over a
    /// filter may recurse.
    fn of<'a>(parts: impl IntoIterator<Item = &'a RowFilter>) -> Result<Self, FilterError> {
        let mut traits = Self::SINGLE;
        for part in parts {
            if let FilterKind::Refused(error) = &part.kind {
                return Err(error.clone());
            }
            traits.depth = traits.depth.max(part.traits.depth.saturating_add(1));
            traits.has_label |= part.traits.has_label;
            traits.has_sink |= part.traits.has_sink;
            traits.reads_key |= part.traits.reads_key;
        }
        if traits.depth > MAX_DEPTH { Err(FilterFault::Depth.into()) } else { Ok(traits) }
    }
}

impl From<FilterKind> for RowFilter {
    fn from(kind: FilterKind) -> Self {
        Self { kind, traits: Traits::SINGLE }
    }
}

fn refused(fault: FilterFault) -> RowFilter {
    FilterKind::Refused(fault.into()).into()
}

fn owned(bytes: impl AsRef<[u8]>) -> Bytes {
    Bytes::copy_from_slice(bytes.as_ref())
}
