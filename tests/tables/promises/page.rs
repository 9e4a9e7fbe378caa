//! Checks the page of the guide: it has a row for each call that writes, and each row has its tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keyderive_tests::tests_in;

use super::proofs::{Tests, proofs};

/// Calls that change nothing, or only wait: they need no row.
const WITHOUT_A_ROW: [&str; 71] = [
    "Bigtable::collect_garbage",
    "Bigtable::open",
    "Bigtable::serve",
    "Bigtable::serve_with",
    "Client::close",
    "Client::cloud",
    "Client::connect",
    "Client::embedded_at",
    "Client::dynamic_migration",
    "Client::emulator",
    "Client::from_env",
    "Client::list_tables",
    "Client::registered_layouts",
    "Client::rekeyed",
    "Client::rekeyed_by_mapping",
    "Client::rekeyed_by_row",
    "Client::table_info",
    "ClientBuilder::cloud",
    "ClientBuilder::connect",
    "ClientBuilder::embedded_at",
    "ClientBuilder::emulator",
    "ClientBuilder::from_env",
    "CopyTo::check",
    "Diff",
    "DynCursor::visit_next",
    "DynTable::count",
    "DynTable::get",
    "DynTable::get_raw",
    "DynTable::hot_tablets",
    "DynTable::partitions",
    "DynTable::sizes",
    "DynTable::verify_keys",
    "Export::explain",
    "Exported::next",
    "Layouts::table_changes",
    "Layouts::verify",
    "Migration::check",
    "Migration::state",
    "Migration::status",
    "Migration::verify",
    "Query::fetch",
    "Query::fetch_first",
    "QueryRows::next",
    "RawTable::info",
    "RawTable::read_row",
    "RawTable::sample_row_keys",
    "RawTable::sizes",
    "RawTable::wait_for_consistency",
    "RowStream::next",
    "Rows::next",
    "Scan::collect",
    "Scan::count",
    "Scan::explain_analyze",
    "Scan::page",
    "Scan::visit",
    "Select::get",
    "Select::get_many",
    "Table::count",
    "Table::exists",
    "Table::get",
    "Table::get_many",
    "Table::get_raw",
    "Table::hot_tablets",
    "Table::info",
    "Table::partitions",
    "Table::partitions_of",
    "Table::row_types",
    "Table::sizes",
    "Table::verify_rows",
    "Table::wait_for_consistency",
    "Verify",
];

/// Calls, and types that are awaited, that another call's row covers.
const OF_ANOTHER_ROW: [(&str, &str); 16] = [
    ("CreateTable::if_absent", "Table::create_if_absent"),
    ("DynTable::add", "Update::add"),
    ("DynTable::delete", "Table::delete"),
    ("DynTable::delete_all", "Table::delete_all"),
    ("DynTable::delete_rows", "Table::delete_rows"),
    ("DynTable::put", "Table::put"),
    ("DynTable::update", "Table::update"),
    ("RawWriter::close", "RawWriter::write"),
    ("RawWriter::flush", "RawWriter::write"),
    ("Writer::close", "Writer::put"),
    ("Writer::flush", "Writer::put"),
    ("CopyTo", "Table::copy_to"),
    ("CreateTable", "Table::create"),
    ("Load", "Table::load"),
    ("Modify", "Table::modify"),
    ("Update", "Table::update"),
];

/// The heading of the table of hidden rows; the others are of writes.
const HIDDEN_ROWS: &str = "Rows that a `ttl` hides";

/// Calls of typed rows that no `ttl` is about.
const OF_NO_ROW: [&str; 14] = [
    "Table::advance_stamp",
    "Table::create_if_absent",
    "Table::delete_table",
    "Table::hot_tablets",
    "Table::info",
    "Table::modify_families",
    "Table::partitions",
    "Table::partitions_of",
    "Table::row_types",
    "Table::remove_row_key_schema",
    "Table::sizes",
    "Table::stamp",
    "Table::retire_row_type",
    "Table::wait_for_consistency",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Rust files under a folder of the repository, with their texts.
fn sources(folder: &Path, texts: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            texts.push((path, text));
        }
    }
}

fn sources_of(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    folders.iter().for_each(|folder| sources(&root().join(folder), &mut texts));
    texts
}

