//! The features of the list, and which two of them have met.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

macro_rules! features {
    ($($name:ident $words:literal,)*) => {
        /// A feature of the library that meets others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Feature {
            $($name,)*
        }

        impl Feature {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];
        }

        impl fmt::Display for Feature {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$name => $words,)*
                })
            }
        }
    };
}

features! {
    Filters "conditions and filters",
    Expiry "`ttl` and expiry",
    Aliases "aliases",
    Versions "versions",
    Aggregates "aggregates",
    Maps "maps and optional families",
    Epochs "epochs",
    SaltFirst "a salt before the fields",
    SaltBeforeTag "a salt before the tag",
    SaltAfter "a salt after a field",
    Pages "pages",
    Partitions "partitions",
    Reversed "reversed order",
    Load "a load",
    NewRows "a load of new rows",
    IfAbsent "a load of absent rows",
    AddSums "a load that adds to sums",
    Copy "a copy",
    Diff "a comparison",
    ByKeys "re-keying by keys",
    ByRows "re-keying by rows",
    TwoTypes "two row types",
    Micros "microseconds",
    Clocks "other clocks",
}

/// What a read makes of the rows: it meets a condition only where the condition asks for it.
const OF_ROWS: [Feature; 5] =
    [Feature::Expiry, Feature::Aliases, Feature::Versions, Feature::Aggregates, Feature::Maps];

/// Features of which no two meet, and why.
pub(crate) const APART: &[(&[Feature], &[Feature], &str)] = &[
    (
        &[Feature::Aggregates, Feature::AddSums],
        &[Feature::ByKeys, Feature::ByRows],
        "tables with aggregates are not re-keyed, which `tests/rekeying/refusals.rs` tests",
    ),
    (&[Feature::ByKeys], &[Feature::ByRows], "a re-keying makes its keys of keys or of rows"),
    (
        &[Feature::Diff],
        &[Feature::Filters, Feature::Pages, Feature::Partitions, Feature::Reversed],
        "a comparison takes all cells of all rows, and returns no rows",
    ),
];

/// Why two features do not meet; none if they do.
pub(crate) fn apart(one: Feature, other: Feature) -> Option<&'static str> {
    let is = |these: &[Feature], those: &[Feature]| these.contains(&one) && those.contains(&other);
    let mut apart = APART.iter().filter(|(these, those, _)| is(these, those) || is(those, these));
    apart.next().map(|(_, _, reason)| *reason)
}

/// A set of features.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Features(u32);

impl Features {
    pub(crate) fn contains(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u32) != 0
    }

    pub(crate) fn insert(&mut self, feature: Feature) {
        self.0 |= 1 << feature as u32;
    }

    pub(crate) fn insert_if(&mut self, is: bool, feature: Feature) {
        if is {
            self.insert(feature);
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |feature| self.contains(*feature))
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        let mut all = Self::default();
        features.into_iter().for_each(|feature| all.insert(feature));
        all
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// How many reads looked at each two features at once.
#[derive(Default)]
pub(crate) struct Met {
    pairs: BTreeMap<(Feature, Feature), u64>,
    /// The states of re-keyings.
    pub(crate) states: BTreeSet<String>,
}

impl Met {
    /// Counts the pairs of a read that was compared with the model. `asked` are the features of rows that its condition is about.
    pub(crate) fn count(&mut self, features: Features, asked: Features) {
        for one in features.iter() {
            for other in features.iter().filter(|other| one < *other) {
                if one != Feature::Filters || !OF_ROWS.contains(&other) || asked.contains(other) {
                    *self.pairs.entry((one, other)).or_default() += 1;
                }
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (pair, reads) in other.pairs {
            *self.pairs.entry(pair).or_default() += reads;
        }
        self.states.extend(other.states);
    }

    pub(crate) fn reads(&self, one: Feature, other: Feature) -> u64 {
        self.pairs.get(&(one.min(other), one.max(other))).copied().unwrap_or_default()
    }
}
