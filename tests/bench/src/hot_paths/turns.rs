//! Paths that run in turn, on one thread.

use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::Failure;
use super::data::Outcome;
use crate::allocations::{Allocations, counted};
use crate::meter::processor_time;

/// A run that takes longer hangs.
const MOST_TIME: Duration = Duration::from_secs(300);

type Run<'a> = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + 'a>> + 'a>;

/// One of several ways to do the same.
pub(super) struct Path<'a> {
    pub(super) name: &'static str,
    /// What the path must have seen.
    expected: Outcome,
    run: Run<'a>,
}

impl<'a> Path<'a> {
    pub(super) fn new<F>(name: &'static str, expected: Outcome, run: impl Fn() -> F + 'a) -> Self
    where
        F: Future<Output = Result<Outcome, Failure>> + 'a,
    {
        Self { name, expected, run: Box::new(move || Box::pin(run())) }
    }

    /// Runs the path once.
    pub(super) fn run(&self, runtime: &Runtime) -> Result<Outcome, Failure> {
        let outcome = runtime.block_on(async { timeout(MOST_TIME, (self.run)()).await });
        let outcome = outcome.map_err(|_| format!("{}: hangs", self.name))?;
        outcome.map_err(|error| format!("{}: {error}", self.name).into())
    }

    /// Runs the path once, and checks what it has seen.
    fn run_checked(&self, runtime: &Runtime) -> Result<(), Failure> {
        let Self { name, expected, .. } = self;
        match self.run(runtime)? {
            outcome if outcome == *expected => Ok(()),
            outcome => Err(format!("{name}: {outcome:?} and not {expected:?}").into()),
        }
    }
}

/// The total cost of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) time: Duration,
    pub(super) allocations: Allocations,
}

/// A runtime on this thread alone.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// The least cost of each path, over `runs` runs in turn. Before them, one run warms up,
/// and another counts the allocations.
pub(super) fn least(runtime: &Runtime, paths: &[Path<'_>], runs: usize) -> Result<Vec<Cost>, Failure> {
    Ok(timed(runtime, paths, runs)?.into_iter().map(|(cost, _)| cost).collect())
}

/// The same, with the time of each run.
pub(super) fn timed(
    runtime: &Runtime,
    paths: &[Path<'_>],
    runs: usize,
) -> Result<Vec<(Cost, Vec<Duration>)>, Failure> {
    let mut costs = Vec::with_capacity(paths.len());
    for path in paths {
        path.run_checked(runtime)?;
        let (result, allocations) = counted(|| path.run_checked(runtime));
        costs.push((Cost { time: Duration::MAX, allocations }, Vec::with_capacity(runs)));
        result?;
    }
    for _ in 0..runs {
        for (path, (cost, times)) in paths.iter().zip(&mut costs) {
            let before = processor_time()?;
            path.run_checked(runtime)?;
            let time = processor_time()? - before;
            cost.time = cost.time.min(time);
            times.push(time);
        }
    }
    Ok(costs)
}
