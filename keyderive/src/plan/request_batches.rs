//! The requests of a plan, in batches of limited size.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::fixed::{Buckets, FixedFields, RowSelection};
use super::request::{KeyRange, Request, RequestSize, RowSetItem, prefix_end};
use super::selection::{Choice, Selection};
use crate::key::{Layout, Salt};

/// The most bytes of keys and ranges held at a time, for all buckets.
const BATCH_BYTES: usize = 4 << 20;

/// The requests of a plan in the order of the scan: all rows of one batch come before those of the next.
///
/// A batch is one request at most for each bucket. Most plans are one batch; the values of `any_of` may make more.
#[derive(Clone, Debug)]
pub(crate) struct RequestBatches<'s> {
    selection: Cow<'s, Selection>,
    /// The next choice of the fixed values to add.
    choice: Option<Choice>,
    reversed: bool,
    fixed: FixedFields,
    head: Vec<u8>,
}

/// A batch while it is filled.
#[derive(Default)]
struct RequestBatch {
    requests: BTreeMap<Option<i32>, (Request, RequestSize)>,
    bytes: usize,
    full: bool,
}

impl RequestBatch {
    fn push(&mut self, bucket: Option<i32>, item: RowSetItem) {
        let (request, size) =
            self.requests.entry(bucket).or_insert_with(|| (Request::new(bucket), RequestSize::default()));
        self.bytes -= size.bytes();
        match &item {
            RowSetItem::Key(key) => size.add_key(key),
            RowSetItem::Range(range) => size.add_range(range),
        }
        self.bytes += size.bytes();
        self.full |= size.is_full() || self.bytes >= BATCH_BYTES;
        request.push(item);
    }
}

impl<'s> RequestBatches<'s> {
    pub(super) fn new(selection: Cow<'s, Selection>, reversed: bool) -> Self {
        let choice = Choice::first(&selection.encodings, reversed).filter(|_| !selection.excludes_all());
        let fixed = FixedFields::new(selection.schema);
        let mut batches = Self { selection, choice, reversed, fixed, head: Vec::with_capacity(64) };
        batches.skip_to_position();
        batches
    }

    /// The first and the last choice that can have rows in a range of stored keys; choices between the two may have none.
    /// Tests few choices.
    pub(super) fn first_and_last_in(&mut self, range: &KeyRange) -> Option<(Choice, Choice)> {
        let buckets = match self.selection.schema.salt() {
            Some(salt) => Some(self.buckets_in(salt, range)?),
            None => None,
        };
        let (first, last) = buckets.unzip();
        let encodings = self.selection.encodings.clone();
        let after = KeyRange::new(range.start(), None);
        let from = Choice::first_where(&encodings, false, |choice| self.reaches(choice, last, &after))?;
        let before = KeyRange::new([], range.end().map(<[u8]>::to_vec));
        let to = Choice::first_where(&encodings, true, |choice| self.reaches(choice, first, &before))?;
        Some((from, to))
    }

    /// The first and the last bucket, in the order of their keys, with keys in a range. If the salt follows a field, the
    /// buckets repeat for each of its values, so these are the first and the last of all buckets.
    fn buckets_in(&mut self, salt: &Salt, range: &KeyRange) -> Option<(i32, i32)> {
        let (schema, all) = (self.selection.schema, salt.buckets());
        let head = &mut self.head;
        let mut keys = |bucket| {
            head.clear();
            schema.write_head(Some(bucket), &[], head);
            KeyRange::prefix(head)
        };
        // Padded numbers, and those of the ordered layout, sort as their bytes do.
        let is_ascending = schema.layout() == Layout::OrderedCode || salt.is_padded();
        let is_first_part = salt.fields_before() == 0;
        if is_ascending && !is_first_part {
            return Some((all.start, all.end - 1));
        }
        if is_ascending {
            let ends_before = |bucket| keys(bucket).end().is_some_and(|end| end <= range.start());
            let first = partition_point(all.clone(), ends_before);
            let begins_before = |bucket| range.end().is_none_or(|end| keys(bucket).start() < end);
            let last = partition_point(all, begins_before) - 1;
            return (first <= last).then_some((first, last));
        }
        let keys = all.map(|bucket| (keys(bucket), bucket));
        let keys = keys.filter(|(keys, _)| !is_first_part || !keys.intersection(range).is_empty());
        let mut keys: Vec<_> = keys.map(|(keys, bucket)| (keys.start().to_vec(), bucket)).collect();
        keys.sort_unstable();
        Some((keys.first()?.1, keys.last()?.1))
    }

    /// Whether a choice can have rows in a range, in this bucket.
    fn reaches(&mut self, choice: &Choice, bucket: Option<i32>, range: &KeyRange) -> bool {
        let (buckets, rows) = self.rows_of(choice);
        let bucket = match buckets {
            Buckets::One(_) | Buckets::All => bucket,
            Buckets::Unsalted | Buckets::Interleaved => None,
        };
        self.in_bucket(bucket, &rows).overlaps(range)
    }

