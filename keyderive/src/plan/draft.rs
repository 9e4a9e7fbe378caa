//! A scan while it is being constrained: what the derived builders collect.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::error::PlanError;
use super::explain::Explain;
use super::ordered;
use super::parts::{Buckets, Constraint, Parts, Rows};
use super::range::prefix_end;
use crate::key::{
    Cut, EncodeError, FieldError, KeyField, Layout, PrefixField, RangeField, Salt, Schema, Side, Span, Width,
    bucket_of, check_len, write_field, write_hashed,
};

/// The constraints given so far, from the left; the runtime half of every derived scan builder.
#[derive(Clone, Debug)]
pub struct Draft {
    schema: &'static Schema,
    /// The fixed fields as they stand in a key, each with the delimiter behind it but the key's last.
    fixed: Vec<u8>,
    spans: Vec<Span>,
    /// The cuts that a range or prefix makes in the first field that is not fixed.
    cuts: Option<(Cut, Cut)>,
    constraints: Vec<Constraint>,
    /// The first value that a key cannot hold.
    error: Option<EncodeError>,
}

impl Draft {
    /// A scan of every row of the key type.
    #[must_use]
    pub fn new(schema: &'static Schema) -> Self {
        Self {
            schema,
            fixed: Vec::new(),
            spans: Vec::new(),
            cuts: None,
            constraints: Vec::new(),
            error: None,
        }
    }

    /// Fixes the next field to one value.
    #[must_use]
    pub fn fix<C, T: KeyField<C>>(self, value: T::Arg<'_>) -> Self {
        self.fix_part(&value, |schema, out| write_field::<C, T>(value, schema, out))
    }

    /// Fixes the next field, which is stored as a hash, to one value.
    #[must_use]
    pub fn fix_hashed<C, T: KeyField<C>>(self, value: T::Arg<'_>) -> Self {
        self.fix_part(&value, |schema, out| write_hashed::<C, T>(value, schema, out))
    }

    fn fix_part(
        mut self,
        value: &dyn fmt::Debug,
        write: impl FnOnce(&Schema, &mut Vec<u8>) -> Result<(), FieldError>,
    ) -> Self {
        let start = self.fixed.len();
        let at = self.spans.len();
        if let Err(error) = write(self.schema, &mut self.fixed) {
            let name = self.schema.fields()[at].name();
            self.error.get_or_insert(EncodeError::field(self.schema.key_type(), name, error));
        }
        self.spans.push(Span { start, end: self.fixed.len() });
        if self.spans.len() < self.schema.fields().len() {
            self.fixed.extend_from_slice(self.schema.separator());
        }
        self.constrain(format!("= {value:?}"), at);
        self
    }

