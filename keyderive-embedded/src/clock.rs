//! The time by which cells are stamped and grow old.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::check::GRANULARITY_MICROS;

/// How far the clock below may be behind before a warning says so.
const MOST_BEHIND_MICROS: i64 = 60_000_000;

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
        i64::try_from(millis).unwrap_or(i64::MAX).min(i64::MAX / GRANULARITY_MICROS) * GRANULARITY_MICROS
    }
}

/// A clock that never steps back, whatever the one below it does: a cell that is set later is read, so it must not be
/// older.
pub(super) struct SteadyClock {
    clock: Box<dyn Clock>,
    latest: AtomicI64,
    warned: AtomicBool,
}

impl SteadyClock {
    /// A clock that is never before `latest`, the latest time that cells in a file may have got from it.
    pub(super) fn new(clock: impl Clock + 'static, latest: i64) -> Self {
        let clock =
            Self { clock: Box::new(clock), latest: AtomicI64::new(latest), warned: AtomicBool::new(false) };
        // Warns of a file of the future when it is opened.
        clock.now_micros();
        clock
    }

    pub(super) fn now_micros(&self) -> i64 {
        let now = self.clock.now_micros();
        let latest = self.latest.fetch_max(now, Ordering::Relaxed);
        let behind = latest.saturating_sub(now);
        if behind > MOST_BEHIND_MICROS && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                behind = ?Duration::from_micros(behind.unsigned_abs()),
                "this machine's clock is behind the latest time that the embedded Bigtable gave to a cell; cells that \
                 are set at the server's time get that latest time until the machine's clock has passed it"
            );
        }
        latest.max(now)
    }

    /// The latest time that it gave.
    pub(super) fn latest_micros(&self) -> i64 {
        self.latest.load(Ordering::Relaxed)
    }
}
