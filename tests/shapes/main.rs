//! Generated programs: each compiles without a warning and works, or is refused by one error at the token at fault.
//!
//! A program is a module with a type that derives, in any shape that the documentation names, among names that generated code could trip
//! over. Half of the programs break one rule. Those of a batch are compiled together, by one call of the compiler; what compiles then runs.
//! Programs that found a fault of the derives are kept in `cases`.

mod compiler;
mod key_faults;
mod keys;
mod program;
mod row_faults;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fastrand::Rng;
use keyderive_tests::{amount, variable};

use self::compiler::{Diagnostic, Folder};
use self::program::{Program, Scene};

/// Lints that the programs of users deny.
const LINTS: &str = "
#![warn(future_incompatible, let_underscore, nonstandard_style, rust_2018_idioms, rust_2021_compatibility, rust_2024_compatibility, unused)]
#![warn(
    elided_lifetimes_in_paths, explicit_outlives_requirements, meta_variable_misuse, missing_debug_implementations, missing_docs,
    redundant_imports, redundant_lifetimes, single_use_lifetimes, trivial_casts, trivial_numeric_casts, unit_bindings, unnameable_types,
    unreachable_pub, unused_import_braces, unused_lifetimes, unused_macro_rules, unused_qualifications, unused_results,
    variant_size_differences
)]
#![forbid(unsafe_code)]
";

/// How many programs are compiled at once.
const BATCH: usize = 100;

/// The program of a seed: of odd ones, one that breaks a rule.
fn program(seed: u64) -> Program {
    let mut rng = Rng::with_seed(seed);
    let name = format!("p{seed}");
    let scene = Scene::random(&mut rng);
    match seed % 4 {
        0 => keys::KeyType::random(&mut rng, &scene).program(name, &scene),
        1 => key_faults::program(&mut rng, seed / 4, name, &scene),
        2 => rows::RowType::random(&mut rng, &scene).program(name, &scene),
        _ => row_faults::program(&mut rng, seed / 4, name, &scene),
    }
}

/// What is wrong with programs, by their names.
type Failures = BTreeMap<String, Vec<String>>;

/// Compiles and runs programs, and returns what is wrong with them.
fn failures(folder: &str, programs: &[Program]) -> Failures {
    let folder = Folder::new(folder);
    folder.write("support.rs", include_str!("support.rs"));
    for program in programs {
        folder.write(&format!("{}.rs", program.name), &program.text);
    }
    let (refused, valid): (Vec<&Program>, Vec<&Program>) =
        programs.iter().partition(|program| program.fault().is_some());
    let mut failures = works(&folder, valid);
    failures.append(&mut is_refused(&folder, refused));
    failures
}

fn crate_of(programs: &[&Program]) -> String {
    let modules: String = programs.iter().map(|program| format!("pub mod {};\n", program.name)).collect();
    let names = programs.iter().map(|program| &program.name);
    let runs: String =
        names.map(|name| format!("    has_passed &= support::program({name:?}, {name}::run);\n")).collect();
    format!(
        "//! Generated.\n{LINTS}\npub mod support;\n{modules}\n/// Runs all, and returns whether they passed.\n#[must_use]\npub fn run() -> bool {{\n    \
         let mut has_passed = true;\n{runs}    has_passed\n}}\n"
    )
}

/// Programs that must compile without a word, and run.
fn works(folder: &Folder, mut programs: Vec<&Program>) -> Failures {
    let mut failures = Failures::new();
    // A program with an error is left out, so that the others run.
    while !programs.is_empty() {
        folder.write("valid.rs", &crate_of(&programs));
        let said = folder.compile("valid", "lib", &["-Cdebuginfo=0"]);
        if said.is_empty() {
            break;
        }
        for Diagnostic { file, rendered, .. } in said {
            failures.entry(file).or_default().push(rendered);
        }
        let before = programs.len();
        programs.retain(|program| !failures.contains_key(&program.name));
        assert!(programs.len() < before, "the crate has a fault outside of the programs: {failures:?}");
    }
    if programs.is_empty() {
        return failures;
    }
    folder.write("run.rs", "fn main() {\n    assert!(valid::run());\n}\n");
    let said = folder.compile("run", "bin", &["-L.", "--extern=valid=libvalid.rlib"]);
    assert!(said.is_empty(), "{said:?}");
    let output = folder.run("run");
    let [out, error] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    for name in out.lines().filter_map(|line| line.strip_prefix("failed: ")) {
        failures.entry(name.to_owned()).or_default().push(error.clone());
    }
    assert!(output.status.success() || !failures.is_empty(), "{out}{error}");
    failures
}

