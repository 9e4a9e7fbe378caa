//! The rows of one choice of the fixed fields: a key, or a range of keys, in each bucket that can hold them.

use super::encodings::{Choice, Encodings};
use super::request::{KeyRange, prefix_end};
use crate::key::ordered::{AFTER_SEPARATOR, EMPTY, SEPARATOR, escaped};
use crate::key::{
    Bucket, Cut, EncodeError, KeyEncoding, KeySchema, Salt, Span, Width, bucket_of, check_len, ordered_end,
};

/// The encoded fixed fields of a scan, as in a key without its tag and salt.
#[derive(Clone, Debug)]
pub(super) struct FixedFields {
    pub(super) schema: &'static KeySchema,
    /// Each field, with a separator after it unless it is the key's last one.
    pub(super) bytes: Vec<u8>,
    pub(super) spans: Vec<Span>,
}

/// Rows by their whole stored keys; or, before a bucket is chosen, by the part of their keys after the tag, the salt and
/// the fields left of the salt, which is the same in every bucket.
#[derive(Clone, Debug)]
pub(super) enum RowSelection {
    /// The row with this key.
    Key(Vec<u8>),
    /// The rows from `start`, inclusive, to `end`, exclusive, or to the end of the bucket.
    Range { start: Vec<u8>, end: Option<Vec<u8>> },
    /// No row, since the constraints exclude each other.
    None,
}

/// The buckets that can hold a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buckets {
    /// The key type has no salt.
    Unsalted,
    /// One bucket, since all salted fields are fixed.
    One(i32),
    /// Every bucket.
    All,
    /// Every bucket, in the order of the stored keys: a field left of the salt is not fixed, and the buckets repeat for
    /// each of its values.
    Interleaved,
    /// The buckets that the salts of these epochs give the rows.
    OfEpochs { first: usize, last: usize },
}

impl Buckets {
    /// The bucket, if only one can hold a row of a key type without epochs.
    pub(super) fn single(self) -> Option<i32> {
        match self {
            Self::One(bucket) => Some(bucket),
            Self::Unsalted | Self::All | Self::Interleaved | Self::OfEpochs { .. } => None,
        }
    }
}

impl RowSelection {
    /// The same rows without `left`, which all their keys begin with.
    pub(super) fn without_left(self, left: &[u8]) -> Self {
        let after = |key: Vec<u8>| key.strip_prefix(left).map(<[u8]>::to_vec);
        match self {
            rows if left.is_empty() => rows,
            Self::Key(key) => after(key).map_or(Self::None, Self::Key),
            Self::Range { start, end } => match after(start) {
                // An end that does not begin with `left` is after all keys that do.
                Some(start) => Self::Range { start, end: end.and_then(after) },
                None => Self::None,
            },
            Self::None => Self::None,
        }
    }

    /// Whether some key between the bounds of these rows can be in a range that is unbounded on one side. Bounds may be longer
    /// than any key: they compare as they are, so that the result is monotone in them.
    pub(super) fn overlaps(&self, range: &KeyRange) -> bool {
        match self {
            Self::Key(key) => range.contains(key),
            Self::Range { start, end } => {
                end.as_deref().is_none_or(|end| end > range.start())
                    && range.end().is_none_or(|end| start.as_slice() < end)
            }
            Self::None => false,
        }
    }
}

impl FixedFields {
    pub(super) fn new(schema: &'static KeySchema) -> Self {
        Self { schema, bytes: Vec::new(), spans: Vec::new() }
    }

    /// Joins the chosen encodings.
    pub(super) fn assemble(&mut self, encodings: &Encodings, choice: &Choice) {
        self.bytes.clear();
        self.spans.clear();
        for field in 0..encodings.fields() {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(encodings.get(field, choice.at(field)));
            self.spans.push(Span { start, end: self.bytes.len() });
            if field + 1 < self.schema.fields().len() {
                self.bytes.extend_from_slice(self.schema.separator());
            }
        }
    }

