//! What a plan selects, the same for all key types.

use std::borrow::Cow;

use super::encodings::{Choice, Encodings};
use super::error::PlanError;
use super::fixed::{Buckets, FixedFields, Rows};
use super::position::Position;
use super::range::KeyRange;
use super::request_batches::RequestBatches;
use crate::key::ordered::{BEHIND, SEPARATOR};
use crate::key::{Cut, Layout, MAX_KEY_LEN, Schema, check_len};

/// How many choices are checked one by one for their length. Where there are more, of keys within some bytes of the
/// limit, the longest one that there might be is taken for one that there is.
const CHECKED_CHOICES: u64 = 1 << 16;

/// A plan without its key type.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) schema: &'static Schema,
    pub(super) encodings: Encodings,
    /// The cuts that a range or prefix makes in the first field that is not fixed.
    pub(super) cuts: Option<(Cut, Cut)>,
    pub(super) constraints: Vec<Constraint>,
    /// The stored keys that are looked at: all of them, unless the plan is a part of another.
    pub(super) window: Option<KeyRange>,
    /// Behind which row the scan goes on, in the order of the scan.
    pub(super) after: Option<Position>,
}

/// A constraint in the words of its field's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Constraint {
    pub(super) field: usize,
    pub(super) words: String,
}

impl Selection {
    /// Every row of a key type.
    pub(super) fn full(schema: &'static Schema) -> Self {
        let encodings = Encodings::default();
        Self { schema, encodings, cuts: None, constraints: Vec::new(), window: None, after: None }
    }

    /// The byte prefixes that hold the selected rows and nothing else, one for each bucket, none of them empty.
    ///
    /// Fixed fields end on a delimiter or a width, so that no other value's rows begin so. A range's rows have no
    /// prefix, and neither have those of the ordered layout where the next field may be empty and dropped.
    pub(super) fn prefixes(&self) -> Option<Vec<Vec<u8>>> {
        let plain = self.cuts.is_none() && self.window.is_none() && self.after.is_none();
        if !plain || self.is_whole() || self.encodings.choices() != 1 || !self.is_ordered() {
            return None;
        }
        let next = self.schema.fields().get(self.fixed())?;
        if self.schema.layout() == Layout::OrderedCode && next.width().min() == 0 {
            return None;
        }
        let ranges = self.batches(false).flatten().flat_map(|request| request.into_rows().1);
        let prefix = |range: KeyRange| match self.schema.layout() {
            Layout::Delimited => Some(range.start().to_vec()).filter(|prefix| !prefix.is_empty()),
            // The start has dropped empty fields, which all rows have, since a field that is never empty is after.
            Layout::OrderedCode => Some([range.end()?.strip_suffix(&BEHIND)?, &SEPARATOR].concat()),
        };
        let prefixes: Option<Vec<_>> = ranges.map(prefix).collect();
        prefixes.filter(|prefixes| !prefixes.is_empty())
    }

    /// Fails where some choice of the fixed values makes no key.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let mut fixed = FixedFields::new(self.schema);
        let longest = self.encodings.prefer(|one, other| one.len() > other.len());
        let shortest = self.encodings.prefer(|one, other| one.len() < other.len());
        if self.encodings.is_empty() {
            return Ok(());
        }
        for choice in [&shortest, &longest] {
            fixed.assemble(&self.encodings, choice);
            fixed.check(fixed.buckets())?;
        }
        if self.encodings.choices() > 1 && fixed.bound() > MAX_KEY_LEN {
            return self.check_each(fixed);
        }
        Ok(())
    }

    /// Checks choice after choice, where the longest fields make a key that is short enough, and others may not: their
    /// bucket may be written in more bytes, or they may end in fewer fields that are dropped.
    fn check_each(&self, mut fixed: FixedFields) -> Result<(), PlanError> {
        if self.encodings.choices() > CHECKED_CHOICES {
            return Ok(check_len(self.schema, fixed.bound())?);
        }
        let mut next = Choice::first(&self.encodings, false);
        while let Some(mut choice) = next.take() {
            fixed.assemble(&self.encodings, &choice);
            fixed.check(fixed.buckets())?;
            next = choice.advance(&self.encodings, false).then_some(choice);
        }
        Ok(())
    }

    /// How many fields are fixed.
    pub(super) fn fixed(&self) -> usize {
        self.encodings.fields()
    }

    /// Whether every field is fixed, so that only whole keys are asked for.
    pub(super) fn is_whole(&self) -> bool {
        self.fixed() == self.schema.fields().len()
    }

    /// The buckets that the first choice can be in; none where there is no choice.
    pub(super) fn buckets(&self) -> Option<Buckets> {
        let mut fixed = FixedFields::new(self.schema);
        fixed.assemble(&self.encodings, &Choice::first(&self.encodings, false)?);
        Some(fixed.buckets())
    }

    /// Whether rows come in the order of their fields. Where a field left of the salt is not fixed, there is only the
    /// order of the stored keys.
    pub(super) fn is_ordered(&self) -> bool {
        self.schema.salt().is_none_or(|salt| self.fixed() >= salt.fields_before())
    }

    /// Whether the constraints exclude each other, whatever the fixed values are.
    pub(super) fn excludes_all(&self) -> bool {
        let Some(cuts) = &self.cuts else {
            return self.encodings.is_empty();
        };
        let Some(choice) = Choice::first(&self.encodings, false) else {
            return true;
        };
        let mut fixed = FixedFields::new(self.schema);
        fixed.assemble(&self.encodings, &choice);
        // The cuts are the same after each choice.
        matches!(fixed.rows(Some(cuts)).after(fixed.left()), Rows::None)
    }

    /// Whether no row can satisfy the constraints.
    pub(super) fn is_empty(&self) -> bool {
        self.batches(false).asks_nothing()
    }

    /// The part whose rows are stored in a range of row keys. It shares the values of the whole, and has those alone
    /// that the range can hold, so that the parts of a long list are not each as long.
    pub(super) fn within(&self, range: &KeyRange) -> Self {
        let window = match &self.window {
            Some(window) => window.intersection(range),
            None => range.clone(),
        };
        let ends = RequestBatches::new(Cow::Borrowed(self), false).ends_in(&window);
        let encodings = self.encodings.clone().between(ends);
        Self { encodings, window: Some(window), ..self.clone() }
    }

    /// What is asked of the table, in the order of the scan.
    pub(super) fn batches(&self, reversed: bool) -> RequestBatches<'_> {
        RequestBatches::new(Cow::Borrowed(self), reversed)
    }

    /// As [`batches`](Self::batches), for a scan that outlives the plan.
    #[cfg(feature = "client")]
    pub(super) fn into_batches(self, reversed: bool) -> RequestBatches<'static> {
        RequestBatches::new(Cow::Owned(self), reversed)
    }
}