    /// Skips the choices whose rows are all before the position to resume at.
    fn skip_to_position(&mut self) {
        // A position in the other direction is where this scan ends, so it skips nothing.
        let after = self.selection.after.iter().find(|after| after.is_reversed() == self.reversed);
        let Some(after) = after.filter(|_| self.choice.is_some()).cloned() else { return };
        let encodings = self.selection.encodings.clone();
        self.choice = Choice::first_where(&encodings, self.reversed, |choice| {
            let (buckets, rows) = self.rows_of(choice);
            // The position is the same in every bucket.
            let bucket = match (buckets, self.selection.schema.salt()) {
                (Buckets::All, Some(salt)) => Some(salt.buckets().start),
                _ => buckets.single(),
            };
            self.in_bucket(bucket, &rows).overlaps(&after.remaining(self.selection.schema, bucket))
        });
    }

    /// Whether there is no request.
    pub(super) fn has_no_request(mut self) -> bool {
        let mut batch = RequestBatch::default();
        while batch.requests.is_empty() {
            let Some(choice) = self.choice.take() else { return true };
            self.add_and_advance(choice, &mut batch);
        }
        false
    }

    /// Adds the rows of a choice to the batch, and advances to the next choice.
    fn add_and_advance(&mut self, mut choice: Choice, batch: &mut RequestBatch) {
        self.add_choice(&choice, batch);
        if choice.advance(&self.selection.encodings, self.reversed) {
            self.choice = Some(choice);
        }
    }

    /// The buckets that can hold rows of a choice, and the rows by their keys after the head: the tag, the salt and the
    /// fields left of the salt.
    fn rows_of(&mut self, choice: &Choice) -> (Buckets, RowSelection) {
        self.fixed.assemble(&self.selection.encodings, choice);
        let rows = self.fixed.rows(self.selection.cuts.as_ref()).without_left(self.fixed.left());
        (self.fixed.buckets(), rows)
    }

    /// The rows in one bucket, by their whole stored keys.
    fn in_bucket(&mut self, bucket: Option<i32>, rows: &RowSelection) -> RowSelection {
        self.head.clear();
        self.selection.schema.write_head(bucket, self.fixed.left(), &mut self.head);
        let at = |after: &[u8]| [&self.head, after].concat();
        match rows {
            RowSelection::Key(key) => RowSelection::Key(at(key)),
            RowSelection::Range { start, end } => {
                let end = end.as_ref().map_or_else(|| prefix_end(&self.head), |end| Some(at(end)));
                RowSelection::Range { start: at(start), end }
            }
            RowSelection::None => RowSelection::None,
        }
    }

    /// Adds the rows of a choice to the batch, for each bucket that can hold one.
    fn add_choice(&mut self, choice: &Choice, batch: &mut RequestBatch) {
        let (buckets, rows) = self.rows_of(choice);
        match (buckets, self.selection.schema.salt()) {
            (Buckets::All, Some(salt)) => {
                for bucket in salt.buckets() {
                    self.add_bucket(Some(bucket), &rows, batch);
                }
            }
            _ => self.add_bucket(buckets.single(), &rows, batch),
        }
    }

    fn add_bucket(&mut self, bucket: Option<i32>, rows: &RowSelection, batch: &mut RequestBatch) {
        let item = match self.in_bucket(bucket, rows) {
            RowSelection::Key(key) => RowSetItem::Key(key),
            RowSelection::Range { start, end } => {
                let range = KeyRange::new(start, end);
                // No key lies between two bounds that are longer than any key and equal up to 4096 bytes.
                if range.is_empty() {
                    return;
                }
                RowSetItem::Range(range)
            }
            RowSelection::None => return,
        };
        let Selection { schema, window, after, .. } = &*self.selection;
        let remaining = after.iter().map(|after| after.remaining(schema, bucket));
        let item = remaining.fold(within(item, window.as_ref()), |item, rest| within(item?, Some(&rest)));
        if let Some(item) = item {
            batch.push(bucket, item);
        }
    }
}

/// The first number of a range for which `holds` is false, or the range's end; `holds` must stay false from there on.
fn partition_point(range: Range<i32>, mut holds: impl FnMut(i32) -> bool) -> i32 {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The part of a row or range that is in the window.
fn within(item: RowSetItem, window: Option<&KeyRange>) -> Option<RowSetItem> {
    let Some(window) = window else {
        return Some(item);
    };
    match item {
        RowSetItem::Key(key) => window.contains(&key).then_some(RowSetItem::Key(key)),
        RowSetItem::Range(range) => {
            let range = range.intersection(window);
            (!range.is_empty()).then_some(RowSetItem::Range(range))
        }
    }
}

impl Iterator for RequestBatches<'_> {
    type Item = Vec<Request>;

    fn next(&mut self) -> Option<Vec<Request>> {
        let mut batch = RequestBatch::default();
        while let Some(choice) = self.choice.take() {
            self.add_and_advance(choice, &mut batch);
            if batch.full {
                break;
            }
        }
        let requests = batch.requests.into_values().map(|(request, _)| request.ascending(self.reversed));
        let requests: Vec<_> = requests.collect();
        (!requests.is_empty()).then_some(requests)
    }
}
