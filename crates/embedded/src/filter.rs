//! Filters: which cells of a row a read returns.

mod pattern;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher as _, RandomState};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use bytes::Bytes;
use keyderive_proto::data;
use keyderive_proto::data::row_filter::{self, Filter as Message};
use keyderive_proto::data::{column_range, value_range};
use prost::Message as _;
use tonic::Status;

use self::pattern::{Pattern, PatternBudget};
pub use self::pattern::{Re2Error, translate_re2};
use crate::mutate::in_table_order;
use crate::storage::{Cell, CellRef};

/// The most cells that `interleave` may produce from one row. The service has no such limit; without it, a small request
/// for a large row could exhaust memory.
const MAX_CELLS: usize = 1 << 20;

/// A regular expression of this many compiled bytes counts as twice the work of an empty one.
const PATTERN_WORK_BYTES: usize = 16 << 10;

/// A valid filter.
#[derive(Debug)]
pub(super) enum Filter {
    PassAll,
    BlockAll,
    Chain(Vec<Filter>),
    Interleave(Vec<Filter>),
    Condition(Box<Condition>),
    Sink,
    RowKey(Pattern),
    RowSample(Sample),
    Family(Pattern),
    Qualifier(Pattern),
    Columns(Columns),
    Timestamps(Timestamps),
    Value(Pattern),
    Values(Range),
    /// The bits that a value of the same length must have.
    ValueBits(Bytes),
    SkipCells(Limit),
    CellsPerRow(Limit),
    CellsPerColumn(Limit),
    StripValue,
    Label(String),
}

/// A number of cells, and the filter's counter in [`CellCounts`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    cells: usize,
    counter: usize,
}

/// Applies `then` if `predicate` keeps any cell, and `otherwise` if not.
#[derive(Debug)]
pub(super) struct Condition {
    predicate: Filter,
    then: Filter,
    otherwise: Filter,
}

/// The columns of one family whose qualifier is in a range.
#[derive(Debug)]
pub(super) struct Columns {
    family: String,
    qualifiers: Range,
}

/// From `start`, inclusive, to `end`, exclusive, in microseconds.
#[derive(Debug)]
pub(super) struct Timestamps {
    start: i64,
    end: Option<i64>,
}

/// Byte strings between two bounds.
#[derive(Debug)]
pub(super) struct Range {
    start: Bound<Bytes>,
    end: Bound<Bytes>,
}

/// Samples rows by a hash of their key, whose seed is random for each filter.
#[derive(Debug)]
pub(super) struct Sample {
    /// Keys with a hash below this are in the sample.
    limit: f64,
    hasher: RandomState,
}

impl Filter {
    /// Applies the filter to a row's cells. The result is in the table's order.
    pub(super) fn apply(&self, key: &Bytes, cells: Vec<Cell>) -> Result<Vec<Cell>, Status> {
        // Small rows cannot exceed the limit.
        if cells.len() > MAX_CELLS / MAX_COPIES {
            self.check_copies(key, cells.len())?;
        }
        let mut sunk = Vec::new();
        let mut left = self.run(key, cells, &mut sunk);
        if !sunk.is_empty() {
            left.append(&mut sunk);
            left.sort_by(in_table_order);
        }
        Ok(left)
    }

    fn check_copies(&self, key: &Bytes, cells: usize) -> Result<(), Status> {
        match self.copies() {
            copies if copies > 1 && cells.saturating_mul(copies) > MAX_CELLS => {
                Err(Status::invalid_argument(format!(
                    "the `interleave` filters can copy each of the {cells} cells of row {key:?} {copies} times, and \
                     the limit is {MAX_CELLS} cells per row"
                )))
            }
            _ => Ok(()),
        }
    }

    /// How many copies of a cell the result can contain.
    fn copies(&self) -> usize {
        match self {
            Self::Chain(filters) => filters.iter().map(Self::copies).fold(1, usize::saturating_mul),
            Self::Interleave(filters) => filters.iter().map(Self::copies).fold(0, usize::saturating_add),
            Self::Condition(condition) => condition.then.copies().max(condition.otherwise.copies()),
            _ => 1,
        }
    }

