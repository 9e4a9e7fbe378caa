//! Mutation testing: which changes of the library no test finds.
//!
//! A mutant is the library with one small change, such as `<=` for `<`. A test should fail of each; a mutant of which none does survives,
//! and shows what is not tested. All mutants are built at once, each with a switch, and an environment variable chooses one: this takes
//! one build, where a build for each mutant would take days.
//!
//! ```sh
//! cargo run -p keyderive-mutants -- --sample 200     # of the strata that are not run as a whole
//! cargo run -p keyderive-mutants -- --all
//! cargo run -p keyderive-mutants -- --changed main   # on lines that differ from main
//! cargo run -p keyderive-mutants -- --in plan/fixed  # of the files with this in their path
//! cargo run -p keyderive-mutants -- --in plan/fixed --survivors   # runs survivors again, after a test was added
//! ```
//!
//! Results are kept in the build folder, in `mutants/results`, and a run goes on where the last one stopped; delete the file to begin again.
//! `--budget` is how many seconds of tests a mutant may survive, 60 by default; `--seed` chooses another sample; `--jobs` is how many
//! mutants run at a time, 2 by default. A survivor is either killed by a new test or explained in `survivors.md`, which this program reads:
//! it fails if a survivor is not in the list, or a mutant in the list does not survive any more. A mutant that no test
//! reaches survives. One that survives within the budget may be found with a greater one.
//!
//! Left out: constants and `const fn`, which run at compile time, calls of macros, and rules of macros that repeat parts; a run prints how
//! many. So is `key/fast.rs`, whose tests try every four bytes. Of the derives only the checks have mutants, which the unit tests of
//! their crate look for. Examples of the documentation look for no mutants.

mod points;
#[allow(dead_code, unreachable_pub, reason = "it is a crate of its own in the copy")]
mod switch;
mod tree;
mod trials;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::Instant;
use std::{env, thread};

use lexopt::{Arg, Parser, ValueExt as _};

use crate::tree::{Mutant, Tree};
use crate::trials::Outcome;

/// A name, the beginnings of the paths of its files, and whether a sample has all of its mutants. The first that has a file counts.
const STRATA: [(&str, &[&str], bool); 12] = [
    ("key codecs", &["keyderive/src/key/codec/"], true),
    ("fixed fields of a plan", &["keyderive/src/plan/fixed.rs"], true),
    (
        "comparisons",
        &["keyderive/src/table/transfer/compare.rs", "keyderive/src/table/transfer/equality.rs"],
        true,
    ),
    ("which cells count", &["keyderive/src/row/visible.rs", "keyderive/src/row/live.rs"], true),
    ("keys", &["keyderive/src/key/"], false),
    ("plans", &["keyderive/src/plan/"], false),
    ("rows", &["keyderive/src/row/"], false),
    ("row merger", &["keyderive/src/client/row_merger"], false),
    (
        "retry",
        &[
            "keyderive/src/client/budget.rs",
            "keyderive/src/client/failure.rs",
            "keyderive/src/client/fault.rs",
            "keyderive/src/client/read/stream.rs",
            "keyderive/src/client/retry.rs",
            "keyderive/src/client/write/",
        ],
        false,
    ),
    ("transfer", &["keyderive/src/table/transfer/"], false),
    (
        "rules of layouts",
        &["crates/layout/src/", "keyderive-macros/src/row/check.rs", "keyderive-macros/src/row_key/check.rs"],
        false,
    ),
    ("embedded", &["crates/embedded/src/filter", "crates/embedded/src/mutate.rs"], false),
];

fn stratum(file: &str) -> Option<usize> {
    let is_left_out =
        file.ends_with("tests.rs") || file.contains("/tests/") || file == "keyderive/src/key/fast.rs";
    let is_code = file.ends_with(".rs") && !is_left_out;
    let has = |paths: &&[&str]| paths.iter().any(|path| file.starts_with(path));
    is_code.then(|| STRATA.iter().position(|(_, paths, _)| has(paths)))?
}

struct Options {
    /// How many mutants, besides the strata of which a sample has all.
    sample: Option<usize>,
    seed: u64,
    changed: Option<String>,
    within: Option<String>,
    survivors: bool,
    budget: f64,
    jobs: usize,
}

