//! `--rate`.

use std::num::NonZeroU32;

use tokio::time::{Duration, Instant, sleep_until};

/// Spreads rows over time.
pub(crate) struct Pace {
    rate: Option<NonZeroU32>,
    /// When the next row may be written.
    due: Instant,
}

impl Pace {
    /// At most this many rows a second.
    pub(crate) fn new(rate: Option<NonZeroU32>) -> Self {
        Self { rate, due: Instant::now() }
    }

    /// Waits until the next rows may be written.
    pub(crate) async fn wait_for(&mut self, rows: u64) {
        let Some(rate) = self.rate else { return };
        let begin = self.due.max(Instant::now());
        self.due = begin + Duration::from_nanos(rows.saturating_mul(1_000_000_000) / u64::from(rate.get()));
        sleep_until(begin).await;
    }
}