    /// The buckets that can hold rows with these fields, and between two cuts of the next one.
    pub(super) fn buckets(&self, cuts: Option<&(Cut, Cut)>) -> Buckets {
        if !self.schema.has_epochs() {
            return self.buckets_of(self.schema.salt());
        }
        if self.schema.first_salt().is_some_and(|salt| self.spans.len() < salt.fields_before()) {
            return Buckets::Interleaved;
        }
        let (first, last) = self.epochs(cuts);
        Buckets::OfEpochs { first, last }
    }

    /// The buckets of a salt.
    pub(super) fn buckets_of(&self, salt: Option<&Salt>) -> Buckets {
        let Some(salt) = salt else {
            return Buckets::Unsalted;
        };
        if self.spans.len() < salt.fields_before() {
            return Buckets::Interleaved;
        }
        if salt.over().iter().any(|field| *field >= self.spans.len()) {
            return Buckets::All;
        }
        Buckets::One(bucket_of(salt, &self.bytes, &self.spans, self.schema))
    }

    /// The first and the last epoch that can have rows with these fields, and between two cuts of the next one.
    pub(super) fn epochs(&self, cuts: Option<&(Cut, Cut)>) -> (usize, usize) {
        let time = self.schema.epoch_field();
        if let Some(Span { start, end }) = self.spans.get(time) {
            let epoch = self.schema.epoch_at(&self.bytes[*start..*end]);
            return (epoch, epoch);
        }
        let Some((start, end)) = cuts.filter(|_| self.spans.len() == time) else {
            return self.schema.epochs_between(None, None);
        };
        // Cuts are not escaped yet.
        let stored = |raw: &[u8]| match self.schema.layout() {
            KeyEncoding::Delimited => raw.to_vec(),
            KeyEncoding::OrderedCode => escaped(raw),
        };
        let from = match start {
            Cut::First => None,
            Cut::Before(raw) | Cut::After(raw) | Cut::AfterPrefix(raw) => Some(stored(raw)),
            // No row is after it.
            Cut::Last => None,
        };
        let to = match end {
            Cut::Before(raw) => Some(stored(raw)),
            Cut::After(raw) => Some([&stored(raw)[..], &[0]].concat()),
            Cut::First | Cut::AfterPrefix(_) | Cut::Last => None,
        };
        self.schema.epochs_between(from.as_deref(), to.as_deref())
    }

    /// Replaces `buckets` by those that can hold a row, each once, in order; one is `None` if a request reads keys without
    /// a salt, or all keys.
    pub(super) fn list_buckets(&self, of: Buckets, buckets: &mut Vec<Option<Bucket>>) {
        buckets.clear();
        match of {
            Buckets::OfEpochs { first, last } => {
                for epoch in first..=last {
                    let salt = self.schema.salt_of(epoch);
                    self.add_buckets(self.buckets_of(salt), salt, buckets);
                }
                buckets.sort_unstable();
                buckets.dedup();
            }
            of => self.add_buckets(of, self.schema.salt(), buckets),
        }
    }

    fn add_buckets(&self, of: Buckets, salt: Option<&Salt>, buckets: &mut Vec<Option<Bucket>>) {
        match (of, salt) {
            (Buckets::One(number), Some(salt)) => buckets.push(Some(self.schema.numbered(salt, number))),
            (Buckets::All, Some(salt)) => {
                buckets.extend(salt.buckets().map(|number| Some(self.schema.numbered(salt, number))));
            }
            _ => buckets.push(None),
        }
    }

    /// The encoded fields left of the salt, if all of them are fixed.
    pub(super) fn left(&self) -> &[u8] {
        let fields = self.schema.first_salt().map_or(0, Salt::fields_before);
        let last = fields.checked_sub(1).and_then(|last| self.spans.get(last));
        // The salt is never after the last field, so a delimiter follows.
        last.and_then(|last| self.bytes.get(..=last.end)).unwrap_or_default()
    }

