//! What a misuse of the derive says.
//!
//! `<rule>/<case>.rs` breaks one rule each, and `<case>.stderr` beside it is all that the compiler says of it.
//! `TRYBUILD=overwrite cargo test -p keyderive-ui-tests` writes the words anew; read them before they are
//! committed, since they are what users see.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use keyderive_tests::runs_long;

#[rustversion::attr(
    not(stable(1.95)),
    ignore = "half of each message is the compiler's: the .stderr files are the words of Rust 1.95"
)]
#[test]
fn misuse_does_not_compile() {
    let is_overwritten = std::env::var_os("TRYBUILD").is_some();
    if !is_overwritten && !runs_long("the compiler's messages, for which dependencies are built once more") {
        return;
    }
    trybuild::TestCases::new().compile_fail("*/*.rs");
}

#[test]
fn every_case_has_an_expected_message() {
    let cases = stems("rs");
    let words = stems("stderr");
    let orphans: Vec<_> = words.difference(&cases).collect();
    let silent: Vec<_> = cases.difference(&words).collect();
    assert!(!cases.is_empty(), "no case was found");
    assert!(orphans.is_empty(), ".stderr files without a case: {orphans:?}");
    assert!(silent.is_empty(), "cases without a .stderr file: {silent:?}");
}

/// The files with an extension, each as `<rule>/<case>`.
fn stems(extension: &str) -> BTreeSet<PathBuf> {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = ui.read_dir().unwrap().map(|rule| rule.unwrap().path());
    rules
        .filter(|rule| rule.is_dir())
        .flat_map(|rule| rule.read_dir().unwrap().map(|case| case.unwrap().path()))
        .filter(|case| case.extension().is_some_and(|found| found == extension))
        .map(|case| case.strip_prefix(ui).unwrap().with_extension(""))
        .collect()
}
