//! The instructions and allocations of keyderive's hot paths, held against those of `tests/bench/ratchet.md`.
//!
//! `cargo run --release -p keyderive-bench --bin ratchet` fails if a path takes over 1 % more or less than the file says; with
//! `-- --write "why"` it writes the file, and the reason. It needs valgrind, two cores and a few minutes.
//!
//! Each path runs in a process of its own under callgrind, once with a number of rows and once with twice as many, and the difference is
//! what the rows cost. The file has the median of three such measures. A path that differs is measured again, and fails if five measures
//! differ. Only instructions of the client's thread count, and none of the kernel. Time is another matter, which `--bin in-turn` compares.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::{env, fs, thread};

use keyderive_bench::allocations::Counting;
use keyderive_bench::hot_paths::run_only;
use keyderive_bench::program::{self, Failure, lines_of_tables};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The share by which a figure may differ: one program run twice differs by a third of it on an idle machine.
const TOLERANCE: f64 = 0.01;
/// How often a path that differs is measured. How the rows of an answer are cut into packets is not the same in every run.
const TRIES: usize = 5;
/// The allocations of a unit that count as none.
const NO_ALLOCATIONS: f64 = 0.01;

/// Tables of the benchmark, and their paths that are held.
struct Held {
    section: &'static str,
    titles: &'static [&'static str],
    paths: &'static [&'static str],
    /// How many rows the first run has, and how many units of its table they are.
    rows: u32,
    units: u32,
}

const SCANNED: u32 = 20_000;
const TYPED: &[&str] = &["keyderive, owned typed rows", "keyderive, borrowed typed rows"];
const SHAPED: &[&str] = &["keyderive, owned", "keyderive, borrowed"];
const HELD: &[Held] = &[
    held(
        "scans",
        &["Scans"],
        &[
            "keyderive, owned typed rows",
            "keyderive, borrowed typed rows",
            "keyderive, owned rows by data",
            "keyderive, borrowed rows by data",
        ],
        SCANNED,
    ),
    held("rows", &["Rows of three columns of text"], SHAPED, SCANNED),
    Held { units: 2 * SCANNED / 8, ..held("rows", &["Rows of 24 columns"], SHAPED, 2 * SCANNED) },
    held(
        "merges",
        &["Ordered merge of 4 buckets", "Ordered merge of 16 buckets", "Ordered merge of 64 buckets"],
        TYPED,
        SCANNED,
    ),
    held(
        "bulk",
        &["Bulk writes"],
        &["keyderive, `put_all`", "keyderive, `writer`", "keyderive, `load`"],
        2 * SCANNED,
    ),
    held(
        "points",
        &["Reads of one row, 1 in flight", "Reads of one row, 64 in flight"],
        &["keyderive, `get`"],
        2_000,
    ),
    held(
        "points",
        &["Writes of one row, 1 in flight", "Writes of one row, 64 in flight"],
        &["keyderive, `put`"],
        2_000,
    ),
    held(
        "points",
        &["Reads of 100 rows by their keys"],
        &["keyderive, a scan", "keyderive, `get_many`"],
        10_000,
    ),
    held(
        "keys",
        &["Keys"],
        &[
            "encode, keyderive",
            "encode into an owned key, keyderive",
            "borrowed decode, keyderive",
            "owned decode, keyderive",
            "encode by data, keyderive",
            "borrowed decode by data, keyderive",
            "owned decode by data, keyderive",
        ],
        5_000,
    ),
];

/// Tables in which a row is a unit.
const fn held(
    section: &'static str,
    titles: &'static [&'static str],
    paths: &'static [&'static str],
    rows: u32,
) -> Held {
    Held { section, titles, paths, rows, units: rows }
}

/// What a unit of a path costs.
#[derive(Clone, Copy)]
struct Cost {
    instructions: f64,
    allocations: f64,
}

impl Cost {
    /// What of another cost is not this, within the tolerance.
    fn differs(self, other: Self) -> Option<&'static str> {
        let allocations = (other.allocations - self.allocations).abs();
        if (other.instructions / self.instructions - 1.0).abs() > TOLERANCE {
            Some("instructions")
        } else if allocations > NO_ALLOCATIONS + TOLERANCE * other.allocations.max(self.allocations) {
            Some("allocations")
        } else {
            None
        }
    }
}

/// A path of a table.
struct HeldPath {
    held: &'static Held,
    title: &'static str,
    path: &'static str,
}

