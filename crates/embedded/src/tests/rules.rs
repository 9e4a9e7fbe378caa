//! The page of the protocol's rules: each field has a row, and each row a test that exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("rules.md");

/// The rows of the page's tables of fields: the names in the first cell, and those in the last.
fn rules() -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let mut is_of_fields = false;
    let mut rules = Vec::new();
    for line in PAGE.lines() {
        if line.starts_with("## ") {
            is_of_fields = false;
        }
        if line.starts_with("| fields |") {
            is_of_fields = true;
            continue;
        }
        if !is_of_fields || !line.starts_with("| `") {
            continue;
        }
        let cells: Vec<_> = line.trim_matches('|').split(" | ").collect();
        let [fields, _, tests] = cells[..] else { panic!("not three cells: {line}") };
        rules.push((quoted(fields), quoted(tests)));
    }
    rules
}

/// What stands between backticks.
fn quoted(cell: &'static str) -> Vec<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The fields of all messages in a file, such as `Mutation.SetCell.value`.
fn fields(proto: &str) -> Vec<String> {
    let mut blocks: Vec<(&str, &str)> = Vec::new();
    let mut fields = Vec::new();
    for line in proto.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [] | ["rpc", ..] => {}
            [_, _, "{}"] => {}
            [kind @ ("message" | "enum" | "oneof" | "service"), name, "{"] => blocks.push((kind, name)),
            ["}", ..] => drop(blocks.pop()),
            [.., name, "=", _] if blocks.iter().all(|(kind, _)| matches!(*kind, "message" | "oneof")) => {
                let messages = blocks.iter().filter(|(kind, _)| *kind == "message").map(|(_, name)| *name);
                fields.extend(
                    (!blocks.is_empty()).then(|| messages.chain([name]).collect::<Vec<_>>().join(".")),
                );
            }
            _ => {}
        }
    }
    fields
}

#[test]
fn every_field_has_a_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto/proto");
    let rules: BTreeSet<&str> = rules().into_iter().flat_map(|(fields, _)| fields).collect();
    let mut known = BTreeSet::new();
    for file in ["data.proto", "admin.proto"] {
        for field in fields(&fs::read_to_string(folder.join(file)).unwrap()) {
            let (message, _) = field.rsplit_once('.').unwrap();
            let of_message = format!("{message}.*");
            assert!(rules.contains(&*field) || rules.contains(&*of_message), "no rule is about `{field}`");
            known.extend([field, of_message]);
        }
    }
    assert!(known.len() > 300, "{} fields and messages", known.len());
    for rule in rules {
        assert!(known.contains(rule), "there is no field `{rule}`");
    }
}

#[test]
fn every_rule_has_a_test() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (fields, tests) in rules() {
        assert!(!tests.is_empty(), "no test for {fields:?}");
        for test in tests {
            let (module, name) = test.split_once("::").unwrap();
            let places = match module {
                "tests" => vec!["filter/tests.rs".to_owned()],
                "pattern" => vec!["filter/pattern.rs".to_owned()],
                module => vec![format!("tests/{module}.rs"), format!("{module}.rs")],
            };
            let texts = places.iter().filter_map(|place| fs::read_to_string(source.join(place)).ok());
            let attributes = ["#[test]\n", "#[tokio::test]\n"];
            let is_test = |text: String| {
                ["fn ", "async fn "].into_iter().any(|word| {
                    attributes.iter().any(|attribute| {
                        ["", "    "]
                            .iter()
                            .any(|indent| text.contains(&format!("{attribute}{indent}{word}{name}(")))
                    })
                })
            };
            assert!(texts.into_iter().any(is_test), "there is no test `{test}` in {places:?}");
        }
    }
}
