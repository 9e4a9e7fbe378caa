//! ARCHITECTURE.md says the truth about the code: which modules there are, which of them a module may use, and where things are.

use std::fs;
use std::path::{Path, PathBuf};

/// A row of the table of modules in `keyderive/src`.
struct Row {
    /// More than one where a row names several.
    modules: Vec<String>,
    has_no_network: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// The texts between backticks.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the table, in its order: a module uses only those above it.
fn rows(page: &str) -> Vec<Row> {
    let lines = page.lines().skip_while(|line| !line.starts_with("| module |")).skip(2);
    let lines = lines.take_while(|line| line.starts_with('|'));
    lines
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let name = |code: &str| code.trim_end_matches('/').trim_end_matches(".rs").to_owned();
            Row { modules: codes(cells[0]).map(name).collect(), has_no_network: cells[2] == "yes" }
        })
        .collect()
}

/// The files of code below a folder, but those of tests.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            files(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// A file without its comments, and without unit tests, which are at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// What follows `crate::` in some code: names, and those that a list in braces begins with.
fn used(code: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut used = Vec::new();
    for path in code.split("crate::").skip(1) {
        let Some(list) = path.strip_prefix('{') else {
            used.push(word(path));
            continue;
        };
        let (mut depth, mut is_start) = (0, true);
        for (at, sign) in list.char_indices() {
            match sign {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => is_start = true,
                sign if is_start && !sign.is_whitespace() => {
                    used.push(word(&list[at..]));
                    is_start = false;
                }
                _ => {}
            }
        }
    }
    used
}

#[test]
fn names_after_crate_are_found() {
    let code = "use crate::key::{a, b};\nuse crate::{plan, row::{c, d}, Client};\ncrate::table::x()";
    assert_eq!(used(code), ["key", "plan", "row", "Client", "table"]);
}

#[test]
fn a_module_uses_only_those_above_it() {
    let source = root().join("keyderive/src");
    let rows = rows(&page());
    let rank = |module: &str| rows.iter().position(|row| row.modules.iter().any(|name| name == module));
    let mut faults = Vec::new();
    let mut paths = Vec::new();
    files(&source, &mut paths);
    for path in &paths {
        let shown = path.strip_prefix(&source).unwrap();
        let own = shown.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let Some(own) = rank(own) else {
            faults.push(format!("{} is in no row of the table", shown.display()));
            continue;
        };
        let code = code(path);
        for used in used(&code) {
            if rank(&used).is_some_and(|used| used > own) {
                faults.push(format!("{} uses `{used}`, which is below it", shown.display()));
            }
        }
        let is_network = |word: &&str| matches!(*word, "tokio" | "tonic" | "h2" | "http");
        let words = || code.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let (true, Some(network)) = (rows[own].has_no_network, words().find(is_network)) {
            faults.push(format!("{} names `{network}`", shown.display()));
        }
    }
    assert!(paths.len() > 100 && rows.len() > 5, "{} files, {} rows", paths.len(), rows.len());
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Paths without a crate are in `keyderive/src`; in a row of the table of modules they may be in the module.
#[test]
fn what_it_names_is_there() {
    let root = root();
    let source = root.join("keyderive/src");
    let mut missing = Vec::new();
    for line in page().lines().filter(|line| !line.starts_with("```")) {
        let mut folders = vec![root.clone(), source.clone()];
        folders.extend(
            line.starts_with('|').then(|| codes(line).next()).flatten().map(|module| source.join(module)),
        );
        for named in codes(line).filter(|code| !code.contains(' ')) {
            let is_path = named.ends_with(".rs") || named.ends_with(".md") || named.ends_with('/');
            let is_there = || folders.iter().any(|folder| folder.join(named).exists());
            if is_path && named.contains('/') && !is_there() {
                missing.push(named.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The workspace's lints are also those of tests, which fail by a panic and print.
#[test]
fn libraries_and_tools_neither_panic_nor_print() {
    let head = "#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]";
    let folders = ["crates", "tools"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let packages = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let packages = packages.chain(["keyderive", "keyderive-macros"].map(|name| root().join(name)));
    // A workspace of its own has lints of its own.
    let (mut packages, own) = (packages.collect::<Vec<_>>(), root().join("tools/sql"));
    packages.retain(|package| *package != own);
    assert!(packages.len() > 8, "{packages:?}");
    for package in packages {
        let roots = ["src/lib.rs", "src/main.rs"].map(|file| package.join(file));
        let text = roots.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap();
        assert!(text.lines().any(|line| line == head), "{}", package.display());
    }
}
