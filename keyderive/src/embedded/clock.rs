//! The time by which cells are stamped and grow old.

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the time; tests have one that stands still.
pub(super) trait Clock: Send + Sync {
    /// The time in whole milliseconds, as microseconds since the epoch.
    fn now_micros(&self) -> i64;
}

/// The clock of this machine.
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now_micros(&self) -> i64 {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        i64::try_from(millis).map_or(i64::MAX, |millis| millis.saturating_mul(1000))
    }
}
