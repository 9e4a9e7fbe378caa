//! How much a client may add to the load of a server that fails: the budget of its retries, and of its hedged reads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// All tokens of a budget, in tenths.
const FULL: u32 = 100 * TOKEN;

/// A failure takes a token.
const TOKEN: u32 = 10;

/// A success gives a tenth of a token back.
const EARNED: u32 = 1;

/// The tokens that allow a client to retry: its failures take them, and its successes give a part of them back.
///
/// A client whose requests all fail soon stops retrying. While some succeed, it earns about one retry for ten successes.
/// This is the throttling of gRPC's "Retry Design".
#[derive(Debug)]
pub(super) struct RetryBudget(AtomicU32);

impl Default for RetryBudget {
    fn default() -> Self {
        Self(AtomicU32::new(FULL))
    }
}

impl RetryBudget {
    /// Records a success.
    #[inline]
    pub(super) fn succeeded(&self) {
        // Nearly always full, and then only read.
        if self.0.load(Ordering::Relaxed) < FULL {
            self.change(|tokens| (tokens + EARNED).min(FULL));
        }
    }

    /// Records a failure; returns whether it may be retried.
    pub(super) fn failed(&self) -> bool {
        self.change(|tokens| tokens.saturating_sub(TOKEN)) > FULL / 2
    }

    /// Whether requests may be repeated.
    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed) > FULL / 2
    }

    /// The tokens that are left, of 100.
    pub(super) fn tokens(&self) -> f64 {
        f64::from(self.0.load(Ordering::Relaxed)) / f64::from(TOKEN)
    }

    fn change(&self, change: impl Fn(u32) -> u32) -> u32 {
        let changed =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tokens| Some(change(tokens)));
        changed.map_or_else(|tokens| tokens, change)
    }
}

/// Which point reads may be sent a second time: at most 5 in 100, and 10 at once.
#[derive(Debug)]
pub(super) struct HedgeBudget(AtomicU32);

impl HedgeBudget {
    /// What a hedge takes, in hundredths of a read.
    const HEDGE: u32 = 100;
    /// What each read gives.
    const EARNED: u32 = 5;
    const FULL: u32 = 10 * Self::HEDGE;

    /// Records a read.
    pub(super) fn earn(&self) {
        self.change(|tokens| Some((tokens + Self::EARNED).min(Self::FULL)));
    }

    /// Takes what a hedge costs; returns whether there was enough.
    pub(super) fn take(&self) -> bool {
        self.change(|tokens| tokens.checked_sub(Self::HEDGE))
    }

    fn change(&self, change: impl Fn(u32) -> Option<u32>) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).is_ok()
    }
}

impl Default for HedgeBudget {
    fn default() -> Self {
        Self(AtomicU32::new(Self::FULL))
    }
}

/// The 95th percentile of the latency of reads, about: it follows the last few hundred.
///
/// Each read moves it by a share of itself: up by 19 steps if the read was slower, down by one if it was faster. It stands
/// still where 19 of 20 reads are faster.
#[derive(Debug, Default)]
pub(super) struct LatencyP95(AtomicU64);

impl LatencyP95 {
    /// A step, as a part of the estimate.
    const STEP: u64 = 400;

    /// Records the latency of a read.
    pub(super) fn record(&self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 64);
        let follow = |p95: u64| match p95 {
            0 => 2 * nanos + 1,
            _ if nanos > p95 => (p95 + 19 * p95.div_ceil(Self::STEP)).min(nanos),
            _ => p95.saturating_sub(p95 / Self::STEP).max(1),
        };
        // A lost update is one read of hundreds.
        self.0.store(follow(self.0.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// The estimate; none before the first read.
    pub(super) fn get(&self) -> Option<Duration> {
        Some(self.0.load(Ordering::Relaxed)).filter(|nanos| *nanos > 0).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_tokens_are_for_retries() {
        let budget = RetryBudget::default();
        assert_eq!((0..100).filter(|_| budget.failed()).count(), 49);
        assert!(budget.tokens() == 0.0 && !budget.is_open());
    }

    #[test]
    fn ten_successes_pay_for_a_retry() {
        let budget = RetryBudget::default();
        while budget.failed() {}
        (0..10).for_each(|_| budget.succeeded());
        assert!(!budget.failed(), "the tokens are back at half");
        (0..11).for_each(|_| budget.succeeded());
        assert!(budget.failed() && !budget.failed());
        (0..10_000).for_each(|_| budget.succeeded());
        assert!(budget.tokens() == 100.0 && budget.is_open());
    }

    /// A tenth of the requests fails, or nearly a third, or all.
    #[test]
    fn retries_add_a_tenth_at_most() {
        for share in [0.1, 0.3, 1.0] {
            let (budget, mut random) = (RetryBudget::default(), fastrand::Rng::with_seed(7));
            let (mut calls, mut retries) = (0_u32, 0_u32);
            for _ in 0..100_000 {
                calls += 1;
                while random.f64() < share {
                    if !budget.failed() {
                        break;
                    }
                    retries += 1;
                }
                budget.succeeded();
            }
            assert!(f64::from(retries) < 0.12 * f64::from(calls), "{retries} of {calls} at {share}");
        }
    }

    #[test]
    fn five_reads_in_a_hundred_are_hedged() {
        let budget = HedgeBudget::default();
        let mut hedges = 0;
        for _ in 0..10_000 {
            budget.earn();
            hedges += u32::from(budget.take());
        }
        assert!((500..=510).contains(&hedges), "{hedges}");
    }

    #[test]
    fn a_slower_read_moves_the_percentile_by_nineteen_steps() {
        let p95 = LatencyP95::default();
        let records = [(200, 401), (1000, 439), (440, 440), (100, 439)];
        for (nanos, expected) in records {
            p95.record(Duration::from_nanos(nanos));
            assert_eq!(p95.get(), Some(Duration::from_nanos(expected)), "after {nanos} ns");
        }
    }

    #[test]
    fn the_percentile_follows_the_reads() {
        let (p95, mut random) = (LatencyP95::default(), fastrand::Rng::with_seed(7));
        assert_eq!(p95.get(), None);
        for scale in [1000, 30_000, 200] {
            for _ in 0..5_000 {
                p95.record(Duration::from_micros(random.u64(..scale)));
            }
            let share = p95.get().unwrap().as_secs_f64() * 1e6 / scale as f64;
            assert!((0.85..1.02).contains(&share), "{share} of {scale}");
        }
        p95.record(Duration::MAX);
        p95.record(Duration::ZERO);
    }
}
