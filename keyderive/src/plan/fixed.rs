//! Where the rows of fixed fields lie: one choice of their encodings, put together as it stands in a key.

use super::encodings::{Choice, Encodings};
use super::ordered;
use super::range::{KeyRange, prefix_end};
use crate::key::{Cut, EncodeError, Layout, Salt, Schema, Span, Width, bucket_of, check_len};

/// The fixed fields of a scan, as they stand in a key after the tag and the salt.
#[derive(Clone, Debug)]
pub(super) struct FixedFields {
    pub(super) schema: &'static Schema,
    /// Each field with the separator after it, but the key's last one.
    pub(super) bytes: Vec<u8>,
    pub(super) spans: Vec<Span>,
}

/// The rows of one bucket, by what stands in their keys after the tag, the salt and the fields left of it.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// The row with this key.
    Key(Vec<u8>),
    /// The rows from `start` to before `end`, or to the end of the bucket.
    Range { start: Vec<u8>, end: Option<Vec<u8>> },
    /// No row: the constraints exclude each other.
    None,
}

/// The buckets that can hold a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buckets {
    /// The key type has no salt.
    Unsalted,
    /// All salted fields are fixed, so their bucket is known.
    One(i32),
    /// Every one.
    All,
    /// Every one, in the order of the stored keys: a field left of the salt is not fixed, so each of its
    /// values begins with the first bucket again.
    Interleaved,
}

impl Buckets {
    /// The bucket, where only one can hold a row.
    pub(super) fn known(self) -> Option<i32> {
        match self {
            Self::One(bucket) => Some(bucket),
            Self::Unsalted | Self::All | Self::Interleaved => None,
        }
    }
}

impl Rows {
    /// The same rows by what stands after `left`, which all their keys begin with.
    pub(super) fn after(self, left: &[u8]) -> Self {
        let after = |key: Vec<u8>| key.strip_prefix(left).map(<[u8]>::to_vec);
        match self {
            rows if left.is_empty() => rows,
            Self::Key(key) => after(key).map_or(Self::None, Self::Key),
            Self::Range { start, end } => match after(start) {
                // An end that does not begin so is after all keys that do.
                Some(start) => Self::Range { start, end: end.and_then(after) },
                None => Self::None,
            },
            Self::None => Self::None,
        }
    }

    /// Whether some key between the bounds of these rows can be in a range that is open on one side. The bounds are
    /// compared as they are, longer than any key too, so that this goes by their order.
    pub(super) fn reach_into(&self, range: &KeyRange) -> bool {
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
    pub(super) fn new(schema: &'static Schema) -> Self {
        Self { schema, bytes: Vec::new(), spans: Vec::new() }
    }

    /// Puts the chosen encodings together.
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

    pub(super) fn buckets(&self) -> Buckets {
        let Some(salt) = self.schema.salt() else {
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

    /// The fields left of the salt as they stand in a key, where all of them are fixed.
    pub(super) fn left(&self) -> &[u8] {
        let fields = self.schema.salt().map_or(0, Salt::fields_before);
        let last = fields.checked_sub(1).and_then(|last| self.spans.get(last));
        // The salt is never after the last field, so a delimiter is there.
        last.and_then(|last| self.bytes.get(..=last.end)).unwrap_or_default()
    }

    /// Fails where no key has these fields, since it would be empty or too long.
    pub(super) fn check(&self, buckets: Buckets) -> Result<(), EncodeError> {
        if let Layout::OrderedCode = self.schema.layout() {
            return ordered::check(self, buckets.known());
        }
        let head_len = self.schema.head_len(buckets.known());
        // No key begins with these fields where not even the least one does.
        let len = head_len + self.bytes.len() + self.least_rest();
        let is_whole = self.spans.len() == self.schema.fields().len();
        check_len(self.schema, if is_whole { len } else { len.max(1) })
    }

    /// At most how long a key is that [`check`](Self::check) would find, whatever its bucket and of whatever fields,
    /// where none of them is longer than this one.
    pub(super) fn bound(&self) -> usize {
        let schema = self.schema;
        match schema.layout() {
            Layout::Delimited => {
                // The least bucket has a sign, where any has one, and as many digits as the greatest.
                let widest = self.buckets().known().and(schema.salt()).map(|salt| salt.buckets().start);
                schema.head_len(widest) + self.bytes.len() + self.least_rest()
            }
            Layout::OrderedCode => ordered::bound(self),
        }
    }

    /// The least length of what stands after the fixed fields.
    fn least_rest(&self) -> usize {
        let rest = &self.schema.fields()[self.spans.len()..];
        rest.iter().map(|field| field.width().min()).sum::<usize>() + rest.len().saturating_sub(1)
    }

    /// The rows between two cuts of the next field, or of all that the fixed fields leave open.
    pub(super) fn rows(&self, cuts: Option<&(Cut, Cut)>) -> Rows {
        if let Layout::OrderedCode = self.schema.layout() {
            return ordered::rows(self, cuts);
        }
        if self.spans.len() == self.schema.fields().len() {
            return Rows::Key(self.bytes.clone());
        }
        let (start, end) = match cuts {
            Some((start, end)) => (self.place(start), self.place(end)),
            None => (Some(self.bytes.clone()), prefix_end(&self.bytes)),
        };
        match (start, end) {
            (None, _) => Rows::None,
            (Some(start), Some(end)) if end <= start => Rows::None,
            (Some(start), end) => Rows::Range { start, end },
        }
    }

    /// Where a cut in the first field that is not fixed lies in the key, after tag and salt; none for
    /// after every key.
    fn place(&self, cut: &Cut) -> Option<Vec<u8>> {
        let delimiter = self.schema.delimiter();
        let field = &self.schema.fields()[self.spans.len()];
        let last = self.spans.len() + 1 == self.schema.fields().len();
        let at = |encoding: &[u8]| [&self.bytes, encoding].concat();
        let delimited = !matches!(field.width(), Width::Fixed(_));
        let after = |encoding: &[u8]| match (delimited, last) {
            // A fixed width: no encoding extends another.
            (false, _) => prefix_end(&at(encoding)),
            (true, true) => Some([&self.bytes, encoding, &[0]].concat()),
            (true, false) => Some([&self.bytes, encoding, &[delimiter + 1]].concat()),
        };
        let encoding = match cut {
            Cut::First => return Some(self.bytes.clone()),
            Cut::Last => return prefix_end(&self.bytes),
            Cut::Before(encoding) | Cut::After(encoding) | Cut::AfterPrefix(encoding) => encoding,
        };
        // A delimited field never holds these bytes, so all that it holds before such a bound are the
        // bytes up to there, and what is less.
        let forbidden = encoding.iter().position(|byte| delimited && *byte <= delimiter);
        match (cut, forbidden) {
            (_, Some(len)) => after(&encoding[..len]),
            (Cut::Before(_), None) => Some(at(encoding)),
            (Cut::AfterPrefix(_), None) => prefix_end(&at(encoding)),
            _ => after(encoding),
        }
    }
}