    /// Fails if every key with these fields would be empty or too long.
    pub(super) fn check(&self, buckets: Buckets) -> Result<(), EncodeError> {
        let Buckets::OfEpochs { first, last } = buckets else {
            return self.check_salt(self.schema.salt(), buckets);
        };
        let check = |epoch| {
            let salt = self.schema.salt_of(epoch);
            self.check_salt(salt, self.buckets_of(salt))
        };
        (first + 1..=last)
            .fold(check(first), |checked, epoch| checked.or_else(|error| check(epoch).map_err(|_| error)))
    }

    /// Fails if every key with these fields and this salt would be empty or too long.
    fn check_salt(&self, salt: Option<&Salt>, buckets: Buckets) -> Result<(), EncodeError> {
        if let KeyEncoding::OrderedCode = self.schema.layout() {
            return self.ordered_check(salt, buckets.single());
        }
        let head_len = self.schema.head_len(salt, buckets.single());
        // The shortest key with these fields.
        let len = head_len + self.bytes.len() + self.min_rest_len();
        let is_fully_fixed = self.spans.len() == self.schema.fields().len();
        check_len(self.schema, if is_fully_fixed { len } else { len.max(1) })
    }

    /// An upper bound of the length that [`check`](Self::check) finds, for every bucket and for all fields that are not longer
    /// than these.
    pub(super) fn max_key_len(&self) -> usize {
        let schema = self.schema;
        let of_salt = |salt: Option<&Salt>| match schema.layout() {
            KeyEncoding::Delimited => {
                // The least bucket is the longest: it has the digits of the greatest, and may have a sign.
                let widest = self.buckets_of(salt).single().and(salt).map(|salt| salt.buckets().start);
                schema.head_len(salt, widest) + self.bytes.len() + self.min_rest_len()
            }
            KeyEncoding::OrderedCode => self.ordered_max_key_len(salt),
        };
        schema.salts().map(of_salt).max().unwrap_or_default()
    }

    /// The least length of the fields that are not fixed.
    fn min_rest_len(&self) -> usize {
        let rest = &self.schema.fields()[self.spans.len()..];
        rest.iter().map(|field| field.width().min()).sum::<usize>() + rest.len().saturating_sub(1)
    }

    /// The rows between two cuts of the next field; without cuts, all rows with the fixed fields. In the ordered layout they
    /// begin with the separator that a key has after a salt or a tag.
    pub(super) fn rows(&self, cuts: Option<&(Cut, Cut)>, is_salted: bool) -> RowSelection {
        let is_ordered = matches!(self.schema.layout(), KeyEncoding::OrderedCode);
        let has_head = is_salted || self.schema.tag().is_some();
        if self.spans.len() == self.schema.fields().len() {
            return RowSelection::Key(if is_ordered {
                self.ordered_key(has_head)
            } else {
                self.bytes.clone()
            });
        }
        let position =
            |cut| if is_ordered { self.ordered_position(cut, has_head) } else { self.text_position(cut) };
        let (start, end) = cuts.map_or((&Cut::First, &Cut::Last), |(start, end)| (start, end));
        match (position(start), position(end)) {
            (None, _) => RowSelection::None,
            (Some(start), Some(end)) if end <= start => RowSelection::None,
            (Some(start), end) => RowSelection::Range { start, end },
        }
    }

    /// The position of a cut of the next field, as bytes of a key without tag and salt; `None` is after every key.
    fn text_position(&self, cut: &Cut) -> Option<Vec<u8>> {
        let delimiter = self.schema.delimiter();
        let field = &self.schema.fields()[self.spans.len()];
        let last = self.spans.len() + 1 == self.schema.fields().len();
        let at = |encoding: &[u8]| [&self.bytes, encoding].concat();
        let delimited = !matches!(field.width(), Width::Fixed(_));
        let after = |encoding: &[u8]| match (delimited, last) {
            // With a fixed width, no encoding extends another.
            (false, _) => prefix_end(&at(encoding)),
            (true, true) => Some([&self.bytes, encoding, &[0]].concat()),
            (true, false) => Some([&self.bytes, encoding, &[delimiter + 1]].concat()),
        };
        let encoding = match cut {
            Cut::First => return Some(self.bytes.clone()),
            Cut::Last => return prefix_end(&self.bytes),
            Cut::Before(encoding) | Cut::After(encoding) | Cut::AfterPrefix(encoding) => encoding,
        };
        // A delimited field never contains a forbidden byte. So if a bound contains one, a value is below the bound exactly
        // if it is at or below the bytes before that byte.
        let forbidden = encoding.iter().position(|byte| delimited && *byte <= delimiter);
        match (cut, forbidden) {
            (_, Some(len)) => after(&encoding[..len]),
            (Cut::Before(_), None) => Some(at(encoding)),
            (Cut::AfterPrefix(_), None) => prefix_end(&at(encoding)),
            _ => after(encoding),
        }
    }
}

