//! The rows that are read and written, and the checks of what a path has seen.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fastrand::Rng;
use keyderive::key::{OwnedRowKey, fingerprint64};
use keyderive::plan::{Plan, PlanError};
use keyderive::{Row, RowKey};

use crate::{EventKey, LentKey};

pub(super) const FAMILY: &str = "cf";

/// A row of 3 small cells.
#[derive(Clone, Debug, Row)]
pub(super) struct Reading {
    pub(super) celsius: f64,
    pub(super) humidity: i64,
    pub(super) station: String,
}

/// The same row, with its string borrowed.
#[derive(Clone, Copy, Debug, Row)]
pub(super) struct LentReading<'a> {
    pub(super) celsius: f64,
    pub(super) humidity: i64,
    pub(super) station: &'a str,
}

impl Reading {
    pub(super) fn number(number: u32) -> Self {
        Self {
            celsius: f64::from(number % 600) / 10.0 - 20.0,
            humidity: i64::from(number % 101),
            station: format!("S-{:04}", number % 10_000),
        }
    }

    pub(super) fn lend(&self) -> LentReading<'_> {
        let Self { celsius, humidity, station } = self;
        LentReading { celsius: *celsius, humidity: *humidity, station }
    }

    /// The columns and their values, as keyderive stores them.
    pub(super) fn cells(&self) -> [(&'static str, Bytes); 3] {
        [
            ("celsius", Bytes::copy_from_slice(&self.celsius.to_be_bytes())),
            ("humidity", Bytes::copy_from_slice(&self.humidity.to_be_bytes())),
            ("station", Bytes::copy_from_slice(self.station.as_bytes())),
        ]
    }
}

impl LentReading<'_> {
    pub(super) fn to_owned(self) -> Reading {
        let Self { celsius, humidity, station } = self;
        Reading { celsius, humidity, station: station.to_owned() }
    }
}

/// The user of the plain scan: with user and site fixed, its rows are in one bucket, so in one stream.
pub(super) const USER_ID: &str = "alice-7f3a9c";
pub(super) const SITE: &str = "home/kitchen";

/// The rows of one user at one site, in stored order: the newest first.
pub(super) fn one_bucket(rows: u32) -> Vec<(EventKey, Reading)> {
    let mut rng = Rng::with_seed(0x7363_616e);
    let key = |number| EventKey {
        user_id: USER_ID.to_owned(),
        site: SITE.to_owned(),
        at: 1_893_456_000_000 - 1000 * u64::from(number) - rng.u64(..1000),
        seq: rng.u32(..1_000_000),
    };
    (0..rows).map(key).zip((0..rows).map(Reading::number)).collect()
}

/// Consecutive rows of one user at one site, in one bucket.
pub(super) const ROWS_A_NAME: u32 = 10;

/// Rows with varied keys, in no particular order.
pub(super) fn varied(rows: u32) -> Vec<(EventKey, Reading)> {
    let names = crate::keys(rows.div_ceil(ROWS_A_NAME) as usize);
    let keys = names.into_iter().flat_map(|key| {
        (0..ROWS_A_NAME).map(move |number| EventKey { at: key.at - 1000 * u64::from(number), ..key.clone() })
    });
    keys.zip((0..rows).map(Reading::number)).collect()
}

/// The manual's key with another number of buckets.
pub(super) trait Salted: OwnedRowKey + Sync {
    const BUCKETS: usize;
    /// The digits of a bucket, and the delimiter.
    const SALT_LEN: usize;

    /// The same key with its strings borrowed.
    type Lent: RowKey;

    fn from_event(event: EventKey) -> Self;
    fn lend(&self) -> LentKey<'_>;
    fn view(lent: <Self::Lent as RowKey>::Decoded<'_>) -> LentKey<'_>;
    fn full_scan() -> Result<Plan<Self>, PlanError>;
}

macro_rules! salted {
    ($($buckets:literal $digits:literal $key:ident $lent:ident;)*) => {$(
        impl Salted for $key {
            const BUCKETS: usize = $buckets;
            const SALT_LEN: usize = $digits + 1;

            type Lent = $lent<'static>;

            fn from_event(EventKey { user_id, site, at, seq }: EventKey) -> Self {
                Self { user_id, site, at, seq }
            }

            fn lend(&self) -> LentKey<'_> {
                LentKey { user_id: &self.user_id, site: &self.site, at: self.at, seq: self.seq }
            }

            fn view(lent: <Self::Lent as RowKey>::Decoded<'_>) -> LentKey<'_> {
                let $lent { user_id, site, at, seq } = lent;
                LentKey { user_id, site, at, seq }
            }

            fn full_scan() -> Result<Plan<Self>, PlanError> {
                Self::scan().into_plan()
            }
        }
    )*};
}

salted! {
    4 1 EventKey LentKey;
    16 2 In16 Lent16;
    64 2 In64 Lent64;
}

/// The manual's key with as many buckets, owned and borrowed.
macro_rules! with_buckets {
    ($($buckets:literal $key:ident $lent:ident;)*) => {$(
        #[derive(RowKey)]
        #[salt(range = $buckets, over = "user_id,site")]
        pub(super) struct $key {
            user_id: String,
            site: String,
            #[reverse_ts]
            at: u64,
            #[pad(6)]
            seq: u32,
        }

        #[derive(RowKey)]
        #[salt(range = $buckets, over = "user_id,site")]
        pub(super) struct $lent<'a> {
            user_id: &'a str,
            site: &'a str,
            #[reverse_ts]
            at: u64,
            #[pad(6)]
            seq: u32,
        }
    )*};
}

with_buckets! {
    16 In16 Lent16;
    64 In64 Lent64;
}

/// What a path has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The bytes of the messages.
    Bytes(u64),
    /// Rows that were counted, and not read further.
    Counted(u64),
    Read(Seen),
    /// Rows that were written.
    Written(u64),
}

/// Sums over the rows that were read: equal for two paths that read the same rows in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    rows: u64,
    keys: u64,
    cells: u64,
}

impl Seen {
    #[inline]
    pub(super) fn row(&mut self, key: &LentKey<'_>, row: LentReading<'_>) {
        self.cells_of(
            key,
            row.celsius.to_bits() ^ row.humidity.cast_unsigned() ^ (4096 * row.station.len() as u64),
        );
    }

    /// A row whose cells have this sum.
    #[inline]
    pub(super) fn cells_of(&mut self, key: &LentKey<'_>, cells: u64) {
        let names = (key.user_id.len() + 64 * key.site.len()) as u64;
        self.rows += 1;
        self.keys = self.keys.rotate_left(1) ^ (key.at << 20 | u64::from(key.seq));
        self.cells = self.cells.wrapping_add(cells ^ names);
    }

    pub(super) fn of<'a>(rows: impl IntoIterator<Item = &'a (EventKey, Reading)>) -> Self {
        let mut seen = Self::default();
        for (key, row) in rows {
            seen.row(&key.lend(), row.lend());
        }
        seen
    }
}

/// A number for each written cell; the numbers of all cells are added up.
pub(super) fn cell_written(key: &[u8], family: &[u8], qualifier: &[u8], value: &[u8]) -> u64 {
    fingerprint64(&[key, family, qualifier, value].join(&0))
}

/// The time of a write, in the whole milliseconds that tables store.
pub(super) fn now_micros() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_epoch.as_millis() as i64 * 1000
}
