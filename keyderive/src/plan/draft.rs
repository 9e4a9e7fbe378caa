//! A scan while it is being constrained: what the derived builders collect.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::error::PlanError;
use super::explain::{Explain, ExplainOptions};
use super::listed::{Listed, WriteListed};
use super::selection::{Constraint, Selection};
use crate::key::{
    Cut, EncodeError, FieldError, KeyField, PrefixField, RangeField, Schema, Side, write_field, write_hashed,
};

/// How many values of an `any_of` are shown before the rest is counted.
const SHOWN_VALUES: usize = 8;

/// The constraints given so far, from the left; the runtime half of every derived scan builder.
#[derive(Clone, Debug)]
pub struct Draft {
    selection: Selection,
    /// The first value that a key cannot hold.
    error: Option<EncodeError>,
}

impl Draft {
    /// A scan of every row of the key type.
    #[must_use]
    pub fn new(schema: &'static Schema) -> Self {
        Self { selection: Selection::full(schema), error: None }
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
        let Self { selection, error } = &mut self;
        let (schema, field) = (selection.schema, selection.fixed());
        if let Err(fault) = selection.encodings.push(|out| write(schema, out)) {
            error.get_or_insert(field_error(schema, field, fault));
        }
        self.constrain(format!("= {value:?}"), field);
        self
    }

    /// Fixes the next field to each of several values.
    #[must_use]
    pub fn any_of<C, T: KeyField<C>, How>(self, values: impl IntoIterator<Item: Listed<C, T, How>>) -> Self {
        self.any_of_parts(values, |value, words, schema, out| {
            value.write_by(PartWriter::<false> { words, schema, out })
        })
    }

    /// Fixes the next field, which is stored as a hash, to each of several values.
    #[must_use]
    pub fn any_of_hashed<C, T: KeyField<C>, How>(
        self,
        values: impl IntoIterator<Item: Listed<C, T, How>>,
    ) -> Self {
        self.any_of_parts(values, |value, words, schema, out| {
            value.write_by(PartWriter::<true> { words, schema, out })
        })
    }

    fn any_of_parts<V>(
        mut self,
        values: impl IntoIterator<Item = V>,
        write: impl Fn(V, &mut ListWords, &Schema, &mut Vec<u8>) -> Result<(), FieldError>,
    ) -> Self {
        let Self { selection, error } = &mut self;
        let (schema, field) = (selection.schema, selection.fixed());
        let (mut words, mut encodings) = (ListWords::default(), Vec::new());
        for value in values {
            let mut encoding = Vec::new();
            match write(value, &mut words, schema, &mut encoding) {
                Ok(()) => encodings.push(encoding),
                Err(fault) => _ = error.get_or_insert(field_error(schema, field, fault)),
            }
        }
        selection.encodings.push_all(encodings);
        self.constrain(words.finish(), field);
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
        self.selection.cuts = Some((start.unwrap_or(Cut::First), end.unwrap_or(Cut::Last)));
        self.constrain(range_words(range), self.selection.fixed());
        self
    }

    /// Ends the scan with a prefix of the next field.
    #[must_use]
    pub fn prefix<C, T: PrefixField<C>>(mut self, prefix: T::Arg<'_>) -> Self {
        self.selection.cuts = Some(T::prefix_cuts(prefix));
        self.constrain(format!("begins with {prefix:?}"), self.selection.fixed());
        self
    }

    fn constrain(&mut self, words: String, field: usize) {
        self.selection.constraints.push(Constraint { field, words });
    }

    /// The plan in words.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    pub fn explain(&self) -> Result<Explain, PlanError> {
        Ok(Explain::of(&self.clone().finish()?, ExplainOptions::default()))
    }

    /// Turns the constraints into what is asked of the table.
    pub(super) fn finish(self) -> Result<Selection, PlanError> {
        match self.error {
            Some(error) => Err(error.into()),
            None => self.selection.check().map(|()| self.selection),
        }
    }
}

#[cold]
fn field_error(schema: &Schema, field: usize, error: FieldError) -> EncodeError {
    EncodeError::field(schema.key_type(), schema.fields()[field].name(), error)
}

/// A list as a person writes it: `in [1, 2 and 7 more]`.
#[derive(Default)]
struct ListWords {
    values: String,
    count: usize,
}

impl ListWords {
    fn push(&mut self, value: &dyn fmt::Debug) {
        if self.count < SHOWN_VALUES {
            self.values += &format!("{}{value:?}", if self.count > 0 { ", " } else { "" });
        }
        self.count += 1;
    }

    fn finish(self) -> String {
        let Self { values, count } = self;
        match count.saturating_sub(SHOWN_VALUES) {
            0 => format!("in [{values}]"),
            more => format!("in [{values} and {more} more]"),
        }
    }
}

/// Writes the values of a list as parts of a key, or their hashes.
struct PartWriter<'a, const HASHED: bool> {
    words: &'a mut ListWords,
    schema: &'a Schema,
    out: &'a mut Vec<u8>,
}

impl<C, T: KeyField<C>, const HASHED: bool> WriteListed<C, T> for PartWriter<'_, HASHED> {
    fn write(self, value: T::Arg<'_>) -> Result<(), FieldError> {
        let Self { words, schema, out } = self;
        words.push(&value);
        if HASHED {
            write_hashed::<C, T>(value, schema, out)
        } else {
            write_field::<C, T>(value, schema, out)
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