/// The greatest length of a bucket in the ordered layout: two bytes; the second may be escaped.
const MAX_BUCKET_LEN: usize = 3;

/// The ordered layout. It drops empty fields at the end of a key, so the rows of a fixed prefix begin at the key that is
/// only the prefix, and end after all keys in which a separator follows it.
impl FixedFields {
    /// Fails if the key of only the fixed fields is too long.
    fn ordered_check(&self, salt: Option<&Salt>, bucket: Option<i32>) -> Result<(), EncodeError> {
        // Bucket 0 is one of the shortest.
        let head = self.ordered_head(salt.map(|_| bucket.unwrap_or(0)));
        let has_head = !head.is_empty();
        check_len(self.schema, (head.len() + self.ordered_key(has_head).len()).max(1))
    }

    /// An upper bound of the length of the key of only the fixed fields, for every bucket and with none of them dropped.
    fn ordered_max_key_len(&self, salt: Option<&Salt>) -> usize {
        let head = self.ordered_head(salt.map(|_| 0));
        let bucket = if self.buckets_of(salt).single().is_some() { MAX_BUCKET_LEN } else { 0 };
        head.len() + bucket + ordered_separator(!head.is_empty()).len() + self.bytes.len()
    }

    fn ordered_head(&self, bucket: Option<i32>) -> Vec<u8> {
        let mut head = Vec::new();
        self.schema.write_head(bucket.map(Bucket::unpadded), &[], &mut head);
        head
    }

    /// The key of only the fixed fields, all others empty.
    fn ordered_key(&self, has_head: bool) -> Vec<u8> {
        match ordered_end(&self.bytes, &self.spans) {
            Some(end) => [ordered_separator(has_head), &self.bytes[..end]].concat(),
            None if has_head || self.spans.is_empty() => Vec::new(),
            None => EMPTY.to_vec(),
        }
    }

    /// The position after every key with the fixed fields; `None` for the end of the table.
    fn ordered_range_end(&self, has_head: bool) -> Option<Vec<u8>> {
        match self.spans.last() {
            Some(last) => {
                Some([ordered_separator(has_head), &self.bytes[..last.end], &AFTER_SEPARATOR].concat())
            }
            None => has_head.then(|| AFTER_SEPARATOR.to_vec()),
        }
    }

    fn ordered_position(&self, cut: &Cut, has_head: bool) -> Option<Vec<u8>> {
        let part = |raw: &[u8]| [ordered_separator(has_head), &self.bytes, &escaped(raw)].concat();
        match cut {
            Cut::First => Some(self.ordered_key(has_head)),
            // A row whose other fields are empty ends before the next field.
            Cut::Before(raw) if raw.is_empty() => Some(self.ordered_key(has_head)),
            Cut::Before(raw) => Some(part(raw)),
            Cut::After(raw) => Some([part(raw), AFTER_SEPARATOR.to_vec()].concat()),
            Cut::AfterPrefix(raw) if !raw.is_empty() => prefix_end(&part(raw)),
            Cut::AfterPrefix(_) | Cut::Last => self.ordered_range_end(has_head),
        }
    }
}

/// What separates the head from the first field, if a key has one.
const fn ordered_separator(has_head: bool) -> &'static [u8] {
    if has_head { &SEPARATOR } else { &[] }
}
