//! The key types that the laws are tested on, each with its values in terms of [`values`]: no value is computed by the code of a format.
//!
//! A key type is declared once, with the values of each field, and named in `for_every_key!`; the laws, the plans and the model of scans
//! then run for it.

pub(crate) mod constraints;
mod instants;
pub(crate) mod values;

use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::SystemTime;

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::dynamic::{DynKey, KeyLayout};
use keyderive::key::OwnedRowKey;
use keyderive::plan::{Plan, PlanError};

use self::constraints::{Constraint, Ends};
use self::values::*;

/// A key type that tests understand without its encoding.
pub(crate) trait Sample: OwnedRowKey + Clone + Debug + PartialEq + Sync {
    /// How many fields are left of the salt.
    const LEFT: usize;

    /// A constraint for each field.
    type Constraints: Clone + Debug + Send;

    /// A key that can be stored.
    fn random(rng: &mut Rng) -> Self;

    /// A key of any values, some of which no key can hold.
    fn nasty(rng: &mut Rng) -> Self;

    /// Another key, with the first fields of this one.
    fn beside(&self, rng: &mut Rng) -> Self;

    /// Whether a key can hold the value of each field.
    fn holds(&self) -> bool;

    /// The key as stored: its times are rounded down to their units.
    fn rounded(&self) -> Self;

    /// Constraints that some of these keys often satisfy.
    fn constraints(rng: &mut Rng, keys: &[Self]) -> Self::Constraints;

    /// Every plan over some keys: fields fixed to the first key of their list, or to all of it, then nothing, every kind of range from
    /// `lo` to `hi`, or the prefix `lo`.
    fn every_plan(lists: &[Vec<Self>], to_all: bool, lo: &Self, hi: &Self) -> Vec<Self::Constraints>;

    /// All fields fixed.
    fn whole(&self) -> Self::Constraints;

