//! Paths that run in turn, on one thread.

use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::Size;
use super::data::Outcome;
use super::report::Comparison;
use crate::allocations::{Allocations, counted};
use crate::meter::processor_time;
use crate::program::Failure;

/// A run that takes longer hangs.
const MOST_TIME: Duration = Duration::from_secs(300);

type Run<'a> = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + 'a>> + 'a>;

/// One of several ways to do the same.
pub(super) struct Path<'a> {
    pub(super) name: &'static str,
    pub(super) beside: Comparison,
    /// What the path must have seen.
    expected: Outcome,
    run: Run<'a>,
}

impl<'a> Path<'a> {
    pub(super) fn new<F>(name: &'static str, expected: Outcome, run: impl Fn() -> F + 'a) -> Self
    where
        F: Future<Output = Result<Outcome, Failure>> + 'a,
    {
        Self { name, beside: Comparison::default(), expected, run: Box::new(move || Box::pin(run())) }
    }

    /// The same, compared with others.
    pub(super) fn beside(self, beside: Comparison) -> Self {
        Self { beside, ..self }
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

impl Cost {
    /// Of a path that does not run.
    const NONE: Self = Self { time: Duration::ZERO, allocations: Allocations { count: 0, peak: 0 } };
}

/// A runtime on this thread alone.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// The least cost of each path, over as many runs in turn as `size` says.
pub(super) fn least(
    runtime: &Runtime,
    title: &str,
    paths: &[Path<'_>],
    size: Size<'_>,
) -> Result<Vec<Cost>, Failure> {
    Ok(timed(runtime, title, paths, size)?.into_iter().map(|(cost, _)| cost).collect())
}

/// The same, with the time of each run.
pub(super) fn timed(
    runtime: &Runtime,
    title: &str,
    paths: &[Path<'_>],
    size: Size<'_>,
) -> Result<Vec<(Cost, Vec<Duration>)>, Failure> {
    let names: Vec<_> = paths.iter().map(|path| path.name).collect();
    in_turn(title, &names, size, |path| paths[path].run_checked(runtime))
}

/// Runs each of these paths in turn, and measures it. Before that, one run warms up, and another counts the allocations.
pub(super) fn in_turn(
    title: &str,
    names: &[&str],
    size: Size<'_>,
    mut run: impl FnMut(usize) -> Result<(), Failure>,
) -> Result<Vec<(Cost, Vec<Duration>)>, Failure> {
    if size.only.is_some() {
        for (path, name) in names.iter().enumerate() {
            simulate_only(title, name, size, || run(path))?;
        }
        return Ok(vec![(Cost::NONE, Vec::new()); names.len()]);
    }
    let mut costs = Vec::with_capacity(names.len());
    for path in 0..names.len() {
        run(path)?;
        let (result, allocations) = counted(|| run(path));
        costs.push((Cost { time: Duration::MAX, allocations }, Vec::with_capacity(size.runs)));
        result?;
    }
    for _ in 0..size.runs {
        for (path, (cost, times)) in costs.iter_mut().enumerate() {
            let before = processor_time()?;
            run(path)?;
            let time = processor_time()? - before;
            cost.time = cost.time.min(time);
            times.push(time);
        }
    }
    Ok(costs)
}

/// Runs a path for a simulator, if it is the one that `size` asks for.
fn simulate_only(
    title: &str,
    path: &str,
    size: Size<'_>,
    mut run: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(only) = size.only.filter(|only| (only.title, only.path) == (title, path)) else { return Ok(()) };
    let (result, allocations) = counted(&mut run);
    result?;
    only.allocations.set(Some(allocations.count));
    simulated(&mut run)
}

/// A function with a name of its own, whose instructions a simulator can tell from the others.
#[inline(never)]
fn simulated(run: &mut dyn FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    run()
}