    /// Ends the scan with a range over the next field, in the field's own order.
    #[must_use]
    pub fn range<'v, C, T: RangeField<C>>(mut self, range: &impl RangeBounds<T::Arg<'v>>) -> Self {
        let lower = match range.start_bound() {
            Bound::Included(value) => Some(T::cut(*value, Side::Before)),
            Bound::Excluded(value) => Some(T::cut(*value, Side::After)),
            Bound::Unbounded => None,
        };
        let upper = match range.end_bound() {
            Bound::Included(value) => Some(T::cut(*value, Side::After)),
            Bound::Excluded(value) => Some(T::cut(*value, Side::Before)),
            Bound::Unbounded => None,
        };
        // What is least in the field's order comes last in reversed bytes.
        let (start, end) = if T::ORDER.is_reversed() { (upper, lower) } else { (lower, upper) };
        self.cuts = Some((start.unwrap_or(Cut::First), end.unwrap_or(Cut::Last)));
        self.constrain(range_words(range), self.spans.len());
        self
    }

    /// Ends the scan with a prefix of the next field.
    #[must_use]
    pub fn prefix<C, T: PrefixField<C>>(mut self, prefix: T::Arg<'_>) -> Self {
        self.cuts = Some(T::prefix_cuts(prefix));
        self.constrain(format!("begins with {prefix:?}"), self.spans.len());
        self
    }

    fn constrain(&mut self, words: String, field: usize) {
        self.constraints.push(Constraint { field, words });
    }

    /// The plan in words.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    pub fn explain(&self) -> Result<Explain, PlanError> {
        Ok(Explain::new(self.clone().finish()?))
    }

    /// Turns the constraints into what is asked of the table.
    pub(super) fn finish(mut self) -> Result<Parts, PlanError> {
        if let Some(error) = self.error.take() {
            return Err(error.into());
        }
        let buckets = self.buckets();
        let left = self.left().to_vec();
        let rows = self.rows(buckets)?.behind(&left);
        Ok(Parts {
            schema: self.schema,
            left,
            rows,
            buckets,
            fixed: self.spans.len(),
            constraints: self.constraints,
        })
    }

    fn buckets(&self) -> Buckets {
        let Some(salt) = self.schema.salt() else {
            return Buckets::Unsalted;
        };
        if self.spans.len() < salt.fields_left() {
            return Buckets::Interleaved;
        }
        if salt.over().iter().any(|field| *field >= self.spans.len()) {
            return Buckets::All;
        }
        Buckets::One(bucket_of(salt, &self.fixed, &self.spans, self.schema))
    }

    /// The fields left of the salt as they stand in a key, where all of them are fixed.
    fn left(&self) -> &[u8] {
        let fields = self.schema.salt().map_or(0, Salt::fields_left);
        let last = fields.checked_sub(1).and_then(|last| self.spans.get(last));
        // The salt is never behind the last field, so a delimiter is there.
        last.and_then(|last| self.fixed.get(..=last.end)).unwrap_or_default()
    }

    fn rows(&self, buckets: Buckets) -> Result<Rows, EncodeError> {
        let Self { schema, fixed, spans, .. } = self;
        if let Layout::OrderedCode = schema.layout() {
            let bucket = buckets.known();
            return ordered::Fixed { schema, bytes: fixed, spans, bucket }.rows(self.cuts.as_ref());
        }
        let head_len = schema.head_len(buckets.known());
        if spans.len() == schema.fields().len() {
            check_len(schema, head_len + fixed.len())?;
            return Ok(Rows::Key(fixed.clone()));
        }
        // No key begins with these fields where not even the least one does.
        let rest = &schema.fields()[spans.len()..];
        let least = rest.iter().map(|field| field.width().min()).sum::<usize>() + rest.len() - 1;
        check_len(schema, (head_len + fixed.len() + least).max(1))?;
        let (start, end) = match &self.cuts {
            Some((start, end)) => (self.place(start), self.place(end)),
            None => (Some(fixed.clone()), prefix_end(fixed)),
        };
        Ok(match (start, end) {
            (None, _) => Rows::None,
            (Some(start), Some(end)) if end <= start => Rows::None,
            (Some(start), end) => Rows::Range { start, end },
        })
    }

    /// Where a cut in the first field that is not fixed lies in the key, behind tag and salt; none for
    /// behind every key.
    fn place(&self, cut: &Cut) -> Option<Vec<u8>> {
        let delimiter = self.schema.delimiter();
        let field = &self.schema.fields()[self.spans.len()];
        let last = self.spans.len() + 1 == self.schema.fields().len();
        let at = |encoding: &[u8]| [&self.fixed, encoding].concat();
        let delimited = !matches!(field.width(), Width::Fixed(_));
        let behind = |encoding: &[u8]| match (delimited, last) {
            // A fixed width: no encoding extends another.
            (false, _) => prefix_end(&at(encoding)),
            (true, true) => Some([&self.fixed, encoding, &[0]].concat()),
            (true, false) => Some([&self.fixed, encoding, &[delimiter + 1]].concat()),
        };
        let encoding = match cut {
            Cut::First => return Some(self.fixed.clone()),
            Cut::Last => return prefix_end(&self.fixed),
            Cut::Before(encoding) | Cut::After(encoding) | Cut::AfterPrefix(encoding) => encoding,
        };
        // A delimited field never holds these bytes, so all that it holds before such a bound are the
        // bytes up to there, and what is less.
        let forbidden = encoding.iter().position(|byte| delimited && *byte <= delimiter);
        match (cut, forbidden) {
            (_, Some(len)) => behind(&encoding[..len]),
            (Cut::Before(_), None) => Some(at(encoding)),
            (Cut::AfterPrefix(_), None) => prefix_end(&at(encoding)),
            _ => behind(encoding),
        }
    }
}

/// A range as a person writes it: `in 1..=2`, `in 5..`, `in (after 3)..`.
fn range_words<A: fmt::Debug>(range: &impl RangeBounds<A>) -> String {
    let start = match range.start_bound() {
        Bound::Included(value) => format!("{value:?}"),
        Bound::Excluded(value) => format!("(after {value:?})"),
        Bound::Unbounded => String::new(),
    };
    let end = match range.end_bound() {
        Bound::Included(value) => format!("={value:?}"),
        Bound::Excluded(value) => format!("{value:?}"),
        Bound::Unbounded => String::new(),
    };
    format!("in {start}..{end}")
}
