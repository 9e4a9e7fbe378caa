//! Random plans, described by keys of the rows that they select.

use std::fmt::Debug;
use std::ops::Bound;

use keyderive::key::OwnedRowKey;
use keyderive::plan::{Plan, PlanError};

/// A key type whose plans can be described by keys.
pub(super) trait Planned: OwnedRowKey + Clone + Debug + PartialEq {
    /// Whether each field is text, from left to right.
    const IS_TEXT: &'static [bool];

    /// The plan that `spec` describes.
    fn plan(spec: &Spec<Self>) -> Result<Plan<Self>, PlanError>;
    /// Whether this key satisfies the constraints of `spec`.
    fn satisfies(&self, spec: &Spec<Self>) -> bool;
    /// A prefix of the text in field `field`, or of something like it.
    fn prefix(&self, field: usize, rng: &mut fastrand::Rng) -> String;
    /// This key with field `field` of `other`.
    fn mixed(self, field: usize, other: &Self) -> Self;
    /// This key with a similar value in field `field`, which need not be in the data.
    fn nudged(self, field: usize, rng: &mut fastrand::Rng) -> Self;
}

/// A plan: the first `fixed` fields are those of `like`, and the next one is in `tail`.
#[derive(Clone, Debug)]
pub(super) struct Spec<K> {
    pub(super) like: K,
    pub(super) fixed: usize,
    pub(super) tail: Tail<K>,
    pub(super) limit: Option<u64>,
}

/// The end of a plan. Of its keys, only the field in question counts.
#[derive(Clone, Debug)]
pub(super) enum Tail<K> {
    Nothing,
    Range(Bound<K>, Bound<K>),
    Prefix(String),
}

impl<K: Planned> Spec<K> {
    /// A plan that selects some rows of `keys`, which are sorted.
    pub(super) fn random(keys: &[K], rng: &mut fastrand::Rng) -> Self {
        let mut like = rng.choice(keys).unwrap().clone();
        // Few fixed fields mean many rows, and long runs.
        let fixed = *rng.choice(DEPTHS).unwrap();
        if fixed > 0 && rng.u8(..6) == 0 {
            // Values that occur, though rarely together.
            like = like.mixed(rng.usize(..fixed), rng.choice(keys).unwrap());
        }
        let mut spec = Self { like, fixed, tail: Tail::Nothing, limit: limit(rng) };
        if let Some(text) = K::IS_TEXT.get(fixed) {
            spec.tail = match rng.u8(0..6) {
                0 => Tail::Nothing,
                1 | 2 if *text => Tail::Prefix(spec.like.prefix(fixed, rng)),
                _ => spec.range(keys, rng),
            };
        }
        spec
    }

    /// A range between values that occur after the fixed fields, or near them.
    fn range(&self, keys: &[K], rng: &mut fastrand::Rng) -> Tail<K> {
        let mut near: Vec<&K> = keys.iter().filter(|key| key.satisfies(self)).collect();
        if near.is_empty() {
            near = keys.iter().collect();
        }
        let mut places = [rng.usize(..near.len()), rng.usize(..near.len())];
        if rng.u8(..8) > 0 {
            places.sort_unstable();
        }
        let [lo, hi] = places.map(|place| match rng.u8(..3) {
            0 => near[place].clone().nudged(self.fixed, rng),
            _ => near[place].clone(),
        });
        Tail::Range(bound(lo, rng), bound(hi, rng))
    }
}

/// How many fields are fixed, of five.
const DEPTHS: &[usize] = &[0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5];

fn bound<K>(value: K, rng: &mut fastrand::Rng) -> Bound<K> {
    match rng.u8(..5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Excluded(value),
        _ => Bound::Included(value),
    }
}

fn limit(rng: &mut fastrand::Rng) -> Option<u64> {
    match rng.u8(..10) {
        0 => Some(0),
        1 => Some(1),
        2 => Some(rng.u64(2..20)),
        3 => Some(rng.u64(20..1000)),
        4 => Some(u64::MAX),
        _ => None,
    }
}

/// A field's value, and values near it.
pub(super) trait Value {
    fn nudged(self, rng: &mut fastrand::Rng) -> Self;
}

impl Value for u8 {
    fn nudged(self, rng: &mut fastrand::Rng) -> Self {
        match rng.u8(..4) {
            0 => self.saturating_sub(1),
            1 => self.saturating_add(1),
            2 => Self::MIN,
            _ => Self::MAX,
        }
    }
}

impl Value for u64 {
    fn nudged(self, rng: &mut fastrand::Rng) -> Self {
        match rng.u8(..4) {
            0 => self.saturating_sub(1),
            1 => self.saturating_add(1),
            2 => Self::MIN,
            _ => Self::MAX,
        }
    }
}

impl Value for String {
    fn nudged(mut self, rng: &mut fastrand::Rng) -> Self {
        match rng.u8(..6) {
            0 => self.clear(),
            1 => drop(self.pop()),
            // Before, at and after the delimiters.
            2 => self.push('\u{1}'),
            3 => self.push('#'),
            4 => self.push('-'),
            _ => self.push('\u{10FFFF}'),
        }
        self
    }
}