    /// The most work for a cell, where `PassAll` is 1.
    pub(super) fn work(&self) -> usize {
        let of_pattern = |pattern: &Pattern| 1 + pattern.compiled_bytes() / PATTERN_WORK_BYTES;
        match self {
            Self::Chain(filters) => {
                let (mut work, mut copies) = (0_usize, 1);
                for filter in filters {
                    work = work.saturating_add(filter.work().saturating_mul(copies));
                    copies = copies.saturating_mul(filter.copies());
                }
                work.max(1)
            }
            // Each part copies its input, and the result is sorted.
            Self::Interleave(filters) => {
                filters.iter().map(|filter| filter.work().saturating_add(1)).fold(1, usize::saturating_add)
            }
            Self::Condition(condition) => {
                let Condition { predicate, then, otherwise } = &**condition;
                predicate.work().saturating_add(then.work().max(otherwise.work())).saturating_add(1)
            }
            Self::RowKey(pattern)
            | Self::Family(pattern)
            | Self::Qualifier(pattern)
            | Self::Value(pattern) => of_pattern(pattern),
            _ => 1,
        }
    }

    /// Like `apply`, but moves the cells that reach a sink to `sunk`.
    fn run(&self, key: &Bytes, mut cells: Vec<Cell>, sunk: &mut Vec<Cell>) -> Vec<Cell> {
        match self {
            Self::PassAll => return cells,
            Self::BlockAll => cells.clear(),
            Self::Chain(filters) => {
                return filters.iter().fold(cells, |cells, filter| filter.run(key, cells, sunk));
            }
            Self::Interleave(filters) => {
                let left = filters.iter().flat_map(|filter| filter.run(key, cells.clone(), sunk));
                let mut left: Vec<_> = left.collect();
                left.sort_by(in_table_order);
                return left;
            }
            Self::Condition(condition) => return condition.run(key, cells, sunk),
            Self::Sink => sunk.append(&mut cells),
            Self::Label(label) => cells.iter_mut().for_each(|cell| cell.labels = vec![label.clone()]),
            filter => filter.select(key, &mut cells),
        }
        cells
    }

    /// Like `run`, of a single filter that [is selective](Self::is_selective).
    fn select(&self, key: &Bytes, cells: &mut Vec<Cell>) {
        let first = match self {
            Self::SkipCells(limit) | Self::CellsPerRow(limit) | Self::CellsPerColumn(limit) => limit.counter,
            _ => 0,
        };
        let mut counts = CellCounts { first, ..CellCounts::default() };
        counts.next_row();
        let mut column: Option<(Arc<str>, Bytes)> = None;
        cells.retain_mut(|cell| {
            let new_family = column.as_ref().is_none_or(|(family, _)| *family != cell.family);
            let new_column =
                new_family || column.as_ref().is_some_and(|(_, qualifier)| *qualifier != cell.qualifier);
            if new_column {
                column = Some((Arc::clone(&cell.family), cell.qualifier.clone()));
            }
            let mut seen = CellRef {
                family: &cell.family,
                qualifier: &cell.qualifier,
                timestamp_micros: cell.timestamp_micros,
                value: &cell.value,
                new_family,
                new_column,
            };
            counts.next_cell(&seen);
            let is_kept = self.keeps(key, &mut seen, &mut counts);
            if seen.value.is_empty() {
                cell.value = Bytes::new();
            }
            is_kept
        });
    }
}

impl Columns {
    fn contains(&self, family: &str, qualifier: &[u8]) -> bool {
        *self.family == *family && self.qualifiers.contains(qualifier)
    }
}

impl Timestamps {
    fn contains(&self, micros: i64) -> bool {
        micros >= self.start && self.end.is_none_or(|end| micros < end)
    }
}

