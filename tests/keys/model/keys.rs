//! The key types of the model, and their plans and orders in terms of their values.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::SystemTime;

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::dynamic::{DynKey, KeyLayout};
use keyderive::key::OwnedRowKey;
use keyderive::plan::{Plan, PlanError};

use super::constraints::{Constraint, Ends};
use super::values::*;

/// A key type that the model understands without its encoding.
pub(crate) trait ModelKey: OwnedRowKey + Clone + Debug + PartialEq + Sync {
    /// How many fields are left of the salt.
    const LEFT: usize;

    /// A constraint for each field.
    type Constraints: Clone + Debug + Send;

    /// A key that can be stored.
    fn random(rng: &mut Rng) -> Self;

    /// Another key, with the first fields of this one.
    fn beside(&self, rng: &mut Rng) -> Self;

    /// Constraints that some of these keys often satisfy.
    fn constraints(rng: &mut Rng, keys: &[Self]) -> Self::Constraints;

    /// Whether a key satisfies them.
    fn satisfies(&self, constraints: &Self::Constraints) -> bool;

    /// Whether some field is fixed to a value that no key can hold.
    fn is_refused(constraints: &Self::Constraints) -> bool;

    /// How many fields are fixed.
    fn fixed(constraints: &Self::Constraints) -> usize;

    /// The library's plan for these constraints.
    fn plan(constraints: &Self::Constraints) -> Result<Plan<Self>, PlanError>;

    /// The plan of the same layout as data, by the names of the fields.
    fn plan_from_data(constraints: &Self::Constraints) -> Result<Plan<DynKey>, PlanError>;

    /// The logical order.
    fn order(&self, other: &Self) -> Ordering;
}

