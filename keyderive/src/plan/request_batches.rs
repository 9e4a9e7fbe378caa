//! The requests of a plan, in batches of limited size.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::encodings::Choice;
use super::fixed::{Buckets, FixedFields, RowSelection};
use super::request::{KeyRange, Request, RequestSize, RowSetItem, prefix_end};
use super::selection::Selection;
use crate::key::ordered::{AFTER_SEPARATOR, SEPARATOR};
use crate::key::{Bucket, KeyEncoding, Salt};

/// The most bytes of keys and ranges held at a time, for all buckets.
const BATCH_BYTES: usize = 4 << 20;

impl Selection {
    /// Whether no row can satisfy the constraints.
    pub(super) fn is_empty(&self) -> bool {
        self.batches(false).has_no_request()
    }

    /// The part whose rows are stored in a range of row keys. It shares the bytes of the values, and keeps only values whose
    /// rows may be in the range, so that the parts of a long list are short.
    pub(super) fn within(&self, range: &KeyRange) -> Self {
        let window = match &self.window {
            Some(window) => window.intersection(range),
            None => range.clone(),
        };
        let ends = RequestBatches::new(Cow::Borrowed(self), false).first_and_last_in(&window);
        let encodings = self.encodings.clone().between(ends);
        Self { encodings, window: Some(window), ..self.clone() }
    }

    /// The requests in batches, in the order of the scan.
    pub(super) fn batches(&self, reversed: bool) -> RequestBatches<'_> {
        RequestBatches::new(Cow::Borrowed(self), reversed)
    }

    /// As [`batches`](Self::batches), for a scan that outlives the plan.
    pub(super) fn into_batches(self, reversed: bool) -> RequestBatches<'static> {
        RequestBatches::new(Cow::Owned(self), reversed)
    }

    /// The byte prefixes that hold the selected rows and nothing else, one for each bucket; `None` if one would be empty.
    ///
    /// A delimiter or a width ends a fixed field, so rows of other values have other prefixes. A range has no prefix, nor
    /// have rows of the ordered layout whose next field may be empty and dropped.
    pub(super) fn prefixes(&self) -> Option<Vec<Vec<u8>>> {
        let plain = self.cuts.is_none() && self.window.is_none() && self.after.is_empty();
        if !plain || self.is_fully_fixed() || self.encodings.choices() != 1 || !self.is_ordered() {
            return None;
        }
        let next = self.schema.fields().get(self.fixed())?;
        if self.schema.layout() == KeyEncoding::OrderedCode && next.width().min() == 0 {
            return None;
        }
        let ranges = self.batches(false).flatten().flat_map(|request| request.into_rows().1);
        let prefix = |range: KeyRange| match self.schema.layout() {
            // Where buckets are left out of the keys without a salt, the rest of these has no prefix.
            KeyEncoding::Delimited => Some(range.start().to_vec())
                .filter(|prefix| !prefix.is_empty() && range == KeyRange::prefix(prefix)),
            // Made from the range's end: its start drops trailing empty fields, which every row has before its next field.
            KeyEncoding::OrderedCode => {
                Some([range.end()?.strip_suffix(&AFTER_SEPARATOR)?, &SEPARATOR].concat())
            }
        };
        let prefixes: Option<Vec<_>> = ranges.map(prefix).collect();
        prefixes.filter(|prefixes| !prefixes.is_empty())
    }
}

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
    /// The buckets of a choice.
    buckets: Vec<Option<Bucket>>,
    /// Where the keys of all buckets are, after the fields left of the salt. Keys without a salt are elsewhere.
    salted: Option<(Vec<u8>, Vec<KeyRange>)>,
}

/// A batch while it is filled.
#[derive(Default)]
struct RequestBatch {
    requests: BTreeMap<Option<Bucket>, (Request, RequestSize)>,
    bytes: usize,
    full: bool,
}