/// The type of an `impl`, and its trait.
fn implemented(line: &str) -> Option<(&str, Option<&str>)> {
    let rest = line.strip_prefix("impl")?;
    let mut depth = 0;
    let generics = rest.char_indices().find(|(_, char)| {
        depth += match char {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        depth == 0
    });
    let rest = rest[generics?.0..].trim_start_matches('>').trim_start();
    let (of_trait, of_type) = match rest.split_once(" for ") {
        Some((of_trait, of_type)) => (Some(of_trait), of_type),
        None => (None, rest),
    };
    let end = of_type.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(of_type.len());
    Some((&of_type[..end], of_trait))
}

/// Every public call that is awaited: `Type::name` for a method, `name` for a function, and `Type` for a value that
/// is awaited itself.
fn calls() -> BTreeSet<String> {
    let mut calls = BTreeSet::new();
    for (path, text) in sources_of(&["keyderive/src"]) {
        if path
            .components()
            .any(|part| ["wire", "tests", "guide"].iter().any(|name| part.as_os_str() == *name))
        {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut of = None;
        for (place, line) in lines.iter().enumerate() {
            if let Some((of_type, of_trait)) = implemented(line) {
                of = of_trait.is_none().then_some(of_type);
                if of_trait.is_some_and(|of_trait| of_trait.ends_with("IntoFuture")) {
                    calls.insert(of_type.to_owned());
                }
            }
            if line.starts_with('}') {
                of = None;
            }
            let Some(rest) = line.trim_start().strip_prefix("pub ") else { continue };
            let signature = lines[place..].iter().take_while(|line| !line.trim_end().ends_with(['{', ';']));
            let signature: String = signature.chain(lines.get(place)).copied().collect();
            let name = match rest.strip_prefix("async fn ") {
                Some(name) => name,
                None if signature.contains("-> impl Future") => match rest.strip_prefix("fn ") {
                    Some(name) => name,
                    None => continue,
                },
                None => continue,
            };
            let end = name.find(['(', '<']).unwrap();
            let of = of.map(|of| format!("{of}::")).unwrap_or_default();
            calls.insert(format!("{of}{}", &name[..end]));
        }
    }
    calls
}

/// A row of the page.
struct Row {
    /// The heading that its table is under.
    heading: String,
    /// The text of its first cell, without markup.
    name: String,
    /// The calls that the links of its first cell name.
    calls: Vec<String>,
    cells: Vec<String>,
}

/// The parts of a text between two marks.
fn between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |part| Some(part.split_once(end)?.0))
}

fn page_text() -> String {
    fs::read_to_string(root().join("keyderive/src/guide/promises.md")).unwrap()
}

/// The rows of all tables of calls in a page.
fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut heading, mut is_in_table) = (Vec::new(), "", false);
    for line in text.lines().map(str::trim) {
        heading = line.strip_prefix("# ").unwrap_or(heading);
        is_in_table = line.starts_with("| call |") || (is_in_table && line.starts_with('|'));
        if !is_in_table || line.starts_with("| call |") || line.starts_with("|---") {
            continue;
        }
        let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        let cells: Vec<_> = cells.collect();
        let calls = between(&cells[0], "](crate::", ")").map(|path| {
            let parts: Vec<_> = path.rsplit("::").take(2).collect();
            let has_type = parts.len() == 2 && parts[1].starts_with(char::is_uppercase);
            if has_type { format!("{}::{}", parts[1], parts[0]) } else { parts[0].to_owned() }
        });
        let calls = calls.collect();
        let links = between(&cells[0], "](", ")").map(|path| format!("]({path})"));
        let name = links.fold(cells[0].clone(), |name, link| name.replace(&link, ""));
        rows.push(Row { heading: heading.to_owned(), name: name.replace(['[', '`'], ""), calls, cells });
    }
    rows
}

/// What is wrong between the rows of a page and the list of tests.
fn faults(page: &[Row]) -> Vec<String> {
    let (mut faults, mut proved) = (Vec::new(), BTreeSet::new());
    for (heading, name, situations) in proofs() {
        if !proved.insert((heading, name)) {
            faults.push(format!("`{name}` has tests twice under `{heading}`"));
        }
        if situations.iter().any(|tests| tests.is_empty()) {
            faults.push(format!("a situation of `{name}` under `{heading}` has no test"));
        }
    }
    let mut shown = BTreeSet::new();
    for Row { heading, name, cells, .. } in page {
        if !shown.insert((&**heading, &**name)) {
            faults.push(format!("`{name}` is twice under `{heading}`"));
        }
        if cells.len() != 3 || cells.iter().any(String::is_empty) {
            faults.push(format!("`{name}` under `{heading}` has not three cells with text"));
        }
    }
    let without = shown.difference(&proved);
    faults.extend(without.map(|(heading, name)| format!("`{name}` under `{heading}` has no tests")));
    let gone = proved.difference(&shown);
    faults.extend(gone.map(|(heading, name)| format!("there is no row `{name}` under `{heading}`")));
    faults
}

