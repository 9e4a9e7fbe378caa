//! The requests of a plan, in steps that each fit into a request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::encodings::Choice;
use super::fixed::{Buckets, FixedFields, Rows};
use super::range::{KeyRange, prefix_end};
use super::request::{Asked, Request, RequestSize};
use super::selection::Selection;
use crate::key::{Layout, Salt};

/// The most bytes of keys and ranges held at a time, for all buckets.
const BATCH_BYTES: usize = 4 << 20;

/// The requests of a plan in the order of the scan: all rows of one batch come before those of the next.
///
/// A batch is one request at most for each bucket. Most plans are one batch; the values of `any_of` may make more.
#[derive(Clone, Debug)]
pub(crate) struct RequestBatches<'s> {
    selection: Cow<'s, Selection>,
    /// The next choice of the fixed values.
    choice: Option<Choice>,
    reversed: bool,
    fixed: FixedFields,
    head: Vec<u8>,
}

/// The requests of a batch while it is filled.
#[derive(Default)]
struct RequestBatch {
    requests: BTreeMap<Option<i32>, (Request, RequestSize)>,
    bytes: usize,
    full: bool,
}

impl RequestBatch {
    fn push(&mut self, bucket: Option<i32>, asked: Asked) {
        let (request, size) =
            self.requests.entry(bucket).or_insert_with(|| (Request::new(bucket), RequestSize::default()));
        self.bytes -= size.bytes();
        match &asked {
            Asked::Key(key) => size.add_key(key),
            Asked::Range(range) => size.add_range(range),
        }
        self.bytes += size.bytes();
        self.full |= size.is_full() || self.bytes >= BATCH_BYTES;
        request.push(asked);
    }
}

impl<'s> RequestBatches<'s> {
    pub(super) fn new(selection: Cow<'s, Selection>, reversed: bool) -> Self {
        let choice = Choice::first(&selection.encodings, reversed).filter(|_| !selection.excludes_all());
        let fixed = FixedFields::new(selection.schema);
        let mut batches = Self { selection, choice, reversed, fixed, head: Vec::with_capacity(64) };
        batches.skip_read();
        batches
    }

    /// The first and the last choice with rows in a range of stored keys, as far as their order tells: between the two
    /// there may be others that have none. Few choices are looked at.
    pub(super) fn ends_in(&mut self, range: &KeyRange) -> Option<(Choice, Choice)> {
        let buckets = match self.selection.schema.salt() {
            Some(salt) => Some(self.buckets_in(salt, range)?),
            None => None,
        };
        let (first, last) = buckets.unzip();
        let encodings = self.selection.encodings.clone();
        let after = KeyRange::new(range.start(), None);
        let from = Choice::first_ahead(&encodings, false, |choice| self.reaches(choice, last, &after))?;
        let before = KeyRange::new([], range.end().map(<[u8]>::to_vec));
        let to = Choice::first_ahead(&encodings, true, |choice| self.reaches(choice, first, &before))?;
        Some((from, to))
    }

    /// The first and the last bucket, by the order of their keys, that have keys in a range; the outermost ones, where
    /// buckets begin anew after each value of a field.
    fn buckets_in(&mut self, salt: &Salt, range: &KeyRange) -> Option<(i32, i32)> {
        let (schema, all) = (self.selection.schema, salt.buckets());
        let head = &mut self.head;
        let mut keys = |bucket| {
            head.clear();
            schema.write_head(Some(bucket), &[], head);
            KeyRange::prefix(head)
        };
        // Numbers in a width of digits, and those of the ordered layout, have the order of their bytes.
        let is_ascending = schema.layout() == Layout::OrderedCode || salt.is_padded();
        let is_first_part = salt.fields_before() == 0;
        if is_ascending && !is_first_part {
            return Some((all.start, all.end - 1));
        }
        if is_ascending {
            let ends_before = |bucket| keys(bucket).end().is_some_and(|end| end <= range.start());
            let first = first_without(all.clone(), ends_before);
            let begins_before = |bucket| range.end().is_none_or(|end| keys(bucket).start() < end);
            let last = first_without(all, begins_before) - 1;
            return (first <= last).then_some((first, last));
        }
        let keys = all.map(|bucket| (keys(bucket), bucket));
        let keys = keys.filter(|(keys, _)| !is_first_part || !keys.intersection(range).is_empty());
        let mut keys: Vec<_> = keys.map(|(keys, bucket)| (keys.start().to_vec(), bucket)).collect();
        keys.sort_unstable();
        Some((keys.first()?.1, keys.last()?.1))
    }

    /// Whether rows of a choice are in a range, if they are in this bucket.
    fn reaches(&mut self, choice: &Choice, bucket: Option<i32>, range: &KeyRange) -> bool {
        let (buckets, rows) = self.rows_of(choice);
        let bucket = match buckets {
            Buckets::One(_) | Buckets::All => bucket,
            Buckets::Unsalted | Buckets::Interleaved => None,
        };
        self.stored(bucket, &rows).reach_into(range)
    }

