//! A copy of the repository with all mutants, and the programs of its tests.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::points::{LeftOut, Source};

/// The folders of the crates with mutants.
const CRATES: [&str; 4] = ["keyderive", "keyderive-macros", "crates/embedded", "crates/layout"];

/// The tests that look for mutants.
const TESTS: [&str; 21] = [
    "-p=keyderive",
    "-p=keyderive-embedded",
    "-p=keyderive-macros",
    "-p=keyderive-tests",
    "-p=keyderive-format-tests",
    "--lib",
    "--test=keys",
    "--test=tables",
    "--test=client",
    "--test=embedded",
    "--test=formats",
    "--test=rekeying",
    // Some unit tests need these, which no other package turns on.
    "--features=keyderive/metrics,keyderive/proto",
    // What most tests run is optimized, what most code is compiled for is not.
    "--config=profile.dev.package.keyderive.opt-level=1",
    "--config=profile.dev.package.keyderive-embedded.opt-level=1",
    "--config=profile.dev.package.keyderive-farmhash.opt-level=1",
    "--config=profile.dev.package.keyderive-switch.opt-level=1",
    "--config=profile.dev.package.md-5.opt-level=1",
    "--config=profile.dev.package.regex-automata.opt-level=1",
    "--config=term.quiet=true",
    "--offline",
];

/// How often the compiler may refuse some mutants.
const BUILDS: usize = 40;

/// One mutant. Mutant `n` has the number `n + 1` in the code.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    pub(crate) file: String,
    /// The function, and what differs.
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) is_refused: bool,
}

impl Mutant {
    /// A name in the whole repository.
    pub(crate) fn key(&self) -> String {
        format!("{}\t{}", self.file, self.name)
    }
}

/// A program of tests.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) libraries: String,
}

pub(crate) struct Tree {
    pub(crate) mutants: Vec<Mutant>,
    pub(crate) programs: Vec<Program>,
    pub(crate) left_out: LeftOut,
}

struct MutatedFile {
    path: String,
    source: Source,
    /// The index in `mutants` of each point that is one.
    mutants: Vec<Option<usize>>,
    /// Of the points in the mutated file.
    ranges: Vec<Range<usize>>,
}

impl Tree {
    /// Copies the repository at `root` to a folder, and builds it without the mutants that the compiler refuses.
    pub(crate) fn build(
        root: &Path,
        folder: &Path,
        target: &Path,
        is_mutated: impl Fn(&str) -> bool,
    ) -> Self {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = Command::new("git").args(list).current_dir(root).output().unwrap();
        let refused_file = folder.join("refused");
        let refused: BTreeSet<String> =
            fs::read_to_string(&refused_file).unwrap_or_default().lines().map(str::to_owned).collect();
        let tree = folder.join("tree");
        let (mut mutants, mut files, mut left_out) = (Vec::new(), Vec::new(), LeftOut::default());
        for path in String::from_utf8(listed.stdout).unwrap().split_terminator('\0') {
            // A file that is deleted and not committed is listed.
            let Ok(bytes) = fs::read(root.join(path)) else { continue };
            if !is_mutated(path) {
                write(&tree.join(path), &with_switch(path, bytes));
                continue;
            }
            let source = Source::parse(String::from_utf8(bytes).unwrap()).unwrap();
            left_out.const_functions += source.left_out.const_functions;
            left_out.constants += source.left_out.constants;
            left_out.macro_calls += source.left_out.macro_calls;
            left_out.macro_rules += source.left_out.macro_rules;
            let numbered = source.points.iter().map(|point| {
                (!point.text.is_empty()).then(|| {
                    let name = format!("{}: {}", point.function, point.text);
                    let mut mutant =
                        Mutant { file: path.to_owned(), name, line: point.line, is_refused: false };
                    mutant.is_refused = refused.contains(&mutant.key());
                    mutants.push(mutant);
                    mutants.len() - 1
                })
            });
            let numbered = numbered.collect();
            files.push(MutatedFile { path: path.to_owned(), source, mutants: numbered, ranges: Vec::new() });
        }
        let switch = "[package]\nname = \"keyderive-switch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
        write(&tree.join("switch/Cargo.toml"), switch.as_bytes());
        write(&tree.join("switch/src/lib.rs"), include_bytes!("switch.rs"));
        for _ in 0..BUILDS {
            for file in &mut files {
                let number = |point: usize| {
                    let index = file.mutants[point].filter(|index| !mutants[*index].is_refused)?;
                    Some(u32::try_from(index + 1).unwrap())
                };
                let (text, ranges) = file.source.mutated(number);
                file.ranges = ranges;
                write(&tree.join(&file.path), text.as_bytes());
            }
            let (programs, errors) = compile(&tree, target);
            if errors.is_empty() {
                return Self { mutants, programs, left_out };
            }
            let before = mutants.iter().filter(|mutant| mutant.is_refused).count();
            for error in &errors {
                refuse(error, &files, &mut mutants);
            }
            let refused: Vec<_> =
                mutants.iter().filter(|mutant| mutant.is_refused).map(Mutant::key).collect();
            let rendered = errors.iter().filter_map(|error| error.rendered.as_deref());
            assert!(
                refused.len() > before,
                "no mutant is at the place of these errors:\n{}",
                rendered.collect::<String>()
            );
            println!(
                "the compiler refuses {} more mutants, {} in all",
                refused.len() - before,
                refused.len()
            );
            fs::write(&refused_file, refused.join("\n")).unwrap();
        }
        panic!("the compiler still refuses mutants after {BUILDS} builds");
    }
}

