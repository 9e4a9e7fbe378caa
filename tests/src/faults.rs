//! `tests/faults/README.md` lists faults that were found, and those that are put in: each test that it names is there, and each patch is
//! in the list.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::tests_in;

#[test]
fn every_test_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("tests/faults/README.md")).unwrap();
    let (mut lines, mut wrong) = (0, Vec::new());
    let is_heading = |line: &str| line.ends_with("kept by |") || line.ends_with("must fail |");
    for line in page.lines().filter(|line| line.starts_with("| ") && !is_heading(line)) {
        lines += 1;
        let test = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default().trim_matches('`');
        let is_there = test.split_once("` `").is_some_and(|(file, name)| {
            fs::read_to_string(root.join(file)).is_ok_and(|text| tests_in(&text).any(|test| test == name))
        });
        if !is_there {
            wrong.push(test);
        }
    }
    assert!(lines > 300, "{lines} lines name a test");
    assert!(wrong.is_empty(), "{} of {lines} tests are not there: {wrong:#?}", wrong.len());
}

#[test]
fn every_patch_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    let list = page.split("\n## ").nth(1).unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: BTreeSet<_> = names.map(|(name, _)| name.to_owned()).collect();
    let mut patches = BTreeSet::new();
    let paths = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for group in paths(&folder).filter(|path| path.is_dir()) {
        for patch in paths(&group) {
            let name = patch.strip_prefix(&folder).unwrap().with_extension("");
            patches.insert(name.to_str().unwrap().replace('\\', "/"));
        }
    }
    assert_eq!(listed, patches);
}
