//! Load at a fixed rate, and its latencies.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use hdrhistogram::Histogram;
use keyderive::Error;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, timeout};

/// Operations that have not ended so long after the last began are given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Operations that began within a part of the run.
pub(super) struct Part {
    latencies: Histogram<u64>,
    pub(super) errors: u64,
}

impl Part {
    fn new() -> Self {
        // From a microsecond to a minute, to three digits.
        let latencies = Histogram::new_with_bounds(1, 60_000_000, 3).expect("the bounds are in order");
        Self { latencies, errors: 0 }
    }

    /// How many operations there were.
    pub(super) fn count(&self) -> u64 {
        self.latencies.len()
    }

    /// The latency below which this share of the operations was, failures included.
    pub(super) fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.latencies.value_at_quantile(share))
    }

    fn add(&mut self, latency: Duration, outcome: &Result<(), Error>) {
        self.latencies.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
        self.errors += u64::from(outcome.is_err());
    }
}

/// The operations of a run, by the second in which they began.
pub(super) struct Run(Vec<Part>);

impl Run {
    pub(super) fn between(&self, from: u32, to: u32) -> Part {
        let mut sum = Part::new();
        for part in &self.0[from as usize..to as usize] {
            sum.latencies += &part.latencies;
            sum.errors += part.errors;
        }
        sum
    }

    /// The first second from `from` on from which on nothing fails, and 99 of 100 operations take at most `limit`.
    pub(super) fn well_from(&self, from: u32, limit: Duration) -> Option<u32> {
        let is_well = |part: &Part| part.errors == 0 && part.quantile(0.99) <= limit;
        let ill = self.0.iter().rposition(|part| !is_well(part)).map_or(0, |last| last + 1);
        let well = u32::try_from(ill).ok()?.max(from);
        (well < u32::try_from(self.0.len()).ok()?).then_some(well)
    }
}

/// Starts `rate` operations a second for so many seconds. `operation` gets their number, and `each_second` is called at the
/// beginning of each second.
pub(super) async fn run<F: Future<Output = Result<(), Error>> + 'static>(
    rate: u32,
    seconds: u32,
    operation: impl Fn(u64) -> F,
    mut each_second: impl FnMut(u32),
) -> Run {
    let parts = Rc::new(RefCell::new((0..seconds).map(|_| Part::new()).collect::<Vec<_>>()));
    let (mut operations, begun) = (JoinSet::new(), Instant::now());
    let total = u64::from(rate) * u64::from(seconds);
    let (mut number, mut second) = (0, 0);
    while number < total {
        let due = (begun.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        while number < due.min(total) {
            let now = number / u64::from(rate);
            if now >= second {
                each_second(u32::try_from(now).unwrap_or(u32::MAX));
                second = now + 1;
            }
            let intended = begun + Duration::from_secs_f64(number as f64 / f64::from(rate));
            let (operation, parts) = (operation(number), Rc::clone(&parts));
            operations.spawn_local(async move {
                let outcome = operation.await;
                parts.borrow_mut()[now as usize].add(intended.elapsed(), &outcome);
            });
            number += 1;
        }
        while operations.try_join_next().is_some() {}
        // A timer is a millisecond late; this costs nothing but an idle core.
        yield_now().await;
    }
    let ended = timeout(PATIENCE, async { while operations.join_next().await.is_some() {} }).await;
    assert!(ended.is_ok(), "some operations did not end");
    drop(operations);
    Run(Rc::into_inner(parts).expect("all operations have ended").into_inner())
}

/// A latency as a table shows it.
pub(super) fn shown(latency: Duration) -> String {
    format!("{:.2} ms", latency.as_secs_f64() * 1e3)
}