    /// Goes on to the first choice that has rows after the page before, past all those that were read.
    fn skip_read(&mut self) {
        let after = self.selection.after.clone();
        // Read the other way, what is left comes first.
        let after = after.filter(|after| after.is_reversed() == self.reversed && self.choice.is_some());
        let Some(after) = after else { return };
        let encodings = self.selection.encodings.clone();
        self.choice = Choice::first_ahead(&encodings, self.reversed, |choice| {
            let (buckets, rows) = self.rows_of(choice);
            // The place is the same one in every bucket.
            let bucket = match (buckets, self.selection.schema.salt()) {
                (Buckets::All, Some(salt)) => Some(salt.buckets().start),
                _ => buckets.known(),
            };
            self.stored(bucket, &rows).reach_into(&after.ahead(self.selection.schema, bucket))
        });
    }

    /// Whether nothing is asked for.
    pub(super) fn asks_nothing(mut self) -> bool {
        let mut batch = RequestBatch::default();
        while batch.requests.is_empty() {
            let Some(choice) = self.choice.take() else { return true };
            self.ask(choice, &mut batch);
        }
        false
    }

    /// Adds the rows of a choice to the batch, and goes on to the next.
    fn ask(&mut self, mut choice: Choice, batch: &mut RequestBatch) {
        self.ask_buckets(&choice, batch);
        if choice.advance(&self.selection.encodings, self.reversed) {
            self.choice = Some(choice);
        }
    }

    /// The rows of a choice after what is left of the salt, and the buckets that can hold them.
    fn rows_of(&mut self, choice: &Choice) -> (Buckets, Rows) {
        self.fixed.assemble(&self.selection.encodings, choice);
        let rows = self.fixed.rows(self.selection.cuts.as_ref()).after(self.fixed.left());
        (self.fixed.buckets(), rows)
    }

    /// The same rows in a bucket, by their whole keys.
    fn stored(&mut self, bucket: Option<i32>, rows: &Rows) -> Rows {
        self.head.clear();
        self.selection.schema.write_head(bucket, self.fixed.left(), &mut self.head);
        let at = |after: &[u8]| [&self.head, after].concat();
        match rows {
            Rows::Key(key) => Rows::Key(at(key)),
            Rows::Range { start, end } => {
                let end = end.as_ref().map_or_else(|| prefix_end(&self.head), |end| Some(at(end)));
                Rows::Range { start: at(start), end }
            }
            Rows::None => Rows::None,
        }
    }

    /// Adds the rows of a choice to the batch, in each bucket that can hold one.
    fn ask_buckets(&mut self, choice: &Choice, batch: &mut RequestBatch) {
        let (buckets, rows) = self.rows_of(choice);
        match (buckets, self.selection.schema.salt()) {
            (Buckets::All, Some(salt)) => {
                for bucket in salt.buckets() {
                    self.ask_bucket(Some(bucket), &rows, batch);
                }
            }
            _ => self.ask_bucket(buckets.known(), &rows, batch),
        }
    }

    fn ask_bucket(&mut self, bucket: Option<i32>, rows: &Rows, batch: &mut RequestBatch) {
        let asked = match self.stored(bucket, rows) {
            Rows::Key(key) => Asked::Key(key),
            Rows::Range { start, end } => {
                let range = KeyRange::new(start, end);
                // Between two bounds that are longer than any key there is none.
                if range.is_empty() {
                    return;
                }
                Asked::Range(range)
            }
            Rows::None => return,
        };
        let Selection { schema, window, after, .. } = &*self.selection;
        let ahead = after.as_ref().map(|after| after.ahead(schema, bucket));
        let asked = within(asked, window.as_ref()).and_then(|asked| within(asked, ahead.as_ref()));
        if let Some(asked) = asked {
            batch.push(bucket, asked);
        }
    }
}

/// The first number of a range of which `holds` does not hold, where it holds of those before that one and no other; the
/// range's end, where it holds of all.
fn first_without(range: Range<i32>, mut holds: impl FnMut(i32) -> bool) -> i32 {
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

/// The part of what is asked that is in the window.
fn within(asked: Asked, window: Option<&KeyRange>) -> Option<Asked> {
    let Some(window) = window else {
        return Some(asked);
    };
    match asked {
        Asked::Key(key) => window.contains(&key).then_some(Asked::Key(key)),
        Asked::Range(range) => {
            let range = range.intersection(window);
            (!range.is_empty()).then_some(Asked::Range(range))
        }
    }
}

impl Iterator for RequestBatches<'_> {
    type Item = Vec<Request>;

    fn next(&mut self) -> Option<Vec<Request>> {
        let mut batch = RequestBatch::default();
        while let Some(choice) = self.choice.take() {
            self.ask(choice, &mut batch);
            if batch.full {
                break;
            }
        }
        let requests = batch.requests.into_values().map(|(request, _)| request.ascending(self.reversed));
        let requests: Vec<_> = requests.collect();
        (!requests.is_empty()).then_some(requests)
    }
}
