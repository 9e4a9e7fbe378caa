//! The times of every crate by their nanoseconds: shared with the tests of all formats.

use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time of some crate.
pub(crate) trait Instant: Copy + Ord + Debug + Send + Sync + 'static {
    /// `None` if the type has no such time.
    fn of(nanos: i128) -> Option<Self>;

    /// Since 1970.
    fn nanos(self) -> i128;
}

macro_rules! instants {
    ($($type:ty: $of:expr, $nanos:expr;)*) => {$(
        impl Instant for $type {
            fn of(nanos: i128) -> Option<Self> {
                let of: fn(i128) -> Option<Self> = $of;
                of(nanos)
            }

            fn nanos(self) -> i128 {
                let nanos: fn(Self) -> i128 = $nanos;
                nanos(self)
            }
        }
    )*};
}

instants! {
    SystemTime: |nanos| {
        let distance = Duration::from_nanos_u128(nanos.unsigned_abs());
        if nanos < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
    }, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    chrono::DateTime<chrono::Utc>: |nanos| {
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        Self::from_timestamp(seconds, nanos.rem_euclid(1_000_000_000) as u32)
    }, |time| i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos());
    jiff::Timestamp: |nanos| Self::from_nanosecond(nanos).ok(), Self::as_nanosecond;
    time::OffsetDateTime: |nanos| Self::from_unix_timestamp_nanos(nanos).ok(), Self::unix_timestamp_nanos;
    time::UtcDateTime: |nanos| Self::from_unix_timestamp_nanos(nanos).ok(), Self::unix_timestamp_nanos;
}