macro_rules! model_keys {
    ($(
        $(#[$attribute:meta])*
        $key:ident, $left:literal left of the salt {
            $($(#[$of_field:meta])* $field:ident: $type:ty = $domain:ty, $kind:ident $any:ident $range:ident $prefix:ident;)*
        }
    )*) => {$(
        #[derive(RowKey, Clone, Debug, PartialEq)]
        $(#[$attribute])*
        pub(crate) struct $key {
            $($(#[$of_field])* pub(crate) $field: $type,)*
        }

        impl ModelKey for $key {
            const LEFT: usize = $left;

            type Constraints = ($(Constraint<$type>,)*);

            fn random(rng: &mut Rng) -> Self {
                Self { $($field: <$domain>::stored(rng),)* }
            }

            fn beside(&self, rng: &mut Rng) -> Self {
                let mut kept = rng.usize(..=Self::SCHEMA.fields().len());
                let mut next = || {
                    kept = kept.saturating_sub(1);
                    kept > 0
                };
                Self { $($field: if next() { self.$field.clone() } else { <$domain>::stored(rng) },)* }
            }

            fn constraints(rng: &mut Rng, keys: &[Self]) -> Self::Constraints {
                let fixed = rng.usize(..=Self::SCHEMA.fields().len());
                let pick = |rng: &mut Rng| (!keys.is_empty()).then(|| &keys[rng.usize(..keys.len())]);
                let base = pick(rng);
                let mut at = 0;
                $(
                    let near = |rng: &mut Rng| {
                        let key = if rng.u8(..4) > 0 { base } else { pick(rng) };
                        key.map(|key| key.$field.clone())
                    };
                    let $field = match at.cmp(&fixed) {
                        Ordering::Less => Constraint::fixed::<$domain>(rng, near),
                        Ordering::Equal => Constraint::last::<$domain>(rng, near, ends!($kind)),
                        Ordering::Greater => Constraint::Open,
                    };
                    at += 1;
                )*
                let _ = at;
                ($($field,)*)
            }

            fn satisfies(&self, ($($field,)*): &Self::Constraints) -> bool {
                $($field.admits::<$domain>(&self.$field))&&*
            }

            fn is_refused(($($field,)*): &Self::Constraints) -> bool {
                $($field.is_refused::<$domain>())||*
            }

            fn fixed(($($field,)*): &Self::Constraints) -> usize {
                [$($field.is_fixed()),*].into_iter().filter(|fixed| *fixed).count()
            }

            fn plan(($($field,)*): &Self::Constraints) -> Result<Plan<Self>, PlanError> {
                let scan = Self::scan();
                $(
                    let scan = match $field {
                        Constraint::Open => return scan.into_plan(),
                        Constraint::Fix(value) => scan.$field(arg!($kind value)),
                        Constraint::AnyOf(values) => scan.$any(values.iter().map(|value| arg!($kind value))),
                        Constraint::Range(lower, upper) => end_range!($kind scan $range lower upper),
                        Constraint::Prefix(prefix) => end_prefix!($kind scan $prefix prefix),
                    };
                )*
                scan.into_plan()
            }

            fn plan_from_data(($($field,)*): &Self::Constraints) -> Result<Plan<DynKey>, PlanError> {
                let layout = KeyLayout::from_json(&serde_json::to_string(Self::SCHEMA).unwrap()).unwrap();
                let mut fields = Self::SCHEMA.fields().iter();
                let scan = layout.scan();
                $(
                    let name = fields.next().unwrap().name();
                    let scan = match $field {
                        Constraint::Open => return scan.plan(),
                        Constraint::Fix(value) => scan.fix(name, from_model(value))?,
                        Constraint::AnyOf(values) => scan.any_of(name, values.iter().map(from_model))?,
                        Constraint::Range(lower, upper) => {
                            scan.range(name, (lower.as_ref().map(from_model), upper.as_ref().map(from_model)))?
                        }
                        Constraint::Prefix(prefix) => scan.prefix(name, from_model(prefix))?,
                    };
                )*
                scan.plan()
            }

            fn order(&self, other: &Self) -> Ordering {
                Ordering::Equal$(.then_with(|| <$domain>::order(&self.$field, &other.$field)))*
            }
        }
    )*};
}

/// How a plan can end at a field of this kind.
macro_rules! ends {
    (text) => {
        Ends { range: true, prefix: true }
    };
    (bytes) => {
        Ends { range: true, prefix: true }
    };
    (value) => {
        Ends { range: true, prefix: false }
    };
    (array) => {
        Ends { range: true, prefix: false }
    };
    (unranged) => {
        Ends { range: false, prefix: false }
    };
}

/// A value in the form that scan methods take.
macro_rules! arg {
    (text $value:expr) => {
        $value.as_str()
    };
    (bytes $value:expr) => {
        $value.as_slice()
    };
    (array $value:expr) => {
        $value
    };
    ($kind:ident $value:expr) => {
        *$value
    };
}

macro_rules! end_range {
    (unranged $scan:ident $range:ident $lower:ident $upper:ident) => {
        unreachable!("a field without ranges: {:?}", ($lower, $upper))
    };
    ($kind:ident $scan:ident $range:ident $lower:ident $upper:ident) => {{
        let lower = $lower.as_ref().map(|value| arg!($kind value));
        let upper = $upper.as_ref().map(|value| arg!($kind value));
        return $scan.$range((lower, upper)).into_plan()
    }};
}

macro_rules! end_prefix {
    (text $scan:ident $method:ident $prefix:ident) => {
        return $scan.$method($prefix.as_str()).into_plan()
    };
    (bytes $scan:ident $method:ident $prefix:ident) => {
        return $scan.$method($prefix.as_slice()).into_plan()
    };
    ($kind:ident $scan:ident $method:ident $prefix:ident) => {
        unreachable!("a field without prefixes: {:?}", $prefix)
    };
}

const MAX_TIME: u64 = i64::MAX as u64;

model_keys! {
    #[salt(range = 4, over = "user_id,site")]
    SaltedInFront, 0 left of the salt {
        user_id: String = Delimited<b'#'>, text user_id_any_of user_id_range user_id_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[reverse_ts]
        at: u64 = Reversed<U64UpTo<MAX_TIME>>, value at_any_of at_range at_prefix;
        #[pad(3)]
        seq: u32 = U32UpTo<999>, value seq_any_of seq_range seq_prefix;
    }

    #[row_key(tag = "BATTERY", delimiter = '-')]
    #[salt(range = 20, over(at, user))]
    BehindTag, 0 left of the salt {
        user: String = Delimited<b'-'>, text user_any_of user_range user_prefix;
        level: i16 = I16, value level_any_of level_range level_prefix;
        #[reverse_ts(max = 99)]
        at: i64 = Reversed<I64UpTo<99>>, value at_any_of at_range at_prefix;
    }

    #[row_key(tag = "EVENT")]
    #[salt(range = 4, over = "number", after = "user")]
    BehindOneField, 1 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[pad(3)]
        number: u32 = U32UpTo<999>, value number_any_of number_range number_prefix;
    }

    #[row_key(delimiter = '-')]
    #[salt(range = 3, over = "symbol,at", after = "symbol", sep = "/")]
    BehindTwoFields, 2 left of the salt {
        exchange: Kind = Kinds, value exchange_any_of exchange_range exchange_prefix;
        symbol: String = Delimited<b'-'>, text symbol_any_of symbol_range symbol_prefix;
        #[reverse_ts(max = 99)]
        at: u64 = Reversed<U64UpTo<99>>, value at_any_of at_range at_prefix;
        id: String = Delimited<b'-'>, text id_any_of id_range id_prefix;
    }

    #[row_key(tag = "VISIT")]
    #[salt(range = 12, sep = "::", over = "page", position = "front")]
    FrontOfTag, 0 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        page: String = Delimited<b'#'>, text page_any_of page_range page_prefix;
    }

    Unsalted, 0 left of the salt {
        first: String = Delimited<b'#'>, text first_any_of first_range first_prefix;
        second: String = Delimited<b'#'>, text second_any_of second_range second_prefix;
        third: String = Delimited<b'#'>, text third_any_of third_range third_prefix;
    }

    OneName, 0 left of the salt {
        name: String = Delimited<b'#', false>, text name_any_of name_range name_prefix;
    }

    #[salt(range = 11, sep = "-", hash = "java")]
    Java, 0 left of the salt {
        device: String = Delimited<b'#'>, text device_any_of device_range device_prefix;
        number: u8 = U8, value number_any_of number_range number_prefix;
    }

    #[row_key(tag = "phone")]
    #[salt(range = 3, hash = "java")]
    JavaBehindTag, 0 left of the salt {
        device: String = Delimited<b'#'>, text device_any_of device_range device_prefix;
        #[pad(2)]
        number: u32 = U32UpTo<99>, value number_any_of number_range number_prefix;
    }

    #[salt(range = 3)]
    PaddedStrings, 0 left of the salt {
        #[pad(3)]
        exchange: String = Padded<3>, text exchange_any_of exchange_range exchange_prefix;
        #[pad(4)]
        symbol: String = Padded<4>, text symbol_any_of symbol_range symbol_prefix;
        #[pad(2)]
        at: i64 = I64UpTo<99>, value at_any_of at_range at_prefix;
    }

    Descending, 0 left of the salt {
        #[row_key(desc)]
        a: u8 = Reversed<U8>, value a_any_of a_range a_prefix;
        #[row_key(desc)]
        b: i64 = Reversed<I64>, value b_any_of b_range b_prefix;
        #[row_key(desc)]
        c: bool = Reversed<Bool>, value c_any_of c_range c_prefix;
        #[row_key(desc)]
        #[pad(3)]
        d: u32 = Reversed<U32UpTo<999>>, value d_any_of d_range d_prefix;
    }

    BitReversed, 0 left of the salt {
        #[row_key(bit_reverse)]
        id: u32 = Bits, unranged id_any_of id_range id_prefix;
        name: String = Delimited<b'#'>, text name_any_of name_range name_prefix;
        #[row_key(bit_reverse)]
        version: u32 = Bits, unranged version_any_of version_range version_prefix;
    }

    #[salt(range = 2, over = "name")]
    Escaped, 0 left of the salt {
        #[row_key(escape)]
        name: String = Text, text name_any_of name_range name_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        letter: char = Letter, value letter_any_of letter_range letter_prefix;
        pair: [u8; 2] = Pair, array pair_any_of pair_range pair_prefix;
        #[row_key(escape)]
        note: String = Text, text note_any_of note_range note_prefix;
    }

    #[row_key(delimiter = '!')]
    Integers, 0 left of the salt {
        a: i8 = I8, value a_any_of a_range a_prefix;
        b: u16 = U16, value b_any_of b_range b_prefix;
        c: i32 = I32, value c_any_of c_range c_prefix;
        d: u64 = U64, value d_any_of d_range d_prefix;
        e: i128 = I128, value e_any_of e_range e_prefix;
        f: u128 = U128, value f_any_of f_range f_prefix;
    }

    #[salt(range = 5, over = "kind,day")]
    CodesAndTimes, 0 left of the salt {
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
        day: chrono::NaiveDate = Days, value day_any_of day_range day_prefix;
        #[row_key(ts(unit = "millis"))]
        begin: SystemTime = Millis, value begin_any_of begin_range begin_prefix;
        #[reverse_ts(max = 9999999999999)]
        #[row_key(ts(unit = "millis"))]
        end: SystemTime = Reversed<Millis>, value end_any_of end_range end_prefix;
    }

    #[row_key(layout = "ordered")]
    #[salt(range = 70, over(user, note))]
    OrderedSalted, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        #[reverse_ts]
        at: i64 = Reversed<I64UpTo<{ i64::MAX }>>, value at_any_of at_range at_prefix;
        #[row_key(desc)]
        rank: u16 = Reversed<U16>, value rank_any_of rank_range rank_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        note: String = Text, text note_any_of note_range note_prefix;
    }

    #[row_key(layout = "ordered", tag = "N#")]
    OrderedTagged, 0 left of the salt {
        first: String = Text, text first_any_of first_range first_prefix;
        second: String = Text, text second_any_of second_range second_prefix;
        third: String = Text, text third_any_of third_range third_prefix;
    }

    #[row_key(layout = "ordered")]
    OrderedUnsalted, 0 left of the salt {
        name: String = Text, text name_any_of name_range name_prefix;
        at: SystemTime = SignedMicros, value at_any_of at_range at_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
        #[row_key(desc)]
        flag: bool = Reversed<Bool>, value flag_any_of flag_range flag_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        last: String = Text, text last_any_of last_range last_prefix;
    }

    #[salt(range = 4, over = "user_id", sep = "!", since(at = 2))]
    #[salt(range = 16, over = "user_id,seq", sep = "!", since(at = 60))]
    Grown, 0 left of the salt {
        user_id: String = Delimited<b'#'>, text user_id_any_of user_id_range user_id_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[reverse_ts(max = 99)]
        at: u64 = Reversed<U64UpTo<99>>, value at_any_of at_range at_prefix;
        #[pad(3)]
        seq: u32 = U32UpTo<999>, value seq_any_of seq_range seq_prefix;
    }

    #[row_key(tag = "GROWN", delimiter = '-')]
    #[salt(range = 12, over = "level", sep = "!", position = "front", since(at = 2))]
    GrownFront, 0 left of the salt {
        user: String = Delimited<b'-'>, text user_any_of user_range user_prefix;
        level: i16 = I16, value level_any_of level_range level_prefix;
        #[reverse_ts(max = 99)]
        at: i64 = Reversed<I64UpTo<99>>, value at_any_of at_range at_prefix;
    }

    #[row_key(tag = "EVENT")]
    #[salt(range = 4, over = "number", after = "user", sep = "!", since(number = 2))]
    #[salt(range = 11, over = "number", after = "user", sep = "!", since(number = 500))]
    GrownAfter, 1 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[pad(3)]
        number: u32 = U32UpTo<999>, value number_any_of number_range number_prefix;
    }

    #[salt(range = 4, over = "site")]
    #[salt(range = 8, over = "user", since(begin = "1970-01-01T00:00:00.002Z"))]
    #[salt(range = 12, over(user, kind), since(begin = "2015-03-16T19:53:32.157Z"))]
    Resalted, 0 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[row_key(ts(unit = "millis"))]
        begin: SystemTime = Millis, value begin_any_of begin_range begin_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
    }

    #[row_key(layout = "ordered")]
    #[salt(range = 4, over = "user", since(at = -1))]
    #[salt(range = 64, over = "user", since(at = 2))]
    OrderedGrown, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        #[row_key(desc)]
        at: i64 = Reversed<I64>, value at_any_of at_range at_prefix;
        rank: u16 = U16, value rank_any_of rank_range rank_prefix;
    }

    #[row_key(layout = "ordered", tag = "N#")]
    #[salt(range = 70, over = "user")]
    #[salt(range = 300, over = "user", since(at = "1970-01-01T00:00:00.000001Z"))]
    OrderedResalted, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        at: SystemTime = SignedMicros, value at_any_of at_range at_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
    }

    #[salt(range = 10, over = "pair", since(at = 2))]
    Log, 0 left of the salt {
        #[pad(2)]
        at: u64 = U64UpTo<99>, value at_any_of at_range at_prefix;
        pair: [u8; 2] = Pair, array pair_any_of pair_range pair_prefix;
    }
}
