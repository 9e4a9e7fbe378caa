//! The constraints of a plan, without its key type: the encodings of the fixed fields, and the cuts of the next one.

use std::collections::BTreeSet;

use super::encodings::{Choice, Encodings};
use super::error::PlanError;
use super::fixed::{Buckets, FixedFields, RowSelection};
use super::position::Position;
use super::request::KeyRange;
use crate::key::{Cut, KeySchema, MAX_KEY_LEN, check_len};

/// How many choices are checked one by one for their length. If there are more, and the bound of their lengths is over
/// the limit, the plan is rejected.
const MAX_CHECKED_CHOICES: u64 = 1 << 16;

/// A plan without its key type.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) schema: &'static KeySchema,
    pub(super) encodings: Encodings,
    /// The cuts that a range or prefix makes in the first field that is not fixed.
    pub(super) cuts: Option<(Cut, Cut)>,
    pub(super) constraints: Vec<Constraint>,
    /// The range of stored keys that the plan is limited to, if it is a part of another.
    pub(super) window: Option<KeyRange>,
    /// The rows to resume after: at most one of a scan in each direction.
    pub(super) after: Vec<Position>,
}

/// A constraint in words, for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Constraint {
    pub(super) field: usize,
    pub(super) words: String,
}

impl Selection {
    /// All rows of a key type.
    pub(super) fn full(schema: &'static KeySchema) -> Self {
        let encodings = Encodings::default();
        Self { schema, encodings, cuts: None, constraints: Vec::new(), window: None, after: Vec::new() }
    }

    /// Limits it to the rows after a position.
    pub(super) fn resume_after(&mut self, position: Position) {
        match self.after.iter_mut().find(|after| after.is_reversed() == position.is_reversed()) {
            Some(after) if position.is_further_than(after) => *after = position,
            Some(_) => {}
            None => self.after.push(position),
        }
    }

    /// Fails if some choice of the fixed values makes a key that is empty or too long.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        let mut fixed = FixedFields::new(self.schema);
        let longest = self.encodings.choose(|one, other| one.len() > other.len());
        let shortest = self.encodings.choose(|one, other| one.len() < other.len());
        if self.encodings.is_empty() {
            return Ok(());
        }
        for choice in [&shortest, &longest] {
            fixed.assemble(&self.encodings, choice);
            fixed.check(fixed.buckets(self.cuts.as_ref()))?;
        }
        if self.encodings.choices() > 1 && fixed.max_key_len() > MAX_KEY_LEN {
            return self.check_each(fixed);
        }
        Ok(())
    }

    /// Checks every choice: if the key of the longest values is short enough, others may still be too long, since their
    /// bucket may take more bytes, or they may drop fewer empty fields.
    fn check_each(&self, mut fixed: FixedFields) -> Result<(), PlanError> {
        if self.encodings.choices() > MAX_CHECKED_CHOICES {
            return Ok(check_len(self.schema, fixed.max_key_len())?);
        }
        let mut next = Choice::first(&self.encodings, false);
        while let Some(mut choice) = next.take() {
            fixed.assemble(&self.encodings, &choice);
            fixed.check(fixed.buckets(self.cuts.as_ref()))?;
            next = choice.advance(&self.encodings, false).then_some(choice);
        }
        Ok(())
    }

    /// How many fields are fixed.
    pub(super) fn fixed(&self) -> usize {
        self.encodings.fields()
    }

    /// Whether every field is fixed, so that requests have only row keys.
    pub(super) fn is_fully_fixed(&self) -> bool {
        self.fixed() == self.schema.fields().len()
    }

    /// The buckets of the first choice; `None` if there is no choice.
    pub(super) fn buckets(&self) -> Option<Buckets> {
        let mut fixed = FixedFields::new(self.schema);
        fixed.assemble(&self.encodings, &Choice::first(&self.encodings, false)?);
        Some(fixed.buckets(self.cuts.as_ref()))
    }

    /// How many keys and ranges the requests of a whole plan have at most; `None` for a part of another plan, which has fewer.
    pub(super) fn row_items(&self) -> Option<u64> {
        let choices = self.encodings.choices();
        if self.window.is_some() || !self.after.is_empty() || choices <= 1 {
            return None;
        }
        let mut fixed = FixedFields::new(self.schema);
        fixed.assemble(&self.encodings, &Choice::first(&self.encodings, false)?);
        let mut buckets = Vec::new();
        fixed.list_buckets(fixed.buckets(self.cuts.as_ref()), &mut buckets);
        Some(choices.saturating_mul(buckets.len() as u64))
    }

    /// The epochs that can have rows.
    pub(super) fn epochs(&self) -> BTreeSet<usize> {
        let time = self.schema.epoch_field();
        if time < self.fixed() {
            return self.encodings.all(time).map(|stored| self.schema.epoch_at(stored)).collect();
        }
        let mut fixed = FixedFields::new(self.schema);
        if let Some(choice) = Choice::first(&self.encodings, false) {
            fixed.assemble(&self.encodings, &choice);
        }
        let (first, last) = fixed.epochs(self.cuts.as_ref().filter(|_| time == self.fixed()));
        (first..=last).collect()
    }

    /// Whether rows can be read in the order of their fields. If a field left of the salt is not fixed, they come in the
    /// order of the stored keys.
    pub(super) fn is_ordered(&self) -> bool {
        self.schema.first_salt().is_none_or(|salt| self.fixed() >= salt.fields_before())
    }

    /// Whether the constraints exclude each other, for all fixed values.
    pub(super) fn excludes_all(&self) -> bool {
        let Some(cuts) = &self.cuts else {
            return self.encodings.is_empty();
        };
        let Some(choice) = Choice::first(&self.encodings, false) else {
            return true;
        };
        let mut fixed = FixedFields::new(self.schema);
        fixed.assemble(&self.encodings, &choice);
        // The cuts are the same for each choice, with a salt and without.
        matches!(fixed.rows(Some(cuts), true).without_left(fixed.left()), RowSelection::None)
    }
}
