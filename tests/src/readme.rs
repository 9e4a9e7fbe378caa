//! README shows what runs: its program is the example `quickstart`, with that example's output; its compiler's message and its read by
//! hand are those of tests; its features are the crate's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The blocks of code in README, each with the word after its opening fence.
fn blocks() -> Vec<(String, String)> {
    let readme = page("README.md");
    let fenced = readme.split("```").skip(1).step_by(2);
    fenced
        .map(|block| block.split_once('\n').unwrap())
        .map(|(kind, text)| (kind.into(), text.into()))
        .collect()
}

/// The only block of code of this kind that has `word`.
fn block(kind: &str, word: &str) -> String {
    let mut found: Vec<_> =
        blocks().into_iter().filter(|(found, text)| found == kind && text.contains(word)).collect();
    assert_eq!(found.len(), 1, "`{kind}` blocks of README with `{word}`");
    found.remove(0).1
}

#[test]
fn its_program_is_the_example() {
    let example = page("examples/quickstart.rs");
    let lines = example.lines().skip_while(|line| line.is_empty() || line.starts_with("//!"));
    assert_eq!(block("rust", "fn main").lines().collect::<Vec<_>>(), lines.collect::<Vec<_>>());
    assert_eq!(block("text", "scan of EventKey"), page("examples/tests/outputs/quickstart.txt"));
}

#[test]
fn its_error_is_the_compilers() {
    let scan = "EventKey::scan().site(\"home\")";
    let stderr = page("tests/ui/scan_order.stderr");
    let message = stderr.split("\n\n").find(|message| message.contains(scan)).unwrap();
    // The place is that of the test.
    let lines = message.lines().filter(|line| !line.trim_start().starts_with("-->"));
    let lines = lines.map(|line| {
        let without_number = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
        format!("{without_number:>0$}", line.chars().count())
    });
    assert_eq!(block("text", "error[E0277]").lines().collect::<Vec<_>>(), lines.collect::<Vec<_>>());
    assert!(page("README.md").contains(&format!("`{scan}`")));
}

#[test]
fn its_read_by_hand_is_tested() {
    assert!(page("tests/bench/tests/readme.rs").contains(&block("rust,ignore", "ReadRowsRequest")));
}

/// The features of a table whose first column names them, and whether a cell says `yes`: whether they are on by default.
fn listed(page: &str) -> BTreeMap<String, bool> {
    let lines = page.lines().map(|line| line.trim_start_matches("//! "));
    let rows = lines.skip_while(|line| !line.starts_with("| feature |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let features = rows.flat_map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let is_default = cells.contains(&"yes");
        let names = cells[1].split('`').skip(1).step_by(2).map(str::to_owned);
        names.map(move |name| (name, is_default)).collect::<Vec<_>>()
    });
    features.collect()
}

#[test]
fn the_features_are_the_crates() {
    let manifest = page("keyderive/Cargo.toml");
    let section = manifest.split("[features]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let entries: BTreeMap<_, _> = section
        .lines()
        .filter(|line| line.starts_with(char::is_alphanumeric))
        .map(|line| line.split_once(" = ").unwrap())
        .collect();
    let is_default = |name: &str| entries["default"].contains(&format!("\"{name}\""));
    let declared = entries.keys().filter(|name| **name != "default");
    let declared: BTreeMap<_, _> = declared.map(|name| ((*name).to_owned(), is_default(name))).collect();
    assert!(declared.len() > 5, "{declared:?}");
    assert_eq!(listed(&page("README.md")), declared, "README.md");
    assert_eq!(listed(&page("keyderive/src/lib.rs")), declared, "keyderive/src/lib.rs");
}
