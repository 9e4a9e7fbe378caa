//! Is this tree slower than a commit before it? Runs the benchmark `hot-paths` of both in turn, and prints the ratio of each path.
//!
//! `cargo run --release -p keyderive-bench --bin in-turn -- COMMIT [--runs N] [--rows N] [section …]`; by default 3 runs of 400,000 rows, and
//! all sections. The commit is built in a folder of its own below the build folder.
//!
//! For each path the least processor time of all runs counts, since other load only adds. It needs two idle cores; paths by hand and peers,
//! which no commit changes, show how far the runs themselves differ. Instructions, which do not depend on load, are held by `--bin ratchet`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use keyderive_bench::program::{self, Failure, lines_of_tables};

/// A path that is slower by more than this is marked.
const SLOWER: f64 = 1.03;

fn main() -> ExitCode {
    program::run(|mut arguments| {
        let (runs, rows) = (arguments.option("runs")?, arguments.option::<u32>("rows")?);
        let words = arguments.words()?;
        let (commit, sections) = words.split_first().ok_or("which commit is compared?")?;
        run(commit, sections, runs.unwrap_or(3), rows.unwrap_or(400_000))
    })
}

fn run(commit: &str, sections: &[String], runs: usize, rows: u32) -> Result<(), Failure> {
    let [before, after] = builds(commit)?;
    let mut least: [Vec<Cost>; 2] = [Vec::new(), Vec::new()];
    for run in 0..runs {
        // Whichever is first finds another machine.
        let order = if run % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            let program = [&before, &after][which];
            let rows = rows.to_string();
            let options = ["--rows", &rows, "--runs", "3"];
            let arguments = options.into_iter().chain(sections.iter().map(String::as_str));
            keep_least(&mut least[which], &output(program, arguments, Path::new("."))?);
        }
    }
    let [before, after] = least;
    let (mut slower, mut title) = (0, "");
    for new in &after {
        let Some(old) = before.iter().find(|old| old.title == new.title && old.path == new.path) else {
            continue;
        };
        if new.title != title {
            title = &new.title;
            println!("\n{title}");
        }
        let ratio = new.nanos / old.nanos;
        let is_slower =
            ratio > SLOWER && ["keyderive", "the same"].iter().any(|ours| new.path.contains(ours));
        slower += usize::from(is_slower);
        let mark = if is_slower { "  <-- slower" } else { "" };
        println!("  {:60} {:10.1} -> {:10.1} ns  {ratio:.2}{mark}", new.path, old.nanos, new.nanos);
    }
    println!("\n{slower} paths are slower by more than {SLOWER}");
    Ok(())
}

/// The benchmark of the commit, and of this tree.
fn builds(commit: &str) -> Result<[PathBuf; 2], Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = PathBuf::from(output("git", ["rev-parse", "--show-toplevel"], here)?.trim());
    let commit = output("git", ["rev-parse", "--verify", &format!("{commit}^{{commit}}")], &top)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top.join("target"), PathBuf::from);
    let folder = std::path::absolute(target)?.join("in-turn");
    let tree = folder.join("tree");
    std::fs::create_dir_all(&folder)?;
    if !tree.exists() {
        let clone = ["clone", "--quiet", "--shared", "--no-checkout"].map(OsStr::new);
        output("git", clone.into_iter().chain([top.as_os_str(), tree.as_os_str()]), &top)?;
    }
    output("git", ["checkout", "--quiet", "--detach", commit.trim()], &tree)?;
    let build = |tree: &Path, target: PathBuf| -> Result<PathBuf, Failure> {
        let arguments =
            "build --release --quiet --locked -p keyderive-bench --bin hot-paths --target-dir".split(' ');
        output("cargo", arguments.map(OsStr::new).chain([target.as_os_str()]), tree)?;
        Ok(target.join("release/hot-paths"))
    };
    Ok([build(&tree, folder.join("before"))?, build(&top, folder.join("after"))?])
}

/// What a program prints.
fn output(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    folder: &Path,
) -> Result<String, Failure> {
    let program = program.as_ref();
    let output = Command::new(program).args(arguments).current_dir(folder).output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

struct Cost {
    title: String,
    path: String,
    nanos: f64,
}

/// Adds the costs of these tables in Markdown, of which the least count.
fn keep_least(least: &mut Vec<Cost>, tables: &str) {
    for (title, cells) in lines_of_tables(tables) {
        let &[path, time, ..] = &cells[..] else { continue };
        let Some(nanos) = time.strip_suffix(" ns").and_then(|nanos| nanos.parse::<f64>().ok()) else {
            continue;
        };
        match least.iter_mut().find(|cost| cost.title == title && cost.path == path) {
            Some(cost) => cost.nanos = cost.nanos.min(nanos),
            None => least.push(Cost { title: title.to_owned(), path: path.to_owned(), nanos }),
        }
    }
}
