//! Shared parts of the tests.

#[cfg(test)]
mod architecture;
pub mod emulator;
#[cfg(test)]
mod faults;
#[cfg(feature = "fixtures")]
pub mod fixtures;
mod folder;
pub mod fuzz;
pub mod history;
pub mod hostile;
/// The checker of the models, which `linearizable` is compared with.
#[cfg(test)]
#[path = "../rekeying-model/lin.rs"]
#[allow(dead_code, reason = "the models use all of it")]
mod lin;
pub mod linearizable;
#[cfg(test)]
mod pictures;
pub mod proxy;
pub mod raw_client;
#[cfg(test)]
mod readme;

pub use self::folder::Folder;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{env, fs, io, thread};

/// The names of the tests that a text defines: as a function, as a group of a macro that makes a function of it, or as a case, the heading
/// of a text file.
pub fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |next: char| next.is_alphanumeric() || next == '_';
    let functions =
        text.split("fn ").skip(1).filter_map(move |after| after.split(move |next| !is_name(next)).next());
    let groups = text.lines().filter_map(|line| line.trim_start().strip_suffix(" {"));
    let cases = text.lines().filter_map(|line| line.strip_prefix("# "));
    functions.chain(groups).chain(cases)
}

/// The README's code blocks, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Set to run more of every long test, as CI does. Without it, a long test does a part of its work and says what it leaves out. The
/// largest tests need variables of their own.
pub const LONG: &str = "KEYDERIVE_LONG_TESTS";

/// The number in an environment variable, or `default` without it.
///
/// # Panics
///
/// When the variable is not a number.
#[must_use]
pub fn variable(name: &str, default: u64) -> u64 {
    match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("`{name}` is `{text}`, and not a number")),
        Err(_) => default,
    }
}

/// How many of `what` a long test does: the number in the variable `name`; without it `whole` if [`LONG`] is set, and else
/// `part`, which is said on stderr.
///
/// # Panics
///
/// When the variable is not a number.
#[must_use]
pub fn amount(name: &str, what: &str, part: u64, whole: u64) -> u64 {
    if env::var_os(LONG).is_some() {
        return variable(name, whole);
    }
    if env::var_os(name).is_none() {
        left_out(&format!("{what}: {part} of {whole} (set `{LONG}=1`, or `{name}` to a number)"));
    }
    variable(name, part)
}

/// One of how many cases of `what` a long test does: all if [`LONG`] is set, and else one in `part`, which is said on stderr.
#[must_use]
pub fn one_in(part: usize, what: &str) -> usize {
    if env::var_os(LONG).is_some() {
        return 1;
    }
    left_out(&format!("{what}: one in {part} (set `{LONG}=1`)"));
    part
}

/// The futures of a run, which an unoptimized build does not fold, take more than the stack of a test.
const STACK: usize = 32 << 20;

/// How many runs happen at the same time.
#[must_use]
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
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

/// Whether tests run that have no short form; if not, says on stderr that `what` is left out.
#[must_use]
pub fn runs_long(what: &str) -> bool {
    let runs = env::var_os(LONG).is_some();
    if !runs {
        left_out(&format!("{what} (set `{LONG}=1`)"));
    }
    runs
}

/// Says on stderr what this run of the tests leaves out, once in a process.
pub fn left_out(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    // A test that panicked here left a whole set.
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(what.to_owned()) {
        // Not by `eprintln!`, whose text is shown for failed tests alone.
        let _ = writeln!(io::stderr(), "left out: {what}");
    }
}

/// The content of the file that the variable `name` names, a file that is not part of the repository. Without the variable,
/// says that `what` is left out.
///
/// # Panics
///
/// When the variable names a file that cannot be read.
#[must_use]
pub fn file(name: &str, what: &str) -> Option<Vec<u8>> {
    let Some(path) = env::var_os(name) else {
        left_out(&format!("{what} (`{name}` names the file)"));
        return None;
    };
    Some(fs::read(&path).unwrap_or_else(|error| panic!("`{name}` is `{}`: {error}", path.display())))
}