fn options() -> Result<Options, lexopt::Error> {
    let mut options = Options {
        sample: None,
        seed: 1,
        changed: None,
        within: None,
        survivors: false,
        budget: 60.0,
        jobs: 2,
    };
    let mut arguments = Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("all") => options.sample = None,
            Arg::Long("sample") => options.sample = Some(arguments.value()?.parse()?),
            Arg::Long("seed") => options.seed = arguments.value()?.parse()?,
            Arg::Long("changed") => options.changed = Some(arguments.value()?.parse()?),
            Arg::Long("in") => options.within = Some(arguments.value()?.parse()?),
            Arg::Long("survivors") => options.survivors = true,
            Arg::Long("budget") => options.budget = arguments.value()?.parse()?,
            Arg::Long("jobs") => options.jobs = arguments.value()?.parse()?,
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => panic!("{error}; `tests/mutants/src/main.rs` has the options"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("mutants");
    let tree = Tree::build(&root, &folder, &target, |path| stratum(path).is_some());
    println!("left out: {:?}", tree.left_out);
    let tests = trials::reached(&tree, &folder);

    let results = folder.join("results");
    let mut outcomes = read_results(&results);
    let chosen = choose(&tree.mutants, &options, &root);
    let mut waiting: Vec<_> =
        chosen.iter().copied().filter(|index| !tree.mutants[*index].is_refused).collect();
    waiting.retain(|index| match outcomes.get(&tree.mutants[*index].key()) {
        None => true,
        Some(Outcome::Survived | Outcome::Stopped | Outcome::Unreached) => options.survivors,
        Some(Outcome::Killed(_) | Outcome::Endless) => false,
    });
    println!("{} mutants are chosen, {} of them have to run", chosen.len(), waiting.len());
    waiting.reverse();
    let (start, waiting) = (Instant::now(), Mutex::new(waiting));
    let done = Mutex::new((OpenOptions::new().create(true).append(true).open(&results).unwrap(), Vec::new()));
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                loop {
                    let Some(index) = waiting.lock().unwrap().pop() else { return };
                    let outcome = trials::run(index, &tree, &tests, options.budget);
                    let key = tree.mutants[index].key();
                    let (file, outcomes) = &mut *done.lock().unwrap();
                    writeln!(file, "{key}\t{}", text(&outcome)).unwrap();
                    outcomes.push((key, outcome));
                }
            });
        }
    });
    outcomes.extend(done.into_inner().unwrap().1);
    println!("ran for {:.0?}\n", start.elapsed());
    report(&tree.mutants, &chosen, &outcomes, &root.join("tests/mutants/survivors.md"))
}

/// The indices of the mutants that the options choose.
fn choose(mutants: &[Mutant], options: &Options, root: &Path) -> BTreeSet<usize> {
    let changed = options.changed.as_ref().map(|base| changed_lines(root, base));
    let is_wanted = |mutant: &Mutant| {
        let is_changed = changed.as_ref().is_none_or(|changed| {
            changed
                .get(&mutant.file)
                .is_some_and(|lines| lines.iter().any(|lines| lines.contains(&mutant.line)))
        });
        is_changed && options.within.as_ref().is_none_or(|within| mutant.file.contains(within.as_str()))
    };
    let mut of_stratum = vec![Vec::new(); STRATA.len()];
    for (index, mutant) in mutants.iter().enumerate().filter(|(_, mutant)| is_wanted(mutant)) {
        of_stratum[stratum(&mutant.file).unwrap()].push(index);
    }
    let share =
        options.sample.map(|sample| sample / STRATA.iter().filter(|(.., is_whole)| !is_whole).count());
    let mut random = fastrand::Rng::with_seed(options.seed);
    for (indices, (.., is_whole)) in of_stratum.iter_mut().zip(STRATA) {
        if let Some(share) = share.filter(|_| !is_whole) {
            indices.retain(|index| !mutants[*index].is_refused);
            random.shuffle(indices);
            indices.truncate(share);
        }
    }
    of_stratum.into_iter().flatten().collect()
}

