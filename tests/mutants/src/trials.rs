//! Which tests reach a mutant, and what they say of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde::{Deserialize, Serialize};

use crate::switch::{CHOSEN, REACHED};
use crate::tree::{Program, Tree};

/// A test, and what it reaches.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Test {
    #[serde(skip)]
    program: usize,
    name: String,
    seconds: f64,
    /// Indices of mutants.
    reached: HashSet<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// By this test.
    Killed(String),
    /// The tests took five times as long as without a mutant.
    Endless,
    Survived,
    /// No test failed that was started within the budget.
    Stopped,
    /// No test reaches it.
    Unreached,
}

/// The tests of all programs, the fastest first.
pub(crate) fn reached(tree: &Tree, folder: &Path) -> Vec<Test> {
    let mut tests = Vec::new();
    for (index, program) in tree.programs.iter().enumerate() {
        let name = program.path.file_name().unwrap().to_str().unwrap();
        let known = folder.join("reached").join(format!("{name}.json"));
        let modified = |path: &Path| fs::metadata(path).and_then(|of| of.modified());
        if modified(&known).ok() < modified(&program.path).ok() {
            let start = Instant::now();
            fs::create_dir_all(folder.join("reached")).unwrap();
            let found = record(program, &folder.join("reached").join(name));
            println!("{name}: {} tests in {:.0?}", found.len(), start.elapsed());
            fs::write(&known, serde_json::to_vec(&found).unwrap()).unwrap();
        }
        let of_program: Vec<Test> = serde_json::from_slice(&fs::read(&known).unwrap()).unwrap();
        tests.extend(of_program.into_iter().map(|test| Test { program: index, ..test }));
    }
    tests.sort_by(|one, other| one.seconds.total_cmp(&other.seconds).then_with(|| one.name.cmp(&other.name)));
    tests
}

/// Runs all tests of a program without a mutant, one after the other.
fn record(program: &Program, file: &Path) -> Vec<Test> {
    let _ = fs::remove_file(file);
    let mut child = start_tests(program, &[], REACHED, file.to_str().unwrap());
    let mut of_name: HashMap<String, Test> = HashMap::new();
    let mut last = Instant::now();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let seconds = last.elapsed().as_secs_f64();
        match result(&line) {
            Some((name, true)) => {
                let test = Test { program: 0, name: name.to_owned(), seconds, reached: HashSet::new() };
                of_name.insert(name.to_owned(), test);
            }
            Some((name, false)) => println!("left out, since it fails without a mutant: {name}"),
            None => {}
        }
        last = Instant::now();
    }
    child.wait().unwrap();
    assert!(!of_name.is_empty(), "no test of {} passes without a mutant", program.path.display());
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        let (name, number) = line.split_once('\t').unwrap();
        if let Some(test) = of_name.get_mut(name) {
            test.reached.insert(number.parse::<u32>().unwrap() - 1);
        }
    }
    let _ = fs::remove_file(file);
    of_name.into_values().collect()
}

/// Runs the tests that reach a mutant, the fastest first, until one fails or they would take longer than `budget` in all.
pub(crate) fn run(index: usize, tree: &Tree, tests: &[Test], budget: f64) -> Outcome {
    let number = u32::try_from(index).unwrap();
    let mut rest = tests.iter().filter(|test| test.reached.contains(&number)).peekable();
    if rest.peek().is_none() {
        return Outcome::Unreached;
    }
    let mut spent = 0.0;
    for limit in [0.5, 5.0, budget] {
        let mut batch: BTreeMap<usize, (f64, Vec<&str>)> = BTreeMap::new();
        while let Some(test) = rest.next_if(|test| spent + test.seconds <= limit) {
            spent += test.seconds;
            let (seconds, names) = batch.entry(test.program).or_default();
            *seconds += test.seconds;
            names.push(&test.name);
        }
        for (program, (seconds, names)) in batch {
            let outcome = run_batch(
                &tree.programs[program],
                &names,
                index + 1,
                Duration::from_secs_f64(seconds * 5.0 + 10.0),
            );
            if outcome != Outcome::Survived {
                return outcome;
            }
        }
    }
    if rest.peek().is_some() { Outcome::Stopped } else { Outcome::Survived }
}

fn run_batch(program: &Program, names: &[&str], number: usize, limit: Duration) -> Outcome {
    let mut child = start_tests(program, names, CHOSEN, &number.to_string());
    let (failures, failed) = channel();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reader = thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some((name, false)) = result(&line)
                && failures.send(name.to_owned()).is_err()
            {
                return;
            }
        }
    });
    let outcome = match failed.recv_timeout(limit) {
        Ok(name) => Outcome::Killed(name),
        Err(RecvTimeoutError::Timeout) => Outcome::Endless,
        // The program has ended, or soon will; by a signal, if the mutant overflows the stack.
        Err(RecvTimeoutError::Disconnected) => match child.wait() {
            Ok(status) if status.success() => Outcome::Survived,
            _ => Outcome::Killed("the end of the program".to_owned()),
        },
    };
    stop(&mut child);
    drop(failed);
    let _ = reader.join();
    outcome
}

/// A line of libtest's output: the test, and whether it passed.
fn result(line: &str) -> Option<(&str, bool)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = name.split(" - ").next()?;
    match result {
        "ok" => Some((name, true)),
        "FAILED" => Some((name, false)),
        _ => None,
    }
}

/// Starts some tests, or all, one after the other.
fn start_tests(program: &Program, names: &[&str], variable: &str, value: &str) -> Child {
    let mut command = Command::new(&program.path);
    command.arg("--test-threads=1").current_dir(&program.folder);
    if !names.is_empty() {
        command.arg("--exact").args(names);
    }
    for (name, _) in env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"KEYDERIVE_")) {
        command.env_remove(name);
    }
    // The tests of a proc macro are linked to the compiler's libraries.
    command
        .env("LD_LIBRARY_PATH", &program.libraries)
        .env("CBTEMULATOR", "")
        .env("INSTA_UPDATE", "no")
        .env(variable, value);
    // A group of its own, so that the processes that a test starts end with it.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

fn stop(child: &mut Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.wait();
}