#[test]
fn every_call_that_writes_has_a_row() {
    let (calls, page) = (calls(), rows(&page_text()));
    assert!(calls.len() > 60, "only {} calls are found in the source: {calls:?}", calls.len());
    let named = named(&page, |heading| heading != HIDDEN_ROWS);
    let has_row = |call: &&String| {
        let row = OF_ANOTHER_ROW.iter().find(|(of, _)| of == call).map_or(call.as_str(), |(_, row)| row);
        named.contains(row) || WITHOUT_A_ROW.contains(&call.as_str())
    };
    let without: Vec<_> = calls.iter().filter(|call| !has_row(call)).collect();
    assert!(
        without.is_empty(),
        "{without:?} have no row in `keyderive::guide::promises`; or do they change nothing?"
    );
    let known = WITHOUT_A_ROW.iter().chain(OF_ANOTHER_ROW.iter().map(|(call, _)| call));
    let gone: Vec<_> = known.filter(|call| !calls.contains(**call)).collect();
    assert!(gone.is_empty(), "there are no calls {gone:?}");
}

/// The calls of the tables under some headings.
fn named(page: &[Row], is_of: impl Fn(&str) -> bool) -> BTreeSet<&str> {
    let rows = page.iter().filter(|row| is_of(&row.heading));
    rows.flat_map(|row| &row.calls).map(String::as_str).collect()
}

#[test]
fn every_call_of_rows_says_what_it_makes_of_a_hidden_one() {
    let (calls, page) = (calls(), rows(&page_text()));
    let named = named(&page, |heading| heading == HIDDEN_ROWS);
    let of_rows = |call: &&String| {
        let of = call.split("::").next().unwrap();
        ["Table", "Scan", "Select", "Rows", "Exported"].contains(&of) || *call == "put_both"
    };
    let without: Vec<_> = calls
        .iter()
        .filter(of_rows)
        .filter(|call| !named.contains(call.as_str()) && !OF_NO_ROW.contains(&call.as_str()))
        .collect();
    assert!(without.is_empty(), "{without:?} have no row in the table of hidden rows");
    let gone: Vec<_> = OF_NO_ROW.iter().filter(|call| !calls.contains(**call)).collect();
    assert!(gone.is_empty(), "there are no calls {gone:?}");
}

#[test]
fn every_row_has_its_tests() {
    let found = faults(&rows(&page_text()));
    assert!(found.is_empty(), "{found:#?}");
    let sources = sources_of(&["keyderive/src", "crates/embedded/src", "tests", "tools/cli/tests"]);
    let groups: BTreeSet<Tests> =
        proofs().flat_map(|(_, _, tests)| tests.iter().copied().flatten()).copied().collect();
    let tests: BTreeSet<_> = sources.iter().flat_map(|(_, text)| tests_in(text)).collect();
    for test in groups.into_iter().flatten() {
        assert!(tests.contains(test), "the test `{test}` is nowhere");
    }
}

#[test]
fn a_row_without_tests_and_tests_without_a_row_are_found() {
    let text = page_text();
    let line = text.lines().find(|line| line.contains("| [`put_if`]")).unwrap();
    let added = line.replace("[`put_if`]", "[`put_unless`]");
    let more = text.replace(line, &format!("{line}\n{added}"));
    assert_eq!(faults(&rows(&more)), ["`put_unless` under `Rows` has no tests"]);
    let less = text.replace(&format!("{line}\n"), "");
    assert_eq!(faults(&rows(&less)), ["there is no row `put_if` under `Rows`"]);
    let short = text.replace(line, line.rsplit_once(" |").unwrap().0.rsplit_once(" |").unwrap().0);
    assert_eq!(faults(&rows(&short)), ["`put_if` under `Rows` has not three cells with text"]);
}

/// Requests that change tables carry no timestamp, so they do not depend on clocks.
#[test]
fn requests_that_change_tables_carry_no_timestamp() {
    let proto = fs::read_to_string(root().join("crates/proto/proto/admin.proto")).unwrap();
    for message in [
        "CreateTableRequest",
        "DeleteTableRequest",
        "UpdateTableRequest",
        "ModifyColumnFamiliesRequest",
        "DropRowRangeRequest",
    ] {
        let fields =
            between(&proto, &format!("\nmessage {message} {{"), "\n}\n").next().unwrap().to_lowercase();
        assert!(!fields.contains("time") && !fields.contains("micros"), "{message}: {fields}");
    }
}
