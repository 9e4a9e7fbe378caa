//! Two orders of the same rows: by station, spread over buckets, and by the calendar, after a tag.

use std::cmp::Reverse;
use std::ops::{Bound, RangeBounds as _};

use keyderive::RowKey;
use keyderive::plan::{Plan, PlanError};

use super::data::Line;
use super::spec::{Planned, Spec, Tail, Value as _};

/// A key type of the observations.
pub(super) trait Observed: Planned {
    fn of(line: &Line<'_>) -> Self;
    /// The order of the rows.
    fn rank(&self) -> impl Ord;
}

/// A station's days are spread over the buckets; within a day the newest observation comes first. Days are text,
/// so that a prefix has other rows right beside its own.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 8, over = "origin,date")]
pub(super) struct ByStation {
    origin: String,
    month: u8,
    date: String,
    #[reverse_ts]
    at: u64,
    hour: u8,
}

/// All stations of a day side by side.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "WEATHER", delimiter = '-')]
pub(super) struct ByDay {
    #[pad(2)]
    month: u8,
    #[pad(2)]
    day: u8,
    #[pad(4)]
    origin: String,
    #[pad(2)]
    hour: u8,
    #[pad(13)]
    at: u64,
}

impl Observed for ByStation {
    fn of(line: &Line<'_>) -> Self {
        let Line { origin, year, month, day, hour, .. } = *line;
        let date = format!("{year}-{month:02}-{day:02}");
        Self { origin: origin.to_owned(), month, date, at: line.at(), hour }
    }

    fn rank(&self) -> impl Ord {
        (self.origin.clone(), self.month, self.date.clone(), Reverse(self.at), self.hour)
    }
}

impl Observed for ByDay {
    fn of(line: &Line<'_>) -> Self {
        let Line { origin, month, day, hour, .. } = *line;
        Self { month, day, origin: origin.to_owned(), hour, at: line.at() }
    }

    fn rank(&self) -> impl Ord {
        (self.month, self.day, self.origin.clone(), self.hour, self.at)
    }
}

fn within<T: Ord>(value: &T, lo: Bound<&T>, hi: Bound<&T>) -> bool {
    (lo, hi).contains(value)
}

/// Both meanings of a spec: as a plan, and as a filter.
macro_rules! planned {
    ($key:ident { $($kind:ident $field:ident $range:ident $prefix:ident;)* }) => {
        impl Planned for $key {
            const IS_TEXT: &'static [bool] = &[$(planned!(@$kind)),*];

            #[allow(unused_assignments)] // The last field has no next one.
            fn plan(spec: &Spec<Self>) -> Result<Plan<Self>, PlanError> {
                let mut field = 0;
                let scan = Self::scan();
                $(
                    if spec.fixed == field {
                        return match &spec.tail {
                            Tail::Nothing => scan.into_plan(),
                            Tail::Range(lo, hi) => {
                                let [lo, hi] = [lo, hi].map(|bound| bound.as_ref().map(|key| planned!(@$kind key.$field)));
                                scan.$range((lo, hi)).into_plan()
                            }
                            Tail::Prefix(_prefix) => planned!(@$kind scan $prefix _prefix),
                        };
                    }
                    let scan = scan.$field(planned!(@$kind spec.like.$field));
                    field += 1;
                )*
                scan.into_plan()
            }

            #[allow(unused_assignments)]
            fn satisfies(&self, spec: &Spec<Self>) -> bool {
                let mut field = 0;
                $(
                    if spec.fixed == field {
                        return match &spec.tail {
                            Tail::Nothing => true,
                            Tail::Range(lo, hi) => {
                                let [lo, hi] = [lo, hi].map(|bound| bound.as_ref().map(|key| &key.$field));
                                within(&self.$field, lo, hi)
                            }
                            Tail::Prefix(prefix) => self.$field.to_string().starts_with(prefix),
                        };
                    }
                    if self.$field != spec.like.$field {
                        return false;
                    }
                    field += 1;
                )*
                true
            }

            fn prefix(&self, field: usize, rng: &mut fastrand::Rng) -> String {
                let fields = [$(self.$field.to_string()),*];
                let mut prefix = fields[field].clone();
                match rng.u8(..8) {
                    0 => prefix.nudged(rng),
                    _ => {
                        prefix.truncate(rng.usize(..=prefix.len()));
                        prefix
                    }
                }
            }

            fn mixed(mut self, field: usize, other: &Self) -> Self {
                let names = [$(stringify!($field)),*];
                $(
                    if names[field] == stringify!($field) {
                        self.$field = other.$field.clone();
                    }
                )*
                self
            }

            fn nudged(mut self, field: usize, rng: &mut fastrand::Rng) -> Self {
                let names = [$(stringify!($field)),*];
                $(
                    if names[field] == stringify!($field) {
                        self.$field = self.$field.clone().nudged(rng);
                    }
                )*
                self
            }
        }
    };
    (@text) => { true };
    (@number) => { false };
    (@text $($value:ident).+) => { $($value).+.as_str() };
    (@number $($value:ident).+) => { $($value).+ };
    (@text $scan:ident $method:ident $prefix:ident) => { $scan.$method($prefix).into_plan() };
    (@number $scan:ident $method:ident $prefix:ident) => { panic!("a number has no prefix") };
}

planned! {
    ByStation {
        text origin origin_range origin_prefix;
        number month month_range month_prefix;
        text date date_range date_prefix;
        number at at_range at_prefix;
        number hour hour_range hour_prefix;
    }
}

planned! {
    ByDay {
        number month month_range month_prefix;
        number day day_range day_prefix;
        text origin origin_range origin_prefix;
        number hour hour_range hour_prefix;
        number at at_range at_prefix;
    }
}
