//! The key types: three fields of few values, so that keys collide and the ends of ranges are hit.

use std::fmt::Debug;

use keyderive::RowKey;
use keyderive::key::{OwnedRowKey, TableKey};
use keyderive::plan::Plan;

use crate::features::Feature;

pub(crate) const USERS: [&str; 3] = ["a", "ab", "b"];
pub(crate) const TIMES: u64 = 8;
pub(crate) const SEQS: u8 = 2;

/// A key of every layout: its user, time and number.
pub(crate) type Point = (&'static str, u64, u8);

/// What a scan is constrained to.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    All,
    User(&'static str),
    Users(Vec<&'static str>),
    Times(&'static str, u64, u64),
    Time(&'static str, u64),
}

impl Range {
    pub(crate) fn random(rng: &mut fastrand::Rng) -> Self {
        let user = rng.choice(USERS).unwrap();
        match rng.u32(..6) {
            0 | 1 => Self::All,
            2 => Self::User(user),
            3 => {
                let first = rng.u64(..TIMES);
                Self::Times(user, first, rng.u64(first..=TIMES))
            }
            4 => Self::Users(USERS.into_iter().filter(|_| rng.bool()).collect()),
            _ => Self::Time(user, rng.u64(..TIMES)),
        }
    }

    /// Which fields it leaves open: the user, the time, the number.
    pub(crate) fn open(&self) -> [bool; 3] {
        match self {
            Self::All => [true, true, true],
            Self::Users(users) if users.len() != 1 => [true, true, true],
            Self::User(_) | Self::Users(_) | Self::Times(..) => [false, true, true],
            Self::Time(..) => [false, false, true],
        }
    }

    pub(crate) fn contains(&self, point: Point) -> bool {
        match self {
            Self::All => true,
            Self::User(user) => point.0 == *user,
            Self::Users(users) => users.contains(&point.0),
            Self::Times(user, first, end) => point.0 == *user && (*first..*end).contains(&point.1),
            Self::Time(user, time) => point.0 == *user && point.1 == *time,
        }
    }
}

/// A key type of these fields.
pub(crate) trait Layout: TableKey<Stored = Self> + OwnedRowKey + Clone + Debug + PartialEq {
    const FEATURES: &[Feature];

    fn of(point: Point) -> Self;
    fn point(&self) -> Point;
    fn plan(range: &Range) -> Plan<Self>;
    /// The values by which scans order the point.
    fn order(point: Point) -> (i64, &'static str, i64, i64);
}

fn user(name: &str) -> &'static str {
    USERS.into_iter().find(|user| *user == name).unwrap()
}

macro_rules! layouts {
    ($(
        [$($feature:ident)*] $(#[$meta:meta])* $name:ident [$($at:meta)?] [$($seq:meta)?] $order:expr;
    )*) => {$(
        #[derive(RowKey, Clone, Debug, PartialEq)]
        #[allow(clippy::duplicated_attributes, reason = "salts of epochs")]
        $(#[$meta])*
        pub(crate) struct $name {
            user: String,
            $(#[$at])?
            at: u64,
            $(#[$seq])?
            seq: u8,
        }

        #[allow(dead_code, reason = "one of them is re-keyed by rows")]
        impl $name {
            pub(crate) fn with_user(user: &str, at: u64, seq: u8) -> Self {
                Self { user: user.to_owned(), at, seq }
            }

            pub(crate) fn without_user(&self) -> Numbered {
                Numbered { at: self.at, seq: self.seq }
            }
        }

        impl Layout for $name {
            const FEATURES: &[Feature] = &[$(Feature::$feature),*];

            fn of((user, at, seq): Point) -> Self {
                Self::with_user(user, at, seq)
            }

            fn point(&self) -> Point {
                (user(&self.user), self.at, self.seq)
            }

            fn plan(range: &Range) -> Plan<Self> {
                match range {
                    Range::All => Self::scan().into_plan(),
                    Range::User(user) => Self::scan().user(user).into_plan(),
                    Range::Users(users) => Self::scan().user_any_of(users).into_plan(),
                    Range::Times(user, first, end) => {
                        Self::scan().user(user).at_range(*first..*end).into_plan()
                    }
                    Range::Time(user, time) => Self::scan().user(user).at(*time).into_plan(),
                }
                .unwrap()
            }

            fn order((user, at, seq): Point) -> (i64, &'static str, i64, i64) {
                let order: fn(&'static str, i64, i64) -> (i64, &'static str, i64, i64) = $order;
                order(user, at as i64, i64::from(seq))
            }
        }
    )*};
}

layouts! {
    [] Plain [] [] |user, at, seq| (0, user, at, seq);

    [SaltFirst] #[row_key(rekeyed_from = Plain)] #[salt(range = 3, over = "user,at")] First [] [pad(2)] |user, at, seq| (0, user, at, seq);

    [SaltBeforeTag] #[row_key(tag = "T", rekeyed_from = Epochs)] #[salt(range = 2, position = "front")]
    BeforeTag [] [] |user, at, seq| (0, user, at, seq);

    [SaltAfter] #[salt(range = 3, after = "user", over = "at,seq")]
    After [] [] |user, at, seq| (0, user, at, seq);

    [SaltFirst Epochs]
    #[salt(range = 2, over = "user", sep = "!", since(at = 3))]
    #[salt(range = 4, over = "user,at", sep = "!", since(at = 6))]
    Epochs [] [] |user, at, seq| (0, user, at, seq);

    [SaltAfter Epochs]
    #[row_key(rekeyed_from = After)]
    #[salt(range = 2, after = "user", over = "at", sep = "!", since(at = 2))]
    #[salt(range = 3, after = "user", over = "at,seq", sep = "!", since(at = 5))]
    AfterInEpochs [reverse_ts] [] |user, at, seq| (0, user, -at, seq);

    [SaltBeforeTag Epochs]
    #[row_key(tag = "T")]
    #[salt(range = 2, position = "front", over = "user", sep = "!", since(at = 4))]
    BeforeTagInEpochs [] [row_key(desc)] |user, at, seq| (0, user, at, -seq);

    [SaltFirst] #[row_key(layout = "ordered", rekeyed_from = BeforeTagInEpochs)] #[salt(range = 3)]
    Ordered [reverse_ts] [row_key(desc)] |user, at, seq| (0, user, -at, -seq);

    [SaltFirst] #[row_key(rekeyed_from = Plain)] #[salt(range = 2, over = "seq")]
    Turned [reverse_ts] [row_key(desc)] |user, at, seq| (0, user, -at, -seq);
}

/// Keys of a table that is re-keyed by rows: the user is in the row.
#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Numbered {
    pub(crate) at: u64,
    pub(crate) seq: u8,
}

/// The user of all points with these other fields, where the key does not have it.
pub(crate) fn home(at: u64, seq: u8) -> &'static str {
    USERS[(at as usize + usize::from(seq)) % USERS.len()]
}

impl Layout for Numbered {
    const FEATURES: &[Feature] = &[];

    fn of((user, at, seq): Point) -> Self {
        assert_eq!(user, home(at, seq));
        Self { at, seq }
    }

    fn point(&self) -> Point {
        (home(self.at, self.seq), self.at, self.seq)
    }

    fn plan(range: &Range) -> Plan<Self> {
        assert!(matches!(range, Range::All), "{range:?}");
        Self::scan().into_plan().unwrap()
    }

    fn order((_, at, seq): Point) -> (i64, &'static str, i64, i64) {
        (at as i64, "", i64::from(seq), 0)
    }
}