    /// For each field, the constraints that fix it to the value of `odd`, after those of this key: alone, and in a list.
    fn with_odd(&self, odd: &Self) -> Vec<[Self::Constraints; 2]>;

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

macro_rules! samples {
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

        impl Sample for $key {
            const LEFT: usize = $left;

            type Constraints = ($(Constraint<$type>,)*);

            fn random(rng: &mut Rng) -> Self {
                Self { $($field: <$domain>::stored(rng),)* }
            }

            fn nasty(rng: &mut Rng) -> Self {
                Self { $($field: if rng.bool() { <$domain>::nasty(rng) } else { <$domain>::stored(rng) },)* }
            }

            fn holds(&self) -> bool {
                $(<$domain>::holds(&self.$field))&&*
            }

            fn rounded(&self) -> Self {
                Self { $($field: <$domain>::rounded(&self.$field),)* }
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

            fn every_plan(lists: &[Vec<Self>], to_all: bool, lo: &Self, hi: &Self) -> Vec<Self::Constraints> {
                let mut all = Vec::new();
                let fields = Self::SCHEMA.fields().len();
                let ends = |fixed| if fixed < fields { Constraint::<()>::ENDS } else { 1 };
                for (fixed, end) in (0..=fields).flat_map(|fixed| (0..ends(fixed)).map(move |end| (fixed, end))) {
                    let mut at = 0;
                    $(
                        let $field = match at.cmp(&fixed) {
                            Ordering::Less if to_all => {
                                Some(Constraint::AnyOf(lists[at].iter().map(|key| key.$field.clone()).collect()))
                            }
                            Ordering::Less => lists[at].first().map(|key| Constraint::Fix(key.$field.clone())),
                            Ordering::Equal => Constraint::nth_end(end, &lo.$field, &hi.$field, ends!($kind)),
                            Ordering::Greater => Some(Constraint::Open),
                        };
                        at += 1;
                    )*
                    let _ = at;
                    if let ($(Some($field),)*) = ($($field,)*) {
                        all.push(($($field,)*));
                    }
                }
                all
            }

            fn whole(&self) -> Self::Constraints {
                ($(Constraint::Fix(self.$field.clone()),)*)
            }

            fn with_odd(&self, odd: &Self) -> Vec<[Self::Constraints; 2]> {
                let pair = |place: usize| {
                    [false, true].map(|in_list| {
                        let mut at = 0;
                        $(
                            let [fixed, odd_one] = [self, odd].map(|key| key.$field.clone());
                            let $field = match at.cmp(&place) {
                                Ordering::Less => Constraint::Fix(fixed),
                                Ordering::Equal if in_list => Constraint::AnyOf(vec![fixed.clone(), odd_one, fixed]),
                                Ordering::Equal => Constraint::Fix(odd_one),
                                Ordering::Greater => Constraint::Open,
                            };
                            at += 1;
                        )*
                        let _ = at;
                        ($($field,)*)
                    })
                };
                (0..Self::SCHEMA.fields().len()).map(pair).collect()
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
    (unranged) => {
        Ends { range: false, prefix: false }
    };
    ($kind:ident) => {
        Ends { range: true, prefix: matches!(stringify!($kind), "text" | "bytes" | "user") }
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
    (user $value:expr) => {
        $value.0.as_str()
    };
    (deadline $value:expr) => {
        $value.0.0
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
    (text $scan:ident $method:ident $prefix:ident) => { end_prefix!(of text $scan $method $prefix) };
    (bytes $scan:ident $method:ident $prefix:ident) => { end_prefix!(of bytes $scan $method $prefix) };
    (user $scan:ident $method:ident $prefix:ident) => { end_prefix!(of user $scan $method $prefix) };
    (of $kind:ident $scan:ident $method:ident $prefix:ident) => {
        return $scan.$method(arg!($kind $prefix)).into_plan()
    };
    ($kind:ident $scan:ident $method:ident $prefix:ident) => {
        unreachable!("a field without prefixes: {:?}", $prefix)
    };
}

const MAX_TIME: u64 = i64::MAX as u64;

samples! {
    /// The key of the README's example: a salt first, then delimited strings, a reversed and a padded number.
    #[salt(range = 4, over = "user_id,site")]
    Event, 0 left of the salt {
        user_id: String = Delimited<b'#'>, text user_id_any_of user_id_range user_id_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[reverse_ts]
        at: u64 = Reversed<U64UpTo<MAX_TIME>>, value at_any_of at_range at_prefix;
        #[pad(6)]
        seq: u32 = U32UpTo<999_999>, value seq_any_of seq_range seq_prefix;
    }

    /// Strings only, unsalted: fields that are prefixes of one another.
    Names, 0 left of the salt {
        first: String = Delimited<b'#'>, text first_any_of first_range first_prefix;
        second: String = Delimited<b'#'>, text second_any_of second_range second_prefix;
        third: String = Delimited<b'#'>, text third_any_of third_range third_prefix;
    }

    /// Every integer type in its own format.
    #[row_key(delimiter = '!')]
    Integers, 0 left of the salt {
        a: u8 = U8, value a_any_of a_range a_prefix;
        b: u16 = U16, value b_any_of b_range b_prefix;
        c: u32 = U32, value c_any_of c_range c_prefix;
        d: u64 = U64, value d_any_of d_range d_prefix;
        e: u128 = U128, value e_any_of e_range e_prefix;
        f: i8 = I8, value f_any_of f_range f_prefix;
        g: i16 = I16, value g_any_of g_range g_prefix;
        h: i32 = I32, value h_any_of h_range h_prefix;
        i: i64 = I64, value i_any_of i_range i_prefix;
        j: i128 = I128, value j_any_of j_range j_prefix;
    }

    /// A tag; a salt of two digits over fields that are not contiguous.
    #[row_key(tag = "BATTERY", delimiter = '-')]
    #[salt(range = 20, over(at, user))]
    Battery, 0 left of the salt {
        user: String = Delimited<b'-'>, text user_any_of user_range user_prefix;
        level: i16 = I16, value level_any_of level_range level_prefix;
        #[reverse_ts(max = 9999999999999)]
        at: i64 = Reversed<I64UpTo<9_999_999_999_999>>, value at_any_of at_range at_prefix;
    }

    /// Padded strings and integers: a market's quotes.
    #[salt(range = 10)]
    Quote, 0 left of the salt {
        #[pad(6)]
        exchange: String = Padded<6>, text exchange_any_of exchange_range exchange_prefix;
        #[pad(5)]
        symbol: String = Padded<5>, text symbol_any_of symbol_range symbol_prefix;
        #[pad(13)]
        at: i64 = I64UpTo<9_999_999_999_999>, value at_any_of at_range at_prefix;
    }

    /// The key of Google's salting sample: Java's hash with negative buckets, before the tag.
    #[row_key(tag = "phone")]
    #[salt(range = 4, sep = "-", hash = "java")]
    Phone, 0 left of the salt {
        device: String = Delimited<b'#'>, text device_any_of device_range device_prefix;
        #[pad(8)]
        date: u32 = U32UpTo<99_999_999>, value date_any_of date_range date_prefix;
    }

    /// A salt of two digits before a tag, with a separator of two bytes.
    #[row_key(tag = "VISIT")]
    #[salt(range = 12, sep = "::", over = "page", position = "front")]
    PageView, 0 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        page: String = Delimited<b'#'>, text page_any_of page_range page_prefix;
    }

    /// A salt after two fields, over fields on both sides of it.
    #[row_key(tag = "TRADE", delimiter = '-')]
    #[salt(range = 3, over = "symbol,at", after = "symbol", sep = "/")]
    Trade, 2 left of the salt {
        #[pad(2)]
        exchange: u8 = U8UpTo<99>, value exchange_any_of exchange_range exchange_prefix;
        symbol: String = Delimited<b'-'>, text symbol_any_of symbol_range symbol_prefix;
        #[reverse_ts(max = 99)]
        at: u64 = Reversed<U64UpTo<99>>, value at_any_of at_range at_prefix;
        id: String = Delimited<b'-'>, text id_any_of id_range id_prefix;
    }

    /// A salt after one field, over the last one.
    #[row_key(tag = "EVENT")]
    #[salt(range = 4, over = "number", after = "user")]
    AfterOneField, 1 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[pad(3)]
        number: u32 = U32UpTo<999>, value number_any_of number_range number_prefix;
    }

    /// A salt after two fields without a tag, of which the first is an enum of codes.
    #[row_key(delimiter = '-')]
    #[salt(range = 3, over = "symbol,at", after = "symbol", sep = "/")]
    AfterTwoFields, 2 left of the salt {
        exchange: Kind = Kinds, value exchange_any_of exchange_range exchange_prefix;
        symbol: String = Delimited<b'-'>, text symbol_any_of symbol_range symbol_prefix;
        #[reverse_ts(max = 99)]
        at: u64 = Reversed<U64UpTo<99>>, value at_any_of at_range at_prefix;
        id: String = Delimited<b'-'>, text id_any_of id_range id_prefix;
    }

    /// A single delimited string, so that the key itself can be empty.
    Name, 0 left of the salt {
        name: String = Delimited<b'#', false>, text name_any_of name_range name_prefix;
    }

    /// Java's hash without a tag, with buckets of one digit and of two.
    #[salt(range = 11, sep = "-", hash = "java")]
    Java, 0 left of the salt {
        device: String = Delimited<b'#'>, text device_any_of device_range device_prefix;
        number: u8 = U8, value number_any_of number_range number_prefix;
    }

    /// Java's hash after a tag.
    #[row_key(tag = "phone")]
    #[salt(range = 3, hash = "java")]
    JavaAfterTag, 0 left of the salt {
        device: String = Delimited<b'#'>, text device_any_of device_range device_prefix;
        #[pad(2)]
        number: u32 = U32UpTo<99>, value number_any_of number_range number_prefix;
    }

    /// Every field order of the text layout, and the small types.
    Orders, 0 left of the salt {
        #[row_key(desc)]
        a: u8 = Reversed<U8>, value a_any_of a_range a_prefix;
        #[row_key(desc)]
        b: i64 = Reversed<I64>, value b_any_of b_range b_prefix;
        #[row_key(desc)]
        #[pad(3)]
        c: u32 = Reversed<U32UpTo<999>>, value c_any_of c_range c_prefix;
        d: bool = Bool, value d_any_of d_range d_prefix;
        #[row_key(desc)]
        e: bool = Reversed<Bool>, value e_any_of e_range e_prefix;
        #[row_key(desc)]
        f: i128 = Reversed<I128>, value f_any_of f_range f_prefix;
        #[row_key(bit_reverse)]
        g: u32 = Bits, unranged g_any_of g_range g_prefix;
    }

    /// Fields without ranges before and after one that has them.
    BitReversed, 0 left of the salt {
        #[row_key(bit_reverse)]
        id: u32 = Bits, unranged id_any_of id_range id_prefix;
        name: String = Delimited<b'#'>, text name_any_of name_range name_prefix;
        #[row_key(bit_reverse)]
        version: u32 = Bits, unranged version_any_of version_range version_prefix;
    }

    /// Text and bytes that a delimited field cannot hold unchanged.
    Escaped, 0 left of the salt {
        #[row_key(escape)]
        name: String = Text, text name_any_of name_range name_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        letter: char = Letter, value letter_any_of letter_range letter_prefix;
        pair: [u8; 2] = Pair, array pair_any_of pair_range pair_prefix;
        #[row_key(escape)]
        note: String = Text, text note_any_of note_range note_prefix;
    }

    /// A salt over text that is escaped.
    #[salt(range = 2, over = "name")]
    EscapedSalted, 0 left of the salt {
        #[row_key(escape)]
        name: String = Text, text name_any_of name_range name_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        letter: char = Letter, value letter_any_of letter_range letter_prefix;
        pair: [u8; 2] = Pair, array pair_any_of pair_range pair_prefix;
        #[row_key(escape)]
        note: String = Text, text note_any_of note_range note_prefix;
    }

    /// Newtypes, of which one is around another, and an enum of codes.
    #[salt(range = 4, over = "user_id")]
    Task, 0 left of the salt {
        user_id: UserId = Wrapped<UserId, Delimited<b'#'>>, user user_id_any_of user_id_range user_id_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
        #[reverse_ts]
        at: Deadline = Reversed<Wrapped<Deadline, U64UpTo<MAX_TIME>>>, deadline at_any_of at_range at_prefix;
        #[pad(4)]
        place: UserId = Wrapped<UserId, Padded<4>>, user place_any_of place_range place_prefix;
    }

    /// Dates, UUIDs, and times in every format, of every supported crate.
    #[salt(range = 4, over = "id")]
    Visit, 0 left of the salt {
        day: chrono::NaiveDate = Days, value day_any_of day_range day_prefix;
        #[row_key(uuid(simple, v4))]
        id: uuid::Uuid = RandomUuids, value id_any_of id_range id_prefix;
        #[reverse_ts]
        #[row_key(ts(unit = "millis"))]
        begin: SystemTime = Reversed<Times<SystemTime, 1_000_000, 0, { i64::MAX }>>, value begin_any_of begin_range begin_prefix;
        #[row_key(ts(format = "datetime17"))]
        end: jiff::Timestamp = Times<jiff::Timestamp, 1_000_000, -62_135_596_800_000, 253_402_300_799_999>, value end_any_of end_range end_prefix;
        #[row_key(ts(unit = "secs"))]
        stored: time::OffsetDateTime = Times<time::OffsetDateTime, 1_000_000_000, 0, 9_999_999_999>, value stored_any_of stored_range stored_prefix;
    }

    /// A code and a date that choose the bucket; times of which one is reversed from a maximum.
    #[salt(range = 5, over = "kind,day")]
    CodesAndTimes, 0 left of the salt {
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
        day: chrono::NaiveDate = Days, value day_any_of day_range day_prefix;
        #[row_key(ts(unit = "millis"))]
        begin: SystemTime = Times<SystemTime, 1_000_000, 0, 9_999_999_999_999>, value begin_any_of begin_range begin_prefix;
        #[reverse_ts(max = 9999999999999)]
        #[row_key(ts(unit = "millis"))]
        end: SystemTime = Reversed<Times<SystemTime, 1_000_000, 0, 9_999_999_999_999>>, value end_any_of end_range end_prefix;
    }

    /// The ordered layout, with a salt of one byte or two, and with numbers between strings that can be empty.
    #[row_key(layout = "ordered")]
    #[salt(range = 70, over(user, note))]
    OrderedEvent, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        #[reverse_ts]
        at: i64 = Reversed<I64UpTo<{ i64::MAX }>>, value at_any_of at_range at_prefix;
        #[row_key(desc)]
        rank: u16 = Reversed<U16>, value rank_any_of rank_range rank_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        note: String = Text, text note_any_of note_range note_prefix;
    }

    /// The ordered layout of strings only, after a tag.
    #[row_key(layout = "ordered", tag = "N#")]
    OrderedNames, 0 left of the salt {
        first: String = Text, text first_any_of first_range first_prefix;
        second: String = Text, text second_any_of second_range second_prefix;
        third: String = Text, text third_any_of third_range third_prefix;
    }

    /// The ordered layout of strings and numbers, without tag and salt.
    #[row_key(layout = "ordered")]
    OrderedMix, 0 left of the salt {
        name: String = Text, text name_any_of name_range name_prefix;
        count: i32 = I32, value count_any_of count_range count_prefix;
        #[row_key(desc)]
        flag: bool = Reversed<Bool>, value flag_any_of flag_range flag_prefix;
        id: u64 = U64UpTo<MAX_TIME>, value id_any_of id_range id_prefix;
        last: String = Text, text last_any_of last_range last_prefix;
    }

    /// The ordered layout of a time, also before 1970, a code and bytes between strings.
    #[row_key(layout = "ordered")]
    OrderedTimes, 0 left of the salt {
        name: String = Text, text name_any_of name_range name_prefix;
        at: SystemTime = Times<SystemTime, 1_000, { i64::MIN }, { i64::MAX }>, value at_any_of at_range at_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
        #[row_key(desc)]
        flag: bool = Reversed<Bool>, value flag_any_of flag_range flag_prefix;
        blob: Vec<u8> = Blob, bytes blob_any_of blob_range blob_prefix;
        last: String = Text, text last_any_of last_range last_prefix;
    }

    /// Salts from a date on: keys without one, of one digit and of two.
    #[salt(range = 4, over = "user_id", sep = "!", since(at = "2015-03-16T19:53:31Z"))]
    #[salt(range = 16, over(user_id, seq), sep = "!", since(at = "2015-03-16T19:53:34Z"))]
    Grown, 0 left of the salt {
        user_id: String = Delimited<b'#'>, text user_id_any_of user_id_range user_id_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[reverse_ts]
        at: SystemTime = Reversed<Times<SystemTime, 1_000, 0, { i64::MAX }>>, value at_any_of at_range at_prefix;
        #[pad(4)]
        seq: u16 = U16UpTo<9_999>, value seq_any_of seq_range seq_prefix;
    }

    /// Salts of one digit and of three since dates, after one of one digit.
    #[salt(range = 4, over = "host")]
    #[salt(range = 8, over = "host", since(day = "0001-01-03"))]
    #[salt(range = 101, over(host, rack), since(day = "2015-03-20"))]
    Resalted, 0 left of the salt {
        host: String = Delimited<b'#'>, text host_any_of host_range host_prefix;
        day: chrono::NaiveDate = Days, value day_any_of day_range day_prefix;
        rack: u8 = U8, value rack_any_of rack_range rack_prefix;
    }

    /// Salts over other fields since times.
    #[salt(range = 4, over = "site")]
    #[salt(range = 8, over = "user", since(begin = "1970-01-01T00:00:00.002Z"))]
    #[salt(range = 12, over(user, kind), since(begin = "2015-03-16T19:53:32.001Z"))]
    Rehashed, 0 left of the salt {
        user: String = Delimited<b'#'>, text user_any_of user_range user_prefix;
        site: String = Delimited<b'#'>, text site_any_of site_range site_prefix;
        #[row_key(ts(unit = "millis"))]
        begin: SystemTime = Times<SystemTime, 1_000_000, 0, 9_999_999_999_999>, value begin_any_of begin_range begin_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
    }

    /// A salt before a tag since a number, a reversed one.
    #[row_key(tag = "GROWN", delimiter = '-')]
    #[salt(range = 12, over = "level", sep = "!!", position = "front", since(at = 3))]
    GrownFront, 0 left of the salt {
        user: String = Delimited<b'-'>, text user_any_of user_range user_prefix;
        level: i16 = I16, value level_any_of level_range level_prefix;
        #[reverse_ts(max = 99)]
        at: i64 = Reversed<Near<I64UpTo<99>, 3>>, value at_any_of at_range at_prefix;
    }

    /// Salts after two fields, over fields on both sides of them.
    #[row_key(tag = "TRADE", delimiter = '-')]
    #[salt(range = 3, over = "symbol,at", after = "symbol", sep = "!", since(at = 3))]
    #[salt(range = 30, over = "symbol,at", after = "symbol", sep = "!", since(at = 60))]
    GrownAfter, 2 left of the salt {
        #[pad(2)]
        exchange: u8 = U8UpTo<99>, value exchange_any_of exchange_range exchange_prefix;
        symbol: String = Delimited<b'-'>, text symbol_any_of symbol_range symbol_prefix;
        id: String = Delimited<b'-'>, text id_any_of id_range id_prefix;
        #[pad(2)]
        at: u64 = Near<U64UpTo<99>, 60>, value at_any_of at_range at_prefix;
    }

    /// The ordered layout, without a salt and then with one, since numbers on both sides of zero.
    #[row_key(layout = "ordered")]
    #[salt(range = 4, over(user, note), since(at = -1))]
    #[salt(range = 64, over(user, note), since(at = 256))]
    OrderedGrown, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        note: String = Text, text note_any_of note_range note_prefix;
        #[row_key(desc)]
        at: i64 = Reversed<Near<I64, 256>>, value at_any_of at_range at_prefix;
        rank: u16 = U16, value rank_any_of rank_range rank_prefix;
    }

    /// The ordered layout, with salts of one byte and of two or three.
    #[row_key(layout = "ordered")]
    #[salt(range = 4, over = "user")]
    #[salt(range = 300, over = "user", since(at = "1970-01-01T00:00:02Z"))]
    OrderedResalted, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        #[row_key(ts(unit = "secs"))]
        at: SystemTime = Times<SystemTime, 1_000_000_000, { i64::MIN }, { i64::MAX }>, value at_any_of at_range at_prefix;
    }

    /// The same after a tag, where the time is not last.
    #[row_key(layout = "ordered", tag = "N#")]
    #[salt(range = 70, over = "user")]
    #[salt(range = 300, over = "user", since(at = "1970-01-01T00:00:00.000001Z"))]
    OrderedResaltedAfterTag, 0 left of the salt {
        user: String = Text, text user_any_of user_range user_prefix;
        at: SystemTime = Times<SystemTime, 1_000, { i64::MIN }, { i64::MAX }>, value at_any_of at_range at_prefix;
        kind: Kind = Kinds, value kind_any_of kind_range kind_prefix;
    }

    /// A salt since a time that is the first field, before digits of another width.
    #[salt(range = 10, over = "id", since(at = 3))]
    Log, 0 left of the salt {
        #[pad(13)]
        at: u64 = Near<U64UpTo<9_999_999_999_999>, 3>, value at_any_of at_range at_prefix;
        id: [u8; 2] = Pair, array id_any_of id_range id_prefix;
    }
}

/// Makes a test of each key type from a function that is generic over it.
macro_rules! for_every_key {
    ($test:ident: $($name:ident $key:ident),*) => {$(
        #[test]
        fn $name() {
            $test::<$crate::keys::$key>();
        }
    )*};
    ($test:ident) => {
        mod $test {
            use super::$test;
            $crate::keys::for_every_key!(
                $test: event Event, names Names, integers Integers, battery Battery, quote Quote, phone Phone, page_view PageView, trade Trade, after_one_field AfterOneField, after_two_fields AfterTwoFields, name Name, java Java, java_after_tag JavaAfterTag, orders Orders, bit_reversed BitReversed, escaped Escaped, escaped_salted EscapedSalted, task Task, visit Visit, codes_and_times CodesAndTimes, ordered_event OrderedEvent, ordered_names OrderedNames, ordered_mix OrderedMix, ordered_times OrderedTimes, grown Grown, resalted Resalted, rehashed Rehashed, grown_front GrownFront, grown_after GrownAfter, ordered_grown OrderedGrown, ordered_resalted OrderedResalted, ordered_resalted_after_tag OrderedResaltedAfterTag, log Log
            );
        }
    };
}
pub(crate) use for_every_key;

/// A function for each of these key types.
macro_rules! each_key {
    ($of:ident: $($key:ident)*) => { [$($of::<$key>),*] };
}
pub(crate) use each_key;
