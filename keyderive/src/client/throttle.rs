//! The rate at which a server wants writes of many rows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tonic::Code;

use keyderive_proto::data::RateLimitInfo;

/// Requests in a second, before a server has said anything.
const FIRST_RATE: f64 = 10.0;
/// By how much a server's word, or a failure, changes the rate at once.
const FACTORS: (f64, f64) = (0.7, 1.3);
const RATES: (f64, f64) = (0.1, 100_000.0);
/// How long the rate stays what a failure has made it.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// No period is longer, whatever a server says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Holds requests back to a rate, which follows what the server says: a factor, by which the rate is to change, and a
/// period, for which it is to stay so. It is off until the server has said that, and again when it no longer does.
///
/// The numbers are those of Google's Java client.
#[derive(Debug)]
pub(super) struct Throttle(Mutex<State>);

#[derive(Debug)]
struct State {
    on: bool,
    /// Requests in a second.
    rate: f64,
    /// Until when the rate stays as it is.
    settled_until: Option<Instant>,
    /// When the next request may go.
    next: Option<Instant>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self(Mutex::new(State { on: false, rate: FIRST_RATE, settled_until: None, next: None }))
    }
}

impl Throttle {
    /// When a request may go that comes now. The one after it may go an interval later.
    pub(super) fn reserve(&self) -> Instant {
        let now = Instant::now();
        let mut state = self.state();
        if !state.on {
            return now;
        }
        let turn = state.next.map_or(now, |next| next.max(now));
        state.next = Some(turn + Duration::from_secs_f64(1.0 / state.rate));
        turn
    }

    /// A server has answered, and said what rate it wants, or nothing of it.
    pub(super) fn told(&self, info: Option<&RateLimitInfo>) {
        match info.and_then(wanted) {
            Some((factor, period)) => {
                let mut state = self.state();
                state.on = true;
                state.change(factor, period);
            }
            None => {
                let mut state = self.state();
                if state.is_open() {
                    state.on = false;
                    state.next = None;
                }
            }
        }
    }

    /// A request has failed. What shows that the server has too much to do slows the next ones down.
    pub(super) fn failed(&self, code: Code) {
        let mut state = self.state();
        let overload = matches!(code, Code::DeadlineExceeded | Code::Unavailable | Code::ResourceExhausted);
        if state.on && overload {
            state.change(FACTORS.0, AFTER_FAILURE);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the rate may change now.
    fn is_open(&self) -> bool {
        self.settled_until.is_none_or(|until| Instant::now() >= until)
    }

    fn change(&mut self, factor: f64, period: Duration) {
        if self.is_open() {
            self.rate = (self.rate * factor.clamp(FACTORS.0, FACTORS.1)).clamp(RATES.0, RATES.1);
            self.settled_until = Some(Instant::now() + period.min(LONGEST));
        }
    }
}

/// The factor and the period, where both are more than nothing.
fn wanted(info: &RateLimitInfo) -> Option<(f64, Duration)> {
    let period = info.period.as_ref()?;
    let seconds = u64::try_from(period.seconds).ok()?;
    let nanos = u32::try_from(period.nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    let period = Duration::new(seconds, nanos);
    (info.factor > 0.0 && !period.is_zero()).then_some((info.factor, period))
}

#[cfg(test)]
mod tests {
    use keyderive_proto::values;
    use tokio::time::advance;

    use super::*;

    fn info(factor: f64, seconds: i64) -> RateLimitInfo {
        RateLimitInfo { factor, period: Some(values::Duration { seconds, nanos: 0 }) }
    }

    fn told(throttle: &Throttle, factor: f64, seconds: i64) {
        throttle.told(Some(&info(factor, seconds)));
    }

    fn rate(throttle: &Throttle) -> Option<f64> {
        let state = throttle.state();
        state.on.then_some((state.rate * 1000.0).round() / 1000.0)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_off_until_the_server_says_a_rate() {
        let throttle = Throttle::default();
        throttle.told(None);
        throttle.failed(Code::Unavailable);
        for nothing in [info(0.0, 1), info(-1.0, 1), info(f64::NAN, 1), info(1.0, 0), info(1.0, -1)] {
            throttle.told(Some(&nothing));
        }
        throttle.told(Some(&RateLimitInfo { factor: 1.0, period: None }));
        assert_eq!(rate(&throttle), None);
        assert!((0..1000).all(|_| throttle.reserve() == Instant::now()));
        told(&throttle, 1.0, 1);
        assert_eq!(rate(&throttle), Some(10.0));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_go_at_equal_intervals() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        told(&throttle, 1.0, 1);
        let turns: Vec<u128> = (0..4).map(|_| (throttle.reserve() - start).as_millis()).collect();
        assert_eq!(turns, [0, 100, 200, 300]);
        // What was not used is not made up for.
        advance(Duration::from_secs(10)).await;
        let turns: Vec<u128> = (0..2).map(|_| (throttle.reserve() - start).as_millis()).collect();
        assert_eq!(turns, [10_000, 10_100]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_factor_is_bounded_and_counts_once_in_a_period() {
        let throttle = Throttle::default();
        told(&throttle, 9.0, 5);
        assert_eq!(rate(&throttle), Some(13.0));
        told(&throttle, 1.1, 5);
        advance(Duration::from_millis(4_999)).await;
        told(&throttle, 1.1, 5);
        assert_eq!(rate(&throttle), Some(13.0));
        advance(Duration::from_millis(1)).await;
        told(&throttle, 0.1, 1);
        assert_eq!(rate(&throttle), Some(9.1));
        advance(Duration::from_secs(1)).await;
        told(&throttle, 1.1, 1);
        assert_eq!(rate(&throttle), Some(10.01));
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_has_bounds() {
        let throttle = Throttle::default();
        for (factor, bound) in [(f64::INFINITY, 100_000.0), (1e-9, 0.1)] {
            for _ in 0..100 {
                told(&throttle, factor, 1);
                advance(Duration::from_secs(1)).await;
            }
            assert_eq!(rate(&throttle), Some(bound));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn overload_slows_down_for_ten_seconds() {
        let throttle = Throttle::default();
        told(&throttle, 1.0, 1);
        advance(Duration::from_secs(1)).await;
        for code in [Code::NotFound, Code::Internal, Code::Aborted] {
            throttle.failed(code);
        }
        assert_eq!(rate(&throttle), Some(10.0));
        for (code, slower) in
            [(Code::DeadlineExceeded, 7.0), (Code::Unavailable, 4.9), (Code::ResourceExhausted, 3.43)]
        {
            throttle.failed(code);
            throttle.failed(code);
            assert_eq!(rate(&throttle), Some(slower), "{code}");
            advance(Duration::from_millis(9_999)).await;
            told(&throttle, 1.3, 1);
            assert_eq!(rate(&throttle), Some(slower), "{code}");
            advance(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_after_the_period_turns_it_off() {
        let throttle = Throttle::default();
        told(&throttle, 1.0, 3);
        throttle.told(None);
        assert_eq!(rate(&throttle), Some(10.0));
        let turn = (0..50).map(|_| throttle.reserve()).max();
        assert_eq!(turn, Some(Instant::now() + Duration::from_millis(4_900)));
        advance(Duration::from_secs(3)).await;
        throttle.told(None);
        assert_eq!(rate(&throttle), None);
        assert_eq!(throttle.reserve(), Instant::now());
    }
}