/// Programs with one fault each: the compiler says one thing of each, at the token at fault.
fn is_refused(folder: &Folder, mut programs: Vec<&Program>) -> Failures {
    let mut failures = Failures::new();
    // An error of the derive can keep the compiler from later checks, so programs without an error are compiled once more.
    while !programs.is_empty() {
        folder.write("refused.rs", &crate_of(&programs));
        let mut said: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        for diagnostic in folder.compile("refused", "lib", &["--emit=metadata"]) {
            said.entry(diagnostic.file.clone()).or_default().push(diagnostic);
        }
        let judged: BTreeSet<String> = said.keys().cloned().collect();
        for program in &programs {
            let expected = program.fault().unwrap();
            let texts = |all: &[Diagnostic]| all.iter().map(|one| one.rendered.clone()).collect::<Vec<_>>();
            match said.get(&program.name).map(Vec::as_slice) {
                Some([one]) if one.span == expected => {}
                Some([one]) => {
                    let texts =
                        vec![format!("the error is at {:?}, not {expected:?}\n{}", one.span, one.rendered)];
                    failures.insert(program.name.clone(), texts);
                }
                Some(all) => {
                    failures.insert(program.name.clone(), texts(all));
                }
                None => {}
            }
        }
        let before = programs.len();
        programs.retain(|program| !judged.contains(&program.name));
        if programs.len() == before {
            for program in programs {
                failures.insert(program.name.clone(), vec!["it compiles".into()]);
            }
            break;
        }
    }
    failures
}

/// Fails with every program that failed, whole.
fn report(programs: &[Program], failures: &Failures) {
    let mut text = String::new();
    for program in programs {
        if let Some(said) = failures.get(&program.name) {
            text.push_str(&format!("== {}\n{}\n{}\n", program.name, program.numbered(), said.join("\n")));
        }
    }
    let foreign = failures.keys().filter(|name| programs.iter().all(|program| program.name != **name));
    for name in foreign {
        text.push_str(&format!("== {name}\n{}\n", failures[name].join("\n")));
    }
    assert!(text.is_empty(), "{} programs failed\n{text}", failures.len());
}

/// Each program is that of a number from the seed on, so a failure is repeated by its number alone: `KEYDERIVE_SHAPES_SEED` with
/// `KEYDERIVE_SHAPES=1`.
#[rustversion::attr(
    not(stable(1.95)),
    ignore = "the places of the compiler's own errors, and its lints, are those of Rust 1.95"
)]
#[test]
fn generated_programs_work_or_are_refused_at_the_token() {
    let count = amount("KEYDERIVE_SHAPES", "generated programs", 60, 1_000);
    let seed = variable("KEYDERIVE_SHAPES_SEED", 0);
    println!("seed {seed}, {count} programs");
    let programs: Vec<Program> = (seed..seed + count).map(program).collect();
    let mut all = Failures::new();
    for batch in programs.chunks(BATCH) {
        all.append(&mut failures("shapes", batch));
    }
    report(&programs, &all);
}

/// Programs that a derive treated otherwise once.
#[rustversion::attr(
    not(stable(1.95)),
    ignore = "the places of the compiler's own errors, and its lints, are those of Rust 1.95"
)]
#[test]
fn cases_work_or_are_refused_at_the_token() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let cases: Vec<Program> = files
        .map(|file| Program {
            name: file.file_stem().unwrap().to_str().unwrap().to_owned(),
            text: fs::read_to_string(&file).unwrap(),
        })
        .collect();
    assert!(!cases.is_empty(), "no case was found");
    report(&cases, &failures("cases", &cases));
}
