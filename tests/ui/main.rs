//! What the compiler says of a misuse.
//!
//! `<subject>.rs` has several, and `<subject>.stderr` beside it is all that the compiler says of them. What the derives find without the
//! compiler is in `keyderive-macros/src/tests/messages`, and here only a sample of it: `keys.rs`, `rows.rs`, `fallback.rs` and `warnings.rs`.
//! The compiler stops after some errors, so a file has those of one stage: of paths, of types, or of constants that it evaluates.
//!
//! `TRYBUILD=overwrite cargo test -p keyderive-ui-tests` writes the words anew; read them before they are committed, since they are what
//! users see.

use std::collections::BTreeSet;
use std::path::Path;

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
    let tests = trybuild::TestCases::new();
    for subject in stems("rs") {
        tests.compile_fail(format!("{subject}.rs"));
    }
}

#[test]
fn every_subject_has_expected_messages() {
    assert_eq!(stems("rs"), stems("stderr"));
}

/// The names of the subjects that have a file with an extension.
fn stems(extension: &str) -> BTreeSet<String> {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).read_dir().unwrap().map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|found| found == extension) && !file.ends_with("main.rs"))
        .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}