impl RequestBatch {
    fn push(&mut self, bucket: Option<Bucket>, item: RowSetItem) {
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
    fn new(selection: Cow<'s, Selection>, reversed: bool) -> Self {
        let choice = Choice::first(&selection.encodings, reversed).filter(|_| !selection.excludes_all());
        let fixed = FixedFields::new(selection.schema);
        let (head, buckets) = (Vec::with_capacity(64), Vec::new());
        let mut batches = Self { selection, choice, reversed, fixed, head, buckets, salted: None };
        batches.skip_to_position();
        batches
    }

    /// The first and the last choice that can have rows in a range of stored keys; choices between the two may have none.
    /// Tests few choices.
    fn first_and_last_in(&mut self, range: &KeyRange) -> Option<(Choice, Choice)> {
        let schema = self.selection.schema;
        let of_epochs: Vec<_> =
            schema.salts().filter_map(|salt| self.first_and_last_of_salt(salt, range)).collect();
        let (mut firsts, mut lasts): (Vec<_>, Vec<_>) = of_epochs.into_iter().unzip();
        firsts.sort_unstable();
        lasts.sort_unstable();
        firsts.into_iter().next().zip(lasts.pop())
    }

    fn first_and_last_of_salt(&mut self, salt: Option<&Salt>, range: &KeyRange) -> Option<(Choice, Choice)> {
        let buckets = match salt {
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
    fn buckets_in(&mut self, salt: &Salt, range: &KeyRange) -> Option<(Bucket, Bucket)> {
        let (schema, all) = (self.selection.schema, salt.buckets());
        let numbered = |number| schema.numbered(salt, number);
        let head = &mut self.head;
        let mut keys = |number| {
            head.clear();
            schema.write_head(Some(numbered(number)), &[], head);
            KeyRange::prefix(head)
        };
        // Padded numbers, and numbers of the ordered layout, sort as their bytes do.
        let is_ascending = schema.layout() == KeyEncoding::OrderedCode || salt.is_padded();
        let is_first_part = salt.fields_before() == 0;
        if is_ascending && !is_first_part {
            return Some((numbered(all.start), numbered(all.end - 1)));
        }
        if is_ascending {
            let ends_before = |bucket| keys(bucket).end().is_some_and(|end| end <= range.start());
            let first = partition_point(all.clone(), ends_before);
            let begins_before = |bucket| range.end().is_none_or(|end| keys(bucket).start() < end);
            let last = partition_point(all, begins_before) - 1;
            return (first <= last).then(|| (numbered(first), numbered(last)));
        }
        let keys = all.map(|bucket| (keys(bucket), bucket));
        let keys = keys.filter(|(keys, _)| !is_first_part || !keys.intersection(range).is_empty());
        let mut keys: Vec<_> = keys.map(|(keys, bucket)| (keys.start().to_vec(), bucket)).collect();
        keys.sort_unstable();
        Some((numbered(keys.first()?.1), numbered(keys.last()?.1)))
    }

    /// Whether a choice can have rows in a range, in this bucket.
    fn reaches(&mut self, choice: &Choice, bucket: Option<Bucket>, range: &KeyRange) -> bool {
        let buckets = self.assemble(choice);
        let bucket = match buckets {
            Buckets::One(_) | Buckets::All | Buckets::OfEpochs { .. } => bucket,
            Buckets::Unsalted | Buckets::Interleaved => None,
        };
        let rows = self.rows(bucket.is_some() || buckets == Buckets::Interleaved);
        self.in_bucket(bucket, &rows).overlaps(range)
    }

    /// Skips the choices whose rows are all before the position to resume at.
    fn skip_to_position(&mut self) {
        // A position in the other direction is where this scan ends, so it skips nothing.
        let after = self.selection.after.iter().find(|after| after.is_reversed() == self.reversed);
        let Some(after) = after.filter(|_| self.choice.is_some()).cloned() else { return };
        let encodings = self.selection.encodings.clone();
        let mut listed = Vec::new();
        self.choice = Choice::first_where(&encodings, self.reversed, |choice| {
            let buckets = self.assemble(choice);
            // The position is the same in every bucket.
            self.fixed.list_buckets(buckets, &mut listed);
            let bucket = listed.first().copied().flatten();
            let rows = self.rows(bucket.is_some());
            self.in_bucket(bucket, &rows).overlaps(&after.remaining(self.selection.schema, bucket))
        });
    }

    /// How many keys and ranges a whole plan has at most; see [`Selection::row_items`].
    pub(crate) fn row_items(&self) -> Option<u64> {
        self.selection.row_items()
    }

    /// Whether there is no request.
    fn has_no_request(mut self) -> bool {
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

    /// Takes the values of a choice; returns the buckets that can hold its rows.
    fn assemble(&mut self, choice: &Choice) -> Buckets {
        self.fixed.assemble(&self.selection.encodings, choice);
        self.fixed.buckets(self.selection.cuts.as_ref())
    }

    /// The rows of the choice by their keys after the head: the tag, the salt and the fields left of the salt.
    fn rows(&self, is_salted: bool) -> RowSelection {
        self.fixed.rows(self.selection.cuts.as_ref(), is_salted).without_left(self.fixed.left())
    }

    /// The rows in one bucket, by their whole stored keys.
    fn in_bucket(&mut self, bucket: Option<Bucket>, rows: &RowSelection) -> RowSelection {
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
        let of = self.assemble(choice);
        let mut buckets = std::mem::take(&mut self.buckets);
        self.fixed.list_buckets(of, &mut buckets);
        // Rows begin in the same way in every bucket.
        let salted = buckets.last().copied().flatten().map(|_| self.rows(true));
        for bucket in &buckets {
            match (bucket, &salted) {
                (Some(_), Some(rows)) => self.add_bucket(*bucket, rows, batch),
                _ => {
                    let rows = self.rows(false);
                    self.add_bucket(None, &rows, batch);
                }
            }
        }
        self.buckets = buckets;
    }

    fn add_bucket(&mut self, bucket: Option<Bucket>, rows: &RowSelection, batch: &mut RequestBatch) {
        match self.in_bucket(bucket, rows) {
            RowSelection::Key(key) => self.add_item(bucket, RowSetItem::Key(key), batch),
            RowSelection::Range { start, end } => {
                let range = KeyRange::new(start, end);
                // No key lies between two bounds that are longer than any key and equal up to 4096 bytes.
                if range.is_empty() {
                    return;
                }
                let is_unsalted = bucket.is_none() && self.selection.is_ordered();
                match is_unsalted && self.selection.schema.has_epochs() {
                    true => {
                        // In the order of the scan, as the ranges of other choices.
                        let mut parts = self.without_salted(&range);
                        if self.reversed {
                            parts.reverse();
                        }
                        parts
                            .into_iter()
                            .for_each(|range| self.add_item(bucket, RowSetItem::Range(range), batch));
                    }
                    false => self.add_item(bucket, RowSetItem::Range(range), batch),
                }
            }
            RowSelection::None => {}
        }
    }

    fn add_item(&self, bucket: Option<Bucket>, item: RowSetItem, batch: &mut RequestBatch) {
        let Selection { schema, window, after, .. } = &*self.selection;
        let remaining = after.iter().map(|after| after.remaining(schema, bucket));
        let item = remaining.fold(within(item, window.as_ref()), |item, rest| within(item?, Some(&rest)));
        if let Some(item) = item {
            batch.push(bucket, item);
        }
    }

    /// The parts of a range without the keys of all buckets, in ascending order.
    fn without_salted(&mut self, range: &KeyRange) -> Vec<KeyRange> {
        let salted = self.salted_ranges();
        let first = salted.partition_point(|one| one.end().is_some_and(|end| end <= range.start()));
        let mut start = range.start().to_vec();
        let mut parts = Vec::new();
        for one in &salted[first..] {
            if range.end().is_some_and(|end| one.start() >= end) {
                break;
            }
            parts.push(KeyRange::new(start, Some(one.start().to_vec())));
            // A bucket's keys begin with digits, so they have an end.
            start = one.end().unwrap_or(&[u8::MAX]).to_vec();
        }
        parts.push(KeyRange::new(start, range.end().map(<[u8]>::to_vec)));
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Where the keys of all buckets are, after the fields left of the salt.
    fn salted_ranges(&mut self) -> &[KeyRange] {
        let (schema, left) = (self.selection.schema, self.fixed.left());
        if self.salted.as_ref().is_none_or(|(of, _)| of != left) {
            let keys = |bucket| {
                let mut head = Vec::new();
                schema.write_head(Some(bucket), left, &mut head);
                if let KeyEncoding::OrderedCode = schema.layout() {
                    head.extend_from_slice(schema.separator());
                }
                KeyRange::prefix(&head)
            };
            let mut ranges: Vec<_> = schema.all_buckets().into_iter().map(keys).collect();
            ranges.sort_unstable_by(|one, other| one.start().cmp(other.start()));
            self.salted = Some((left.to_vec(), ranges));
        }
        self.salted.as_ref().map_or(&[], |(_, ranges)| ranges)
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