impl Condition {
    fn run(&self, key: &Bytes, cells: Vec<Cell>, sunk: &mut Vec<Cell>) -> Vec<Cell> {
        let found = !self.predicate.run(key, cells.clone(), sunk).is_empty();
        if found { &self.then } else { &self.otherwise }.run(key, cells, sunk)
    }
}

impl Range {
    fn contains(&self, bytes: &[u8]) -> bool {
        let bounds = (self.start.as_ref().map(|start| &start[..]), self.end.as_ref().map(|end| &end[..]));
        RangeBounds::<[u8]>::contains(&bounds, bytes)
    }
}

impl Sample {
    #[expect(clippy::cast_precision_loss, reason = "a sample is not exact")]
    fn new(probability: f64) -> Self {
        Self { limit: probability * u64::MAX as f64, hasher: RandomState::new() }
    }

    #[expect(clippy::cast_precision_loss, reason = "a sample is not exact")]
    fn contains(&self, key: &[u8]) -> bool {
        (self.hasher.hash_one(key) as f64) < self.limit
    }
}

fn has_bits(value: &[u8], mask: &[u8]) -> bool {
    value.len() == mask.len() && value.iter().zip(mask).all(|(byte, mask)| byte & mask == *mask)
}

/// The counters of the filters that count cells, each at the index of its [`Limit`].
#[derive(Debug, Default)]
pub(super) struct CellCounts {
    /// The index of the first counter.
    first: usize,
    counts: Vec<CellCount>,
    /// The numbers of the current row and column.
    row: u64,
    column: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CellCount {
    /// The number of the row or column.
    row_or_column: u64,
    cells: usize,
}

impl CellCounts {
    /// Begins another row.
    pub(super) fn next_row(&mut self) {
        self.row += 1;
    }

    /// Must be called for each cell of the row, even if no filter sees it.
    #[inline]
    pub(super) fn next_cell(&mut self, cell: &CellRef<'_>) {
        self.column += u64::from(cell.new_column);
    }

    /// How many cells of the row a filter has seen, including this one.
    fn count_in_row(&mut self, limit: Limit) -> usize {
        self.count_in(self.row, limit)
    }

    fn count_in_column(&mut self, limit: Limit) -> usize {
        self.count_in(self.column, limit)
    }

    fn count_in(&mut self, row_or_column: u64, Limit { counter, .. }: Limit) -> usize {
        let at = counter - self.first;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, CellCount::default());
        }
        let count = &mut self.counts[at];
        if count.row_or_column != row_or_column {
            *count = CellCount { row_or_column, cells: 0 };
        }
        count.cells += 1;
        count.cells
    }
}

/// A cell, and the label that a filter gave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed<'c> {
    pub(super) cell: CellRef<'c>,
    pub(super) label: Option<&'c str>,
}

impl Filter {
    /// Whether [`pass`](Self::pass) can apply the filter, which sees one cell at a time.
    pub(super) fn is_cellwise(&self) -> bool {
        match self {
            // Of several that copy cells, each must have the copies of a whole row in its order.
            Self::Chain(filters) => {
                filters.iter().all(Self::is_cellwise)
                    && filters.iter().filter(|filter| filter.copies() > 1).count() <= 1
            }
            Self::Interleave(filters) => filters.iter().all(Self::is_cellwise),
            Self::Condition(_) | Self::Sink => false,
            _ => true,
        }
    }

    /// Calls `out` with each copy that the filter lets through of the next cell of a row.
    pub(super) fn pass<'c>(
        &'c self,
        key: &[u8],
        passed: Passed<'c>,
        counts: &mut CellCounts,
        out: &mut dyn FnMut(Passed<'c>, &mut CellCounts),
    ) {
        match self {
            Self::Chain(filters) => pass_all(filters, key, passed, counts, out),
            Self::Interleave(filters) => {
                filters.iter().for_each(|filter| filter.pass(key, passed, counts, out));
            }
            Self::Label(label) => out(Passed { label: Some(label), ..passed }, counts),
            filter => {
                let mut cell = passed.cell;
                if filter.keeps(key, &mut cell, counts) {
                    out(Passed { cell, ..passed }, counts);
                }
            }
        }
    }