/// Writes a file unless it is so already: cargo builds by the time of a change.
fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn with_switch(path: &str, bytes: Vec<u8>) -> Vec<u8> {
    if CRATES.iter().any(|name| path == format!("{name}/src/lib.rs")) {
        return [b"#![allow(warnings)]\n", &bytes[..]].concat();
    }
    let Some(folder) = CRATES.iter().find(|name| path == format!("{name}/Cargo.toml")) else { return bytes };
    let top = "../".repeat(folder.split('/').count());
    let text = String::from_utf8(bytes).unwrap();
    let switch = format!("\n[dependencies]\nkeyderive-switch = {{ path = \"{top}switch\" }}\n");
    text.replace("\n[dependencies]\n", &switch).into_bytes()
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: Option<String>,
    spans: Vec<Place>,
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Place {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
}

/// The programs of the tests, or the errors.
fn compile(tree: &Path, target: &Path) -> (Vec<Program>, Vec<Diagnostic>) {
    let libraries = Command::new("rustc").args(["--print", "target-libdir"]).output().unwrap();
    let libraries = String::from_utf8(libraries.stdout).unwrap().trim().to_owned();
    let mut command = Command::new("cargo");
    command.args(["test", "--no-run", "--message-format=json"]).args(TESTS).current_dir(tree);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0").stdout(Stdio::piped());
    let mut cargo = command.spawn().unwrap();
    let (mut programs, mut errors) = (Vec::new(), Vec::new());
    for line in BufReader::new(cargo.stdout.take().unwrap()).lines() {
        let message: Message = serde_json::from_str(&line.unwrap()).unwrap();
        if let (Some(path), Some(manifest)) = (message.executable, message.manifest_path) {
            let (folder, libraries) = (manifest.parent().unwrap().to_owned(), libraries.clone());
            programs.push(Program { path, folder, libraries });
        }
        if let Some(error) = message.message.filter(|error| error.level == "error" && !error.spans.is_empty())
        {
            assert_eq!(message.reason, "compiler-message");
            errors.push(error);
        }
    }
    let status = cargo.wait().unwrap();
    assert!(status.success() || !errors.is_empty(), "cargo failed: {status}");
    (programs, errors)
}

/// Leaves out the innermost mutants that an error names; if it names none, all of the function that it is in.
fn refuse(error: &Diagnostic, files: &[MutatedFile], mutants: &mut [Mutant]) {
    let places = error.spans.iter().chain(error.children.iter().flat_map(|child| &child.spans));
    let places = places.filter_map(|place| {
        let file = files.iter().find(|file| file.path == place.file_name)?;
        Some((file, place.byte_start..place.byte_end))
    });
    let places: Vec<_> = places.collect();
    let around =
        |outer: &Range<usize>, inner: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
    let mut refused = Vec::new();
    for (file, place) in &places {
        let points = file.ranges.iter().enumerate().filter(|(_, range)| around(range, place));
        let points = points.filter_map(|(point, range)| Some((range.len(), file.mutants[point]?)));
        refused.extend(points.filter(|(_, index)| !mutants[*index].is_refused).min().map(|(_, index)| index));
    }
    if refused.is_empty() {
        for (file, place) in &places {
            let functions = file.ranges.iter().enumerate();
            let functions =
                functions.filter(|(point, range)| file.mutants[*point].is_none() && around(range, place));
            let Some((_, function)) = functions.min_by_key(|(_, range)| range.len()) else { continue };
            let inside = file.ranges.iter().enumerate().filter(|(_, range)| around(function, range));
            refused.extend(inside.filter_map(|(point, _)| file.mutants[point]));
        }
    }
    for index in refused {
        mutants[index].is_refused = true;
    }
}
