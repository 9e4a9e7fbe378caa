//! Chooses the mutant of a process. A mutated copy of the repository has this file as a crate of its own.

use std::cell::RefCell;
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
/// The test that runs, as one does at a time, and its name.
static TEST: AtomicU32 = AtomicU32::new(0);
static NAME: Mutex<String> = Mutex::new(String::new());

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

/// What a thread has reached since a test began.
struct Reached {
    test: u32,
    mutants: Vec<bool>,
}

/// Records a mutant once for each test. Threads that a test starts count as the test that runs.
fn record_reached(mut file: &File, number: u32) {
    thread_local! {
        static REACHED: RefCell<Reached> = RefCell::new(Reached { test: begun(), mutants: Vec::new() });
    }
    // A thread that ends has no locals any more.
    let is_new = REACHED.try_with(|reached| {
        let mut reached = reached.borrow_mut();
        let test = TEST.load(Relaxed);
        if reached.test != test {
            *reached = Reached { test, mutants: Vec::new() };
        }
        let index = number as usize;
        if reached.mutants.len() <= index {
            reached.mutants.resize(index + 1, false);
        }
        !std::mem::replace(&mut reached.mutants[index], true)
    });
    if is_new.unwrap_or(true) {
        let name = NAME.lock().unwrap_or_else(PoisonError::into_inner);
        // In one write, since processes that a test starts append to the same file.
        let _ = file.write_all(format!("{name}\t{number}\n").as_bytes());
    }
}

/// The number of the test that runs. The test harness starts a thread for each, with its name.
fn begun() -> u32 {
    let Some(test) = thread::current().name().filter(|name| name.contains("::")).map(str::to_owned) else {
        return TEST.load(Relaxed);
    };
    *NAME.lock().unwrap_or_else(PoisonError::into_inner) = test;
    TEST.fetch_add(1, Relaxed) + 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn what_a_thread_of_a_test_reaches_counts_for_the_test() {
        let path = env::temp_dir().join(format!("keyderive-mutants-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        thread::scope(|scope| {
            for name in ["one::test", "another::test"] {
                let run = || {
                    record_reached(&file, 3);
                    record_reached(&file, 3);
                    thread::scope(|inner| inner.spawn(|| record_reached(&file, 4)).join().unwrap());
                };
                let test = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, run);
                test.unwrap().join().unwrap();
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let expected = ["another::test\t3", "another::test\t4", "one::test\t3", "one::test\t4"];
        assert_eq!(text.lines().collect::<BTreeSet<_>>(), BTreeSet::from(expected));
        assert_eq!(text.lines().count(), 4);
    }
}