    /// Whether [`keeps`](Self::keeps) can apply the filter, which is the fastest: it has no labels, and copies no cells.
    pub(super) fn is_selective(&self) -> bool {
        match self {
            Self::Chain(filters) => filters.iter().all(Self::is_selective),
            Self::Interleave(_) | Self::Condition(_) | Self::Sink | Self::Label(_) => false,
            _ => true,
        }
    }

    /// Whether the filter keeps the next cell of a row. May strip its value.
    #[inline]
    pub(super) fn keeps(&self, key: &[u8], cell: &mut CellRef<'_>, counts: &mut CellCounts) -> bool {
        match self {
            Self::PassAll => true,
            Self::Chain(filters) => filters.iter().all(|filter| filter.keeps(key, cell, counts)),
            Self::BlockAll | Self::Interleave(_) | Self::Condition(_) | Self::Sink | Self::Label(_) => false,
            Self::RowKey(pattern) => pattern.matches(key),
            Self::RowSample(sample) => sample.contains(key),
            Self::Family(pattern) => pattern.matches(cell.family.as_bytes()),
            Self::Qualifier(pattern) => pattern.matches(cell.qualifier),
            Self::Columns(columns) => columns.contains(cell.family, cell.qualifier),
            Self::Timestamps(range) => range.contains(cell.timestamp_micros),
            Self::Value(pattern) => pattern.matches(cell.value),
            Self::Values(range) => range.contains(cell.value),
            Self::ValueBits(mask) => has_bits(cell.value, mask),
            Self::SkipCells(limit) => counts.count_in_row(*limit) > limit.cells,
            Self::CellsPerRow(limit) => counts.count_in_row(*limit) <= limit.cells,
            Self::CellsPerColumn(limit) => counts.count_in_column(*limit) <= limit.cells,
            Self::StripValue => {
                cell.value = &[];
                true
            }
        }
    }
}

/// Passes a cell through one filter after the other.
fn pass_all<'c>(
    filters: &'c [Filter],
    key: &[u8],
    passed: Passed<'c>,
    counts: &mut CellCounts,
    out: &mut dyn FnMut(Passed<'c>, &mut CellCounts),
) {
    match filters {
        [] => out(passed, counts),
        [first, rest @ ..] => {
            first.pass(key, passed, counts, &mut |passed, counts| pass_all(rest, key, passed, counts, out));
        }
    }
}

/// The service rejects larger filters.
const MAX_BYTES: usize = 20_480;

/// The service rejects deeper nesting.
const MAX_DEPTH: usize = 20;

/// The most copies of a cell that a filter may produce. The service has no such limit; without it, a filter of a few
/// bytes could exhaust memory.
const MAX_COPIES: usize = 10_000;

const MAX_LABEL_BYTES: usize = 15;

/// Up to this encoded size, parsing a filter is fast enough for an async thread.
const CHEAP_BYTES: usize = 512;

/// The position of a filter in a request.
#[derive(Clone, Copy)]
struct Context<'a> {
    depth: usize,
    in_condition: bool,
    /// Shared by the regular expressions of the whole filter.
    patterns: &'a PatternBudget,
    /// How many of its filters count cells.
    counters: &'a std::cell::Cell<usize>,
}

impl Context<'_> {
    fn limit(self, name: &str, number: i32, least: usize) -> Result<Limit, Status> {
        let cells = usize::try_from(number).ok().filter(|number| *number >= least).ok_or_else(|| {
            Status::invalid_argument(format!("`{name}` is {number}, and it must be at least {least}"))
        })?;
        let counter = self.counters.get();
        self.counters.set(counter + 1);
        Ok(Limit { cells, counter })
    }
}