impl HeldPath {
    fn at(&self) -> (String, String) {
        (self.title.to_owned(), self.path.to_owned())
    }

    /// What a unit costs: twice the rows less the rows.
    fn cost(&self) -> Result<Cost, Failure> {
        let once = self.simulated(self.held.rows)?;
        let twice = self.simulated(2 * self.held.rows)?;
        let unit = |once: u64, twice: u64| (twice as f64 - once as f64) / f64::from(self.held.units);
        Ok(Cost { instructions: unit(once.0, twice.0), allocations: unit(once.1, twice.1) })
    }

    /// The instructions and the allocations of a run.
    fn simulated(&self, rows: u32) -> Result<(u64, u64), Failure> {
        let profile = Profile::new();
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--toggle-collect=keyderive_bench::hot_paths::turns::simulated"])
            .arg(format!("--callgrind-out-file={}", profile.0.display()))
            .arg(env::current_exe()?)
            .args(["--only", self.held.section, self.title, self.path, &rows.to_string()])
            .output()
            .map_err(|error| format!("valgrind: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let text = fs::read_to_string(&profile.0)?;
        let instructions = text.lines().find_map(|line| line.strip_prefix("totals: ")?.parse().ok());
        match instructions {
            Some(instructions) if instructions > 0 => {
                Ok((instructions, String::from_utf8(output.stdout)?.trim().parse()?))
            }
            _ => Err("callgrind counted no instruction".into()),
        }
    }
}

/// By title and path.
type Costs = BTreeMap<(String, String), Cost>;

fn main() -> ExitCode {
    program::run(|mut arguments| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("ratchet.md");
        let (section, reason) = (arguments.option::<String>("only")?, arguments.option::<String>("write")?);
        match (section, reason, &arguments.words()?[..]) {
            // Runs a path in this process.
            (Some(section), _, [title, path, rows]) => {
                println!("{}", run_only(&section, title, path, rows.parse()?)?);
                Ok(())
            }
            (None, Some(reason), []) => write(&file, &reason),
            (None, None, []) => compare_with(&file),
            _ => Err("there are too many or too few words".into()),
        }
    })
}

fn write(file: &Path, reason: &str) -> Result<(), Failure> {
    let reasons = fs::read_to_string(file).map_or(Vec::new(), |text| Table::parse(&text).reasons);
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let paths = all_paths();
    let runs = [measure(&paths)?, measure(&paths)?, measure(&paths)?];
    let mut table = Table { tools: tools()?, costs: medians(&runs), reasons };
    table.reasons.push(format!("{today}: {reason}"));
    Ok(fs::write(file, table.text())?)
}

fn compare_with(file: &Path) -> Result<(), Failure> {
    let (table, tools) = (Table::parse(&fs::read_to_string(file)?), tools()?);
    if tools != table.tools {
        return Err(format!(
            "{} has the figures of {}, and this machine has {tools}: figures of different tools do not compare. \
             Write them again in a commit of its own, from the same code.",
            file.display(),
            table.tools
        )
        .into());
    }
    let mut paths = all_paths();
    let mut costs = measure(&paths)?;
    for _ in 1..TRIES {
        let old = |path: &HeldPath| table.costs.get(&path.at()).copied();
        paths.retain(|path| old(path).is_some_and(|old| old.differs(costs[&path.at()]).is_some()));
        for (at, again) in measure(&paths)? {
            let old = table.costs[&at].instructions;
            let kept = costs.entry(at).or_insert(again);
            if (again.instructions - old).abs() < (kept.instructions - old).abs() {
                *kept = again;
            }
        }
    }
    compare(&table.costs, &costs)
}

/// Prints both, and which paths differ.
fn compare(before: &Costs, after: &Costs) -> Result<(), Failure> {
    let mut differ = 0;
    let mut title = "";
    for (at, new) in after {
        if at.0 != title {
            title = &at.0;
            println!("\n{title}");
        }
        let Some(old) = before.get(at) else {
            println!("  {:48} {:12.1} instructions, and not in the table", at.1, new.instructions);
            differ += 1;
            continue;
        };
        let mark = old.differs(*new).map_or(String::new(), |what| format!("  <-- {what}"));
        differ += usize::from(!mark.is_empty());
        println!(
            "  {:48} {:10.1} -> {:10.1} instructions, {:.3} x; {:6.2} -> {:6.2} allocations{mark}",
            at.1,
            old.instructions,
            new.instructions,
            new.instructions / old.instructions,
            old.allocations,
            new.allocations
        );
    }
    for (title, path) in before.keys().filter(|at| !after.contains_key(*at)) {
        println!("\n{title}: {path}: in the table, and not measured");
        differ += 1;
    }
    println!("\n{differ} of {} paths differ by more than {} %", after.len(), 100.0 * TOLERANCE);
    match differ {
        0 => Ok(()),
        _ => Err("the instructions and allocations are not those of the table".into()),
    }
}

fn all_paths() -> Vec<HeldPath> {
    let paths = |held: &'static Held| {
        let titles = held.titles.iter();
        titles.flat_map(move |title| held.paths.iter().map(move |path| HeldPath { held, title, path }))
    };
    HELD.iter().flat_map(paths).collect()
}

