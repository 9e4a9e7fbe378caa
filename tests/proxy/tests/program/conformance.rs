//! Google's conformance suite for Bigtable clients, against the proxy.
//!
//! `.ci/run` builds the suite in the version that `tests/proxy/conformance/go.mod` pins, and names it by [`SUITE`].

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use keyderive_tests::left_out;

use crate::{Program, free_port};

/// The variable that names the folder of the suite's programs.
const SUITE: &str = "KEYDERIVE_CONFORMANCE_SUITE";

/// The program of most tests, and that of the one with an emulator.
const TESTS: &str = "tests";
const EMULATOR_TESTS: &str = "emulator-tests";

/// The variable that says how often the suite runs, if not once.
const RUNS: &str = "KEYDERIVE_CONFORMANCE_RUNS";

/// How many of its tests pass, beside [`FEATURES`].
const PASSING: usize = 107;

/// The test of the client's features, which does nothing without its flag.
const FEATURES: &str = "TestFeatureGap";

/// Features that Google's Java client has and this one does not. None of them changes what a call does: metrics that the client
/// sends to Google, and two ways past Google's front ends.
const ABSENT_FEATURES: [&str; 3] =
    ["client_side_metrics_enabled", "direct_access_requested", "traffic_director_enabled"];

/// A program of the suite, if it is built. If not, prints that it is left out.
fn program(name: &str) -> Option<PathBuf> {
    let folder = env::var_os(SUITE).filter(|folder| !folder.is_empty());
    if folder.is_none() {
        left_out(&format!("Google's conformance suite (`.ci/run` builds it, and `{SUITE}` names it)"));
    }
    Some(Path::new(&folder?).join(name))
}

/// The tests that passed and those that failed, by their names; with subtests after a slash.
#[derive(Default)]
struct Results {
    passed: Vec<String>,
    failed: BTreeSet<String>,
}

/// Runs a program of the suite with these arguments.
fn run(suite: &Path, arguments: &[&str]) -> Results {
    let emulator = format!("localhost:{}", free_port());
    let emulator = [("BIGTABLE_EMULATOR_HOST", emulator.as_str())];
    let proxy = Program::start_with(&emulator);
    let output = Command::new(suite)
        .args(["-test.v", "-proxy_addr", &format!("localhost:{}", proxy.port)])
        .args(arguments)
        .envs(emulator)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut results = Results::default();
    for line in printed.lines().map(str::trim_start) {
        let name = |rest: &str| rest.split(' ').next().unwrap_or_default().to_owned();
        if let Some(rest) = line.strip_prefix("--- PASS: ") {
            results.passed.push(name(rest));
        } else if let Some(rest) = line.strip_prefix("--- FAIL: ").or_else(|| line.strip_prefix("--- SKIP: "))
        {
            results.failed.insert(name(rest));
        }
    }
    let ended = printed.lines().any(|line| line == "PASS" || line == "FAIL");
    let is_as_printed = ended && output.status.success() == results.failed.is_empty();
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_expected = results.failed.is_empty() || arguments.contains(&"-enable_features_all");
    assert!(is_as_printed && is_expected, "{printed}\n{errors}");
    results
}

#[test]
fn the_client_passes_the_conformance_suite() {
    let Some(suite) = program(TESTS) else { return };
    let runs = env::var(RUNS).map_or(1, |runs| runs.parse().unwrap());
    let results = run(&suite, &["-test.skip", FEATURES, "-test.count", &runs.to_string()]);
    println!("{} tests of Google's conformance suite passed, in {runs} runs", results.passed.len());
    assert_eq!(results.passed.len(), PASSING * runs);
}

#[test]
fn the_client_finds_an_emulator_by_the_environment() {
    let Some(suite) = program(EMULATOR_TESTS) else { return };
    assert_eq!(run(&suite, &["-test.run", "TestEmulator_EnvVar"]).passed, ["TestEmulator_EnvVar"]);
}

#[test]
fn the_client_announces_its_features() {
    let Some(suite) = program(TESTS) else { return };
    let results = run(&suite, &["-test.run", FEATURES, "-enable_features_all"]);
    let absent = ABSENT_FEATURES.map(|feature| format!("{FEATURES}/{feature}"));
    let expected: BTreeSet<_> = absent.into_iter().chain([FEATURES.to_owned()]).collect();
    assert_eq!(results.failed, expected);
    println!("{} features are announced, and {} are absent", results.passed.len(), ABSENT_FEATURES.len());
}