impl Filter {
    /// Validates and compiles the filter of a request. Without one, all cells pass.
    pub(super) fn new(filter: Option<data::RowFilter>) -> Result<Self, Status> {
        let Some(filter) = filter else { return Ok(Self::PassAll) };
        let bytes = filter.encoded_len();
        if bytes > MAX_BYTES {
            return Err(Status::invalid_argument(format!(
                "the filter has {bytes} bytes, and the limit is {MAX_BYTES}"
            )));
        }
        let mut patterns = 0;
        each_pattern(&filter, &mut |_| patterns += 1);
        let patterns = PatternBudget::new(patterns);
        let context = Context {
            depth: 1,
            in_condition: false,
            patterns: &patterns,
            counters: &std::cell::Cell::new(0),
        };
        let filter = parse(filter, context)?;
        match filter.copies() {
            ..=MAX_COPIES => Ok(filter),
            copies => Err(Status::invalid_argument(format!(
                "the `interleave` filters can copy each cell {copies} times, and the limit is {MAX_COPIES}"
            ))),
        }
    }

    /// Whether parsing and compiling is fast enough for an async thread.
    pub(super) fn is_cheap_to_parse(message: &data::RowFilter) -> bool {
        // A repetition can compile to a large program.
        let mut repeats = false;
        each_pattern(message, &mut |regex| repeats |= regex.contains(&b'{'));
        !repeats && message.encoded_len() <= CHEAP_BYTES
    }
}

/// Visits the regular expressions of a filter. The limit of prost on nested messages bounds the recursion.
fn each_pattern(filter: &data::RowFilter, visit: &mut dyn FnMut(&[u8])) {
    match &filter.filter {
        Some(
            Message::RowKeyRegexFilter(regex)
            | Message::ColumnQualifierRegexFilter(regex)
            | Message::ValueRegexFilter(regex),
        ) => visit(regex),
        Some(Message::FamilyNameRegexFilter(regex)) => visit(regex.as_bytes()),
        Some(Message::Chain(chain)) => chain.filters.iter().for_each(|part| each_pattern(part, visit)),
        Some(Message::Interleave(interleave)) => {
            interleave.filters.iter().for_each(|part| each_pattern(part, visit));
        }
        Some(Message::Condition(condition)) => {
            let row_filter::Condition { predicate_filter, true_filter, false_filter } = &**condition;
            let parts = [predicate_filter, true_filter, false_filter].into_iter().flatten();
            parts.for_each(|part| each_pattern(part, visit));
        }
        _ => {}
    }
}

