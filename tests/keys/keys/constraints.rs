//! The constraint of one field, in terms of its values and their order.

use std::ops::{Bound, RangeBounds as _};

use fastrand::Rng;

use super::values::Domain;

#[derive(Clone, Debug)]
pub(crate) enum Constraint<V> {
    /// No constraint: the plan ends here or left of here.
    Open,
    Fix(V),
    AnyOf(Vec<V>),
    Range(Bound<V>, Bound<V>),
    Prefix(V),
}

/// How a plan can end at a field.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) range: bool,
    pub(crate) prefix: bool,
}

impl<V: Ord + Clone> Constraint<V> {
    /// How many constraints [`nth_end`](Self::nth_end) has.
    pub(crate) const ENDS: usize = 11;

    /// None, each kind of range from `lo` to `hi`, and the prefix `lo`; `None` if a plan cannot end so.
    pub(crate) fn nth_end(at: usize, lo: &V, hi: &V, ends: Ends) -> Option<Self> {
        let bound = |kind: usize, value: &V| match kind {
            0 => Bound::Included(value.clone()),
            1 => Bound::Excluded(value.clone()),
            _ => Bound::Unbounded,
        };
        match at {
            0 => Some(Self::Open),
            1..10 => ends.range.then(|| Self::Range(bound((at - 1) / 3, lo), bound((at - 1) % 3, hi))),
            _ => ends.prefix.then(|| Self::Prefix(lo.clone())),
        }
    }

    /// A constraint that fixes the field. Most values are `near`, so that rows have them.
    pub(crate) fn fixed<D: Domain<Value = V>>(rng: &mut Rng, near: impl Fn(&mut Rng) -> Option<V>) -> Self {
        let value = |rng: &mut Rng| match rng.u8(..60) {
            0 => D::any(rng),
            1..12 => D::stored(rng),
            _ => near(rng).unwrap_or_else(|| D::stored(rng)),
        };
        if rng.u8(..3) > 0 {
            return Self::Fix(value(rng));
        }
        let mut values: Vec<V> = (0..rng.usize(..4)).map(|_| value(rng)).collect();
        if rng.u8(..4) == 0 {
            values.extend(values.first().cloned());
        }
        Self::AnyOf(values)
    }

    /// A constraint that ends a plan.
    pub(crate) fn last<D: Domain<Value = V>>(
        rng: &mut Rng,
        near: impl Fn(&mut Rng) -> Option<V>,
        ends: Ends,
    ) -> Self {
        let value = |rng: &mut Rng| match rng.u8(..4) {
            0 => D::any(rng),
            1 => D::stored(rng),
            _ => near(rng).unwrap_or_else(|| D::stored(rng)),
        };
        let bound = |rng: &mut Rng| match rng.u8(..5) {
            0 | 1 => Bound::Included(value(rng)),
            2 | 3 => Bound::Excluded(value(rng)),
            _ => Bound::Unbounded,
        };
        match rng.u8(..8) {
            0 | 1 => Self::Open,
            2 | 3 if ends.prefix => Self::Prefix(value(rng)),
            _ if ends.range => {
                let (lower, upper) = (bound(rng), bound(rng));
                match (&lower, &upper) {
                    // Most are not inverted.
                    (
                        Bound::Included(one) | Bound::Excluded(one),
                        Bound::Included(other) | Bound::Excluded(other),
                    ) if one > other && rng.u8(..6) > 0 => Self::Range(upper, lower),
                    _ => Self::Range(lower, upper),
                }
            }
            _ => Self::Open,
        }
    }

    /// Whether this value satisfies the constraint.
    pub(crate) fn admits<D: Domain<Value = V>>(&self, value: &V) -> bool {
        match self {
            Self::Open => true,
            Self::Fix(fixed) => D::rounded(fixed) == *value,
            Self::AnyOf(values) => values.iter().any(|fixed| D::rounded(fixed) == *value),
            Self::Range(lower, upper) => (lower.as_ref(), upper.as_ref()).contains(value),
            Self::Prefix(prefix) => D::begins(value, prefix),
        }
    }

    /// Whether it fixes the field to a value that no key can hold, which is an error of the plan.
    pub(crate) fn is_refused<D: Domain<Value = V>>(&self) -> bool {
        match self {
            Self::Fix(value) => !D::holds(value),
            Self::AnyOf(values) => values.iter().any(|value| !D::holds(value)),
            Self::Open | Self::Range(..) | Self::Prefix(_) => false,
        }
    }

    /// Whether the constraint fixes the field, to one value or several.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Self::Fix(_) | Self::AnyOf(_))
    }
}