/// Measures paths, as many at a time as there are cores.
fn measure(paths: &[HeldPath]) -> Result<Costs, Failure> {
    let (next, costs) = (Mutex::new(paths.iter()), Mutex::new(Costs::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let work = || -> Result<(), Failure> {
        loop {
            let path = next.lock().unwrap().next();
            let Some(path) = path else { return Ok(()) };
            let cost = path.cost().map_err(|error| format!("{}, {}: {error}", path.title, path.path))?;
            costs.lock().unwrap().insert(path.at(), cost);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap())
    })?;
    Ok(costs.into_inner()?)
}

/// The median of three runs, for each path that all of them measured.
fn medians(runs: &[Costs; 3]) -> Costs {
    let median = |at: &(String, String)| {
        let mut costs = [*runs[0].get(at)?, *runs[1].get(at)?, *runs[2].get(at)?];
        costs.sort_by(|a, b| a.instructions.total_cmp(&b.instructions));
        Some((at.clone(), costs[1]))
    };
    runs[0].keys().filter_map(median).collect()
}

/// A file that callgrind writes; removed when dropped.
struct Profile(PathBuf);

impl Profile {
    fn new() -> Self {
        let name = format!("keyderive-ratchet-{}-{:?}", std::process::id(), thread::current().id());
        Self(env::temp_dir().join(name))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The tools that decide how many instructions a program has.
fn tools() -> Result<String, Failure> {
    let version = |program: &str| -> Result<String, Failure> {
        let output =
            Command::new(program).arg("--version").output().map_err(|error| format!("{program}: {error}"))?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    Ok(format!("{}, {}, {}", version("rustc")?, version("valgrind")?, env::consts::ARCH))
}

/// The file.
struct Table {
    tools: String,
    costs: Costs,
    reasons: Vec<String>,
}

const ABOUT: &str = "\
# Instructions and allocations of the hot paths

`.ci/ratchet` fails if a path takes over 1 % more or less. `cargo run --release -p keyderive-bench --bin ratchet -- --write \"why\"` writes
this file; a commit that changes a figure says why, here and in its message. Figures are for a unit of the table that the benchmark
`hot-paths` prints: a row, an operation, a key. Only the client's thread counts.
";

impl Table {
    fn text(&self) -> String {
        let mut text = format!("{ABOUT}\nMeasured by {}.\n", self.tools);
        let mut shown = "";
        for ((title, path), cost) in &self.costs {
            if title != shown {
                shown = title;
                let _ =
                    write!(text, "\n## {title}\n\n| path | instructions | allocations |\n|---|---|---|\n");
            }
            let _ = writeln!(text, "| {path} | {:.1} | {:.2} |", cost.instructions, cost.allocations);
        }
        text.push_str("\n## Why figures changed\n\n");
        for reason in &self.reasons {
            let _ = writeln!(text, "- {reason}");
        }
        text
    }

    fn parse(text: &str) -> Self {
        let of_lines = |start| text.lines().filter_map(move |line| line.strip_prefix(start));
        let tools = of_lines("Measured by ").next().unwrap_or_default().trim_end_matches('.').to_owned();
        let reasons = of_lines("- ").map(str::to_owned).collect();
        let costs = lines_of_tables(text).filter_map(|(title, cells)| {
            let &[path, instructions, allocations] = &cells[..] else { return None };
            let cost =
                Cost { instructions: instructions.parse().ok()?, allocations: allocations.parse().ok()? };
            Some(((title.to_owned(), path.to_owned()), cost))
        });
        let costs = costs.collect();
        Self { tools, costs, reasons }
    }
}