fn parse(filter: data::RowFilter, context: Context<'_>) -> Result<Filter, Status> {
    if context.depth > MAX_DEPTH {
        return Err(Status::invalid_argument(format!("filters are nested more than {MAX_DEPTH} deep")));
    }
    let Some(filter) = filter.filter else { return Err(Status::invalid_argument("a filter is empty")) };
    Ok(match filter {
        Message::PassAllFilter(set) => only_true("pass_all_filter", set, Filter::PassAll)?,
        Message::BlockAllFilter(set) => only_true("block_all_filter", set, Filter::BlockAll)?,
        Message::StripValueTransformer(set) => only_true("strip_value_transformer", set, Filter::StripValue)?,
        Message::Sink(_) if context.in_condition => {
            return Err(Status::invalid_argument("`sink` is not allowed inside a `condition`"));
        }
        Message::Sink(set) => only_true("sink", set, Filter::Sink)?,
        Message::Chain(row_filter::Chain { filters }) => {
            let labels = filters.iter().filter(|filter| has_label(filter)).count();
            if labels > 1 {
                return Err(Status::invalid_argument(format!(
                    "{labels} filters of a `chain` have an `apply_label_transformer`, and at most one may"
                )));
            }
            Filter::Chain(parse_parts("chain", filters, context)?)
        }
        Message::Interleave(row_filter::Interleave { filters }) => {
            Filter::Interleave(parse_parts("interleave", filters, context)?)
        }
        Message::Condition(condition) => Filter::Condition(Box::new(parse_condition(*condition, context)?)),
        Message::RowKeyRegexFilter(regex) if regex.is_empty() => {
            return Err(Status::invalid_argument(
                "`row_key_regex_filter` is empty, so it matches no row key",
            ));
        }
        Message::RowKeyRegexFilter(regex) => {
            Filter::RowKey(Pattern::new("row_key_regex_filter", &regex, context.patterns)?)
        }
        Message::RowSampleFilter(probability) if probability > 0.0 && probability < 1.0 => {
            Filter::RowSample(Sample::new(probability))
        }
        Message::RowSampleFilter(probability) => {
            return Err(Status::invalid_argument(format!(
                "`row_sample_filter` is {probability}, and it must be above 0 and below 1"
            )));
        }
        Message::FamilyNameRegexFilter(regex) if regex.contains(':') => {
            return Err(Status::invalid_argument(format!(
                "`family_name_regex_filter` `{regex}` has a colon"
            )));
        }
        Message::FamilyNameRegexFilter(regex) => {
            Filter::Family(Pattern::new("family_name_regex_filter", regex.as_bytes(), context.patterns)?)
        }
        Message::ColumnQualifierRegexFilter(regex) => {
            Filter::Qualifier(Pattern::new("column_qualifier_regex_filter", &regex, context.patterns)?)
        }
        Message::ColumnRangeFilter(range) => Filter::Columns(parse_columns(range)?),
        Message::TimestampRangeFilter(range) => Filter::Timestamps(parse_timestamps(range)?),
        Message::ValueRegexFilter(regex) => {
            Filter::Value(Pattern::new("value_regex_filter", &regex, context.patterns)?)
        }
        Message::ValueRangeFilter(range) => Filter::Values(parse_values(range)?),
        Message::ValueBitmaskFilter(data::ValueBitmask { mask }) if mask.is_empty() => {
            return Err(Status::invalid_argument("`value_bitmask_filter` has no mask"));
        }
        Message::ValueBitmaskFilter(data::ValueBitmask { mask }) => Filter::ValueBits(mask),
        Message::CellsPerRowOffsetFilter(skipped) => {
            Filter::SkipCells(context.limit("cells_per_row_offset_filter", skipped, 0)?)
        }
        Message::CellsPerRowLimitFilter(limit) => {
            Filter::CellsPerRow(context.limit("cells_per_row_limit_filter", limit, 1)?)
        }
        Message::CellsPerColumnLimitFilter(limit) => {
            Filter::CellsPerColumn(context.limit("cells_per_column_limit_filter", limit, 1)?)
        }
        Message::ApplyLabelTransformer(label) => Filter::Label(check_label(label)?),
    })
}

fn only_true(name: &str, set: bool, filter: Filter) -> Result<Filter, Status> {
    if set {
        return Ok(filter);
    }
    Err(Status::invalid_argument(format!("`{name}` is false, and it can only be true")))
}

fn parse_parts(
    name: &str,
    filters: Vec<data::RowFilter>,
    context: Context<'_>,
) -> Result<Vec<Filter>, Status> {
    if filters.len() < 2 {
        return Err(Status::invalid_argument(format!("`{name}` has fewer than two filters")));
    }
    let context = Context { depth: context.depth + 1, ..context };
    filters.into_iter().map(|filter| parse(filter, context)).collect()
}

/// A missing branch keeps nothing.
fn parse_condition(condition: row_filter::Condition, context: Context<'_>) -> Result<Condition, Status> {
    let context = Context { depth: context.depth + 1, in_condition: true, ..context };
    let Some(predicate) = condition.predicate_filter else {
        return Err(Status::invalid_argument("`condition` has no `predicate_filter`"));
    };
    let branch = |filter: Option<Box<data::RowFilter>>| {
        filter.map_or(Ok(Filter::BlockAll), |filter| parse(*filter, context))
    };
    Ok(Condition {
        predicate: parse(*predicate, context)?,
        then: branch(condition.true_filter)?,
        otherwise: branch(condition.false_filter)?,
    })
}

