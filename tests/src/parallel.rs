//! Runs of one test on all cores.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, available_parallelism};
use std::time::Instant;

/// The futures of a run, which an unoptimized build does not fold, take more than the stack of a test.
const STACK: usize = 32 << 20;

/// How many runs happen at the same time.
#[must_use]
pub fn threads() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Calls `run` with each number below `count`, on all cores, and returns the numbers of the calls that panicked, in order.
///
/// # Panics
///
/// When the system starts no thread.
pub fn failed_runs(count: u64, run: impl Fn(u64) + Sync) -> Vec<u64> {
    let (begun, next, failed) = (Instant::now(), AtomicU64::new(0), Mutex::new(Vec::new()));
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            if catch_unwind(AssertUnwindSafe(|| run(number))).is_err() {
                eprintln!("run {number} failed after {:.1?}", begun.elapsed());
                failed.lock().unwrap().push(number);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads() {
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).unwrap();
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    failed
}
