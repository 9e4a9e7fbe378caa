//! Chooses the mutant of a process. A mutated copy of the repository has this file as a crate of its own.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{env, thread};

/// Holds the number of the chosen mutant. Numbers begin with 1.
pub const CHOSEN: &str = "KEYDERIVE_MUTANT";
/// Holds the file that the mutants which each test reaches are appended to, as lines of a test's name, a tab and a number.
pub const REACHED: &str = "KEYDERIVE_MUTANTS_REACHED";

const UNKNOWN: u32 = u32::MAX;
static MUTANT: AtomicU32 = AtomicU32::new(UNKNOWN);
static RECORD: OnceLock<Option<File>> = OnceLock::new();
/// The test that runs, if one runs at a time.
static TEST: Mutex<String> = Mutex::new(String::new());

/// Whether this is the chosen mutant.
#[inline]
#[must_use]
pub fn mutant(number: u32) -> bool {
    match MUTANT.load(Relaxed) {
        UNKNOWN => first(number),
        chosen => chosen == number,
    }
}

#[cold]
fn first(number: u32) -> bool {
    let record = RECORD.get_or_init(|| {
        let path = env::var_os(REACHED)?;
        OpenOptions::new().create(true).append(true).open(path).ok()
    });
    if let Some(file) = record {
        record_reached(file, number);
        return false;
    }
    let chosen = env::var(CHOSEN).ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    MUTANT.store(chosen, Relaxed);
    chosen == number
}

/// Records a mutant once for each test. Threads that a test starts count as the test that runs.
fn record_reached(mut file: &File, number: u32) {
    thread_local! {
        static OF_TEST: RefCell<(String, HashSet<u32>)> = RefCell::default();
    }
    let mut test = TEST.lock().unwrap_or_else(PoisonError::into_inner);
    // The test harness names the thread of a test by the test.
    if let Some(name) = thread::current().name().filter(|name| name.contains("::"))
        && name != *test
    {
        name.clone_into(&mut test);
    }
    // A thread that ends has no locals any more.
    let is_new = OF_TEST.try_with(|of_test| {
        let (name, reached) = &mut *of_test.borrow_mut();
        if *name != *test {
            name.clone_from(&test);
            reached.clear();
        }
        reached.insert(number)
    });
    if is_new.unwrap_or(true) {
        // In one write, since processes that a test starts append to the same file.
        let _ = file.write_all(format!("{test}\t{number}\n").as_bytes());
    }
}