/// The limit of prost on nested messages bounds the recursion.
fn has_label(filter: &data::RowFilter) -> bool {
    let part = |filter: &Option<Box<data::RowFilter>>| filter.as_deref().is_some_and(has_label);
    match &filter.filter {
        Some(Message::ApplyLabelTransformer(_)) => true,
        Some(Message::Chain(chain)) => chain.filters.iter().any(has_label),
        Some(Message::Interleave(interleave)) => interleave.filters.iter().any(has_label),
        Some(Message::Condition(condition)) => {
            part(&condition.predicate_filter) || part(&condition.true_filter) || part(&condition.false_filter)
        }
        _ => false,
    }
}

fn parse_columns(range: data::ColumnRange) -> Result<Columns, Status> {
    use column_range::{EndQualifier, StartQualifier};
    if range.family_name.is_empty() {
        return Err(Status::invalid_argument("`column_range_filter` names no column family"));
    }
    let start = match range.start_qualifier {
        None => Bound::Unbounded,
        Some(StartQualifier::StartQualifierClosed(start)) => Bound::Included(start),
        Some(StartQualifier::StartQualifierOpen(start)) => Bound::Excluded(start),
    };
    let end = match range.end_qualifier {
        None => Bound::Unbounded,
        Some(EndQualifier::EndQualifierClosed(end)) => Bound::Included(end),
        Some(EndQualifier::EndQualifierOpen(end)) => Bound::Excluded(end),
    };
    Ok(Columns { family: range.family_name, qualifiers: check_range("column_range_filter", start, end)? })
}

fn parse_values(range: data::ValueRange) -> Result<Range, Status> {
    use value_range::{EndValue, StartValue};
    let start = match range.start_value {
        None => Bound::Unbounded,
        Some(StartValue::StartValueClosed(start)) => Bound::Included(start),
        Some(StartValue::StartValueOpen(start)) => Bound::Excluded(start),
    };
    let end = match range.end_value {
        None => Bound::Unbounded,
        Some(EndValue::EndValueClosed(end)) => Bound::Included(end),
        Some(EndValue::EndValueOpen(end)) => Bound::Excluded(end),
    };
    check_range("value_range_filter", start, end)
}

/// A range may be empty, but not reversed.
fn check_range(name: &str, start: Bound<bytes::Bytes>, end: Bound<bytes::Bytes>) -> Result<Range, Status> {
    if let (Bound::Included(first) | Bound::Excluded(first), Bound::Included(last) | Bound::Excluded(last)) =
        (&start, &end)
        && first > last
    {
        return Err(Status::invalid_argument(format!(
            "`{name}` starts at {first:?}, after its end {last:?}"
        )));
    }
    Ok(Range { start, end })
}

/// An end of zero counts as absent. The bounds may be finer than the timestamps of the table.
fn parse_timestamps(range: data::TimestampRange) -> Result<Timestamps, Status> {
    let data::TimestampRange { start_timestamp_micros: start, end_timestamp_micros: end } = range;
    let end = Some(end).filter(|end| *end != 0);
    match end.filter(|end| *end < start) {
        None => Ok(Timestamps { start, end }),
        Some(end) => Err(Status::invalid_argument(format!(
            "`timestamp_range_filter` ends at {end}, before its start {start}"
        ))),
    }
}

fn check_label(label: String) -> Result<String, Status> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=MAX_LABEL_BYTES).contains(&label.len()) && label.bytes().all(allowed) {
        return Ok(label);
    }
    Err(Status::invalid_argument(format!(
        "`apply_label_transformer` is {label:?}, and a label has 1 to {MAX_LABEL_BYTES} characters of `a` to `z`, `0` to `9` and `-`"
    )))
}
