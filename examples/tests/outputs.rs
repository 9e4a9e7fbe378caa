//! Compares the output of each example, in memory and on the emulator, with a file of the folder `outputs`.
//!
//! `KEYDERIVE_BLESS=1 cargo test -p keyderive-examples` rewrites the files with the output in memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use keyderive_tests::emulator::Emulator;
use keyderive_tests::{left_out, runs_long};

/// Set to rewrite the files.
const BLESS: &str = "KEYDERIVE_BLESS";

/// Names a file of all departures of 2013.
const FLIGHTS: &str = "KEYDERIVE_FLIGHTS";

/// The address of an example's Bigtable; in memory by default.
const ADDRESS: &str = "KEYDERIVE_ADDRESS";

/// Makes two tests of each example.
macro_rules! examples {
    ($($name:ident $args:expr;)*) => {
        $(mod $name {
            const EXPECTED: &str = concat!(stringify!($name), ".txt");

            #[test]
            fn in_memory() {
                super::in_memory(stringify!($name), &$args, EXPECTED);
            }

            #[test]
            fn on_the_emulator() {
                super::on_the_emulator(stringify!($name), &$args, EXPECTED);
            }
        })*

        const EXAMPLES: &[&str] = &[$(stringify!($name)),*];
    };
}

examples! {
    celebrity_posts [];
    energy_meters [];
    flights [];
    load [];
    market_data [];
    rekey [];
    server_metrics [];
    sharded_users [];
    weather [];
}

/// README's program, which takes no address.
const QUICKSTART: &str = "quickstart";

#[test]
fn quickstart() {
    let output = printed(QUICKSTART, &[], None);
    bless("quickstart.txt", &output);
    compare(&output, "quickstart.txt");
}

#[test]
fn all_flights() {
    match env::var(FLIGHTS) {
        Ok(path) => in_memory("flights", &[&path], "all_flights.txt"),
        Err(_) => {
            left_out(&format!("the example `flights` with all departures (`{FLIGHTS}` names the file)"))
        }
    }
}

#[test]
fn no_example_is_left_out() {
    let files = fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let names: BTreeSet<_> =
        sources.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, EXAMPLES.iter().chain([&QUICKSTART]).map(|name| (*name).to_owned()).collect());
}

fn in_memory(example: &str, args: &[&str], expected: &str) {
    let (target, output) = run(example, args, None);
    assert_eq!(target, "target: embedded Bigtable (in memory)");
    bless(expected, &output);
    compare(&output, expected);
}

/// Runs the example twice, because the tables of an emulator outlive it.
fn on_the_emulator(example: &str, args: &[&str], expected: &str) {
    // It waits for leases.
    if example == "rekey" && !runs_long("the example `rekey` on the emulator") {
        return;
    }
    let Some(emulator) = Emulator::start() else { return };
    for _ in 0..2 {
        let (target, output) = run(example, args, Some(&emulator.host()));
        assert_eq!(target, format!("target: emulator at {}", emulator.host()));
        compare(&output, expected);
    }
}

/// The first line that an example prints, and the others.
fn run(example: &str, args: &[&str], emulator: Option<&str>) -> (String, String) {
    let printed = printed(example, args, emulator);
    let (target, rest) = printed.split_once('\n').unwrap();
    (target.to_owned(), rest.to_owned())
}

fn printed(example: &str, args: &[&str], emulator: Option<&str>) -> String {
    let mut command = Command::new(executable(example));
    command.env_remove(ADDRESS);
    let output =
        command.args(args).envs(emulator.map(|host| (ADDRESS, format!("emulator://{host}")))).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{example}` has failed, {}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The executable that cargo builds for the example before it runs all tests of the package.
fn executable(example: &str) -> PathBuf {
    let this = env::current_exe().unwrap();
    let folder = this.parent().and_then(Path::parent).unwrap().join("examples");
    let executable = folder.join(example).with_extension(env::consts::EXE_EXTENSION);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(example).with_extension("rs");
    let built = |path: &Path| path.metadata().and_then(|metadata| metadata.modified());
    let is_new = built(&executable).is_ok_and(|time| time >= built(&source).unwrap());
    // With `--test` or a test's name, cargo builds no examples.
    assert!(is_new, "`{example}` is not built: run `cargo build -p keyderive-examples --examples` first");
    executable
}

fn bless(expected: &str, output: &str) {
    if env::var_os(BLESS).is_some() {
        fs::write(file(expected), output).unwrap();
    }
}

fn compare(output: &str, expected: &str) {
    let wanted = fs::read_to_string(file(expected)).unwrap_or_default();
    assert_eq!(
        output, wanted,
        "the output is not that of `{expected}`; `{BLESS}=1` rewrites the file with the output in memory"
    );
}

fn file(expected: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs").join(expected)
}
