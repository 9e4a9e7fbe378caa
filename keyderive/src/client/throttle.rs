//! Throttles writes of many rows to the rate that the server asks for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tonic::Code;

use keyderive_proto::data::RateLimitInfo;

/// Requests per second at first.
const FIRST_RATE: f64 = 10.0;
/// The least and the greatest factor of one change of the rate.
const FACTORS: (f64, f64) = (0.7, 1.3);
/// The least and the greatest rate.
const RATES: (f64, f64) = (0.1, 100_000.0);
/// How long the rate stays as it is after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
const MAX_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

/// A rate limiter. The server sends a factor to change the rate by, and a period to keep the new rate for. The limiter is off
/// until the server sends these, and again once it stops sending them.
///
/// The numbers are from Google's Java client.
#[derive(Debug)]
pub(super) struct Throttle(Mutex<State>);

#[derive(Debug)]
struct State {
    on: bool,
    /// Requests per second.
    rate: f64,
    /// Until when the rate may not change.
    fixed_until: Option<Instant>,
    /// When the next request may be sent.
    next: Option<Instant>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self(Mutex::new(State { on: false, rate: FIRST_RATE, fixed_until: None, next: None }))
    }
}

impl Throttle {
    /// Reserves a turn for a request, and returns when to send it.
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

    /// Follows the rate limit of an answer, if it has one.
    pub(super) fn update(&self, info: Option<&RateLimitInfo>) {
        match info.and_then(factor_and_period) {
            Some((factor, period)) => {
                let mut state = self.state();
                state.on = true;
                state.change(factor, period);
            }
            None => {
                let mut state = self.state();
                if state.may_change() {
                    state.on = false;
                    state.next = None;
                }
            }
        }
    }

    /// Slows the next requests down if a request failed because the server is overloaded.
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
    fn may_change(&self) -> bool {
        self.fixed_until.is_none_or(|until| Instant::now() >= until)
    }

    fn change(&mut self, factor: f64, period: Duration) {
        if self.may_change() {
            self.rate = (self.rate * factor.clamp(FACTORS.0, FACTORS.1)).clamp(RATES.0, RATES.1);
            self.fixed_until = Some(Instant::now() + period.min(MAX_PERIOD));
        }
    }
}

/// The factor and the period, if both are positive.
fn factor_and_period(info: &RateLimitInfo) -> Option<(f64, Duration)> {
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

    fn update(throttle: &Throttle, factor: f64, seconds: i64) {
        throttle.update(Some(&info(factor, seconds)));
    }

    fn rate(throttle: &Throttle) -> Option<f64> {
        let state = throttle.state();
        state.on.then_some((state.rate * 1000.0).round() / 1000.0)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_off_until_the_server_sends_a_rate() {
        let throttle = Throttle::default();
        throttle.update(None);
        throttle.failed(Code::Unavailable);
        for nothing in [info(0.0, 1), info(-1.0, 1), info(f64::NAN, 1), info(1.0, 0), info(1.0, -1)] {
            throttle.update(Some(&nothing));
        }
        throttle.update(Some(&RateLimitInfo { factor: 1.0, period: None }));
        assert_eq!(rate(&throttle), None);
        assert!((0..1000).all(|_| throttle.reserve() == Instant::now()));
        update(&throttle, 1.0, 1);
        assert_eq!(rate(&throttle), Some(10.0));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_go_at_equal_intervals() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        update(&throttle, 1.0, 1);
        let turns: Vec<u128> = (0..4).map(|_| (throttle.reserve() - start).as_millis()).collect();
        assert_eq!(turns, [0, 100, 200, 300]);
        // Unused turns are lost.
        advance(Duration::from_secs(10)).await;
        let turns: Vec<u128> = (0..2).map(|_| (throttle.reserve() - start).as_millis()).collect();
        assert_eq!(turns, [10_000, 10_100]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_factor_is_bounded_and_counts_once_in_a_period() {
        let throttle = Throttle::default();
        update(&throttle, 9.0, 5);
        assert_eq!(rate(&throttle), Some(13.0));
        update(&throttle, 1.1, 5);
        advance(Duration::from_millis(4_999)).await;
        update(&throttle, 1.1, 5);
        assert_eq!(rate(&throttle), Some(13.0));
        advance(Duration::from_millis(1)).await;
        update(&throttle, 0.1, 1);
        assert_eq!(rate(&throttle), Some(9.1));
        advance(Duration::from_secs(1)).await;
        update(&throttle, 1.1, 1);
        assert_eq!(rate(&throttle), Some(10.01));
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_has_bounds() {
        let throttle = Throttle::default();
        for (factor, bound) in [(f64::INFINITY, 100_000.0), (1e-9, 0.1)] {
            for _ in 0..100 {
                update(&throttle, factor, 1);
                advance(Duration::from_secs(1)).await;
            }
            assert_eq!(rate(&throttle), Some(bound));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn overload_slows_down_for_ten_seconds() {
        let throttle = Throttle::default();
        update(&throttle, 1.0, 1);
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
            update(&throttle, 1.3, 1);
            assert_eq!(rate(&throttle), Some(slower), "{code}");
            advance(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_after_the_period_turns_it_off() {
        let throttle = Throttle::default();
        update(&throttle, 1.0, 3);
        throttle.update(None);
        assert_eq!(rate(&throttle), Some(10.0));
        let turn = (0..50).map(|_| throttle.reserve()).max();
        assert_eq!(turn, Some(Instant::now() + Duration::from_millis(4_900)));
        advance(Duration::from_secs(3)).await;
        throttle.update(None);
        assert_eq!(rate(&throttle), None);
        assert_eq!(throttle.reserve(), Instant::now());
    }
}