/// The lines of each file that differ from a commit.
fn changed_lines(root: &Path, base: &str) -> HashMap<String, Vec<RangeInclusive<usize>>> {
    let diff =
        Command::new("git").args(["diff", "-U0", base, "--", "*.rs"]).current_dir(root).output().unwrap();
    assert!(diff.status.success(), "`git diff {base}` fails");
    let (mut changed, mut file) = (HashMap::<String, Vec<_>>::new(), String::new());
    for line in String::from_utf8_lossy(&diff.stdout).lines() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            name.clone_into(&mut file);
        } else if let Some(lines) = line.strip_prefix("@@ ").and_then(|hunk| hunk.split('+').nth(1)) {
            let lines = lines.split(' ').next().unwrap_or_default();
            let (first, count) = lines.split_once(',').unwrap_or((lines, "1"));
            let (first, count): (usize, usize) = (first.parse().unwrap(), count.parse().unwrap());
            changed.entry(file.clone()).or_default().push(first..=(first + count).saturating_sub(1));
        }
    }
    changed
}

fn text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Killed(test) => format!("killed by {test}"),
        Outcome::Endless => "endless".to_owned(),
        Outcome::Survived => "survived".to_owned(),
        Outcome::Stopped => "survived within the budget".to_owned(),
        Outcome::Unreached => "unreached".to_owned(),
    }
}

/// The newest outcome of each mutant.
fn read_results(path: &Path) -> HashMap<String, Outcome> {
    let lines = fs::read_to_string(path).unwrap_or_default();
    let outcome = |text: &str| match text {
        "endless" => Outcome::Endless,
        "survived" => Outcome::Survived,
        "survived within the budget" => Outcome::Stopped,
        "unreached" => Outcome::Unreached,
        killed => Outcome::Killed(killed.trim_start_matches("killed by ").to_owned()),
    };
    let results = lines.lines().filter_map(|line| line.rsplit_once('\t'));
    results.map(|(key, text)| (key.to_owned(), outcome(text))).collect()
}

/// The mutants that the list explains: a heading for each file, and an item for each mutant, with the reason in the lines below it.
fn read_list(path: &Path) -> BTreeSet<String> {
    let (mut listed, mut file) = (BTreeSet::new(), "");
    let text = fs::read_to_string(path).unwrap_or_default();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            file = name;
        } else if let Some(name) = line.strip_prefix("- ") {
            listed.insert(format!("{file}\t{name}"));
        }
    }
    listed
}

/// Prints the outcomes of each stratum and what is not in the list, and fails if the list is not the truth.
fn report(
    mutants: &[Mutant],
    chosen: &BTreeSet<usize>,
    outcomes: &HashMap<String, Outcome>,
    list: &Path,
) -> ExitCode {
    let listed = read_list(list);
    let mut figures: BTreeMap<usize, [usize; 7]> = BTreeMap::new();
    let mut faults = Vec::new();
    for index in chosen {
        let mutant = &mutants[*index];
        let key = mutant.key();
        let outcome = outcomes.get(&key);
        let is_listed = listed.contains(&key);
        let row = figures.entry(stratum(&mutant.file).unwrap()).or_default();
        let column = match outcome {
            _ if mutant.is_refused => 0,
            Some(Outcome::Killed(_)) => 1,
            Some(Outcome::Endless) => 2,
            Some(Outcome::Survived | Outcome::Stopped | Outcome::Unreached) if is_listed => 3,
            Some(Outcome::Survived) => 4,
            Some(Outcome::Stopped) => 5,
            _ => 6,
        };
        row[column] += 1;
        match outcome {
            Some(Outcome::Killed(_) | Outcome::Endless) if is_listed => {
                faults.push(format!("listed, but found by a test: {key}"));
            }
            Some(Outcome::Survived | Outcome::Stopped | Outcome::Unreached)
                if !is_listed && !mutant.is_refused =>
            {
                faults.push(format!("{}: {key}", text(outcome.unwrap_or(&Outcome::Survived))));
            }
            _ => {}
        }
    }
    let keys: BTreeSet<_> = mutants.iter().map(Mutant::key).collect();
    faults.extend(listed.difference(&keys).map(|key| format!("listed, but no mutant any more: {key}")));
    println!(
        "| stratum | mutants | refused by the compiler | killed | endless | listed | survived | survived within the budget | unreached |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (index, row) in &figures {
        let [refused, killed, endless, listed, survived, stopped, unreached] = row;
        let (name, mutants) = (STRATA[*index].0, row.iter().sum::<usize>());
        println!(
            "| {name} | {mutants} | {refused} | {killed} | {endless} | {listed} | {survived} | {stopped} | {unreached} |"
        );
    }
    println!();
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
