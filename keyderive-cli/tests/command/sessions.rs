//! The sessions of `docs/command.md` and of README are run, and print what these show. `KEYDERIVE_BLESS=1` writes what they print.

use std::path::Path;
use std::{env, fs};

use regex::Regex;

use crate::program::Folder;
use crate::tables;

/// What differs from run to run.
fn without_what_differs(text: &str) -> String {
    let durations = Regex::new(r"(?-u:\b)[0-9]+(\.[0-9]+)?(ns|µs|ms|s)(?-u:\b)").unwrap();
    let written = Regex::new(r"@ 20[0-9T:.-]+Z").unwrap();
    let table_id = Regex::new(r"(keyderive\.[0-9a-f]{16})\.[0-9a-f]{8}").unwrap();
    let port = Regex::new(r"127\.0\.0\.1:[0-9]+").unwrap();
    let text = durations.replace_all(text, "…ms");
    let text = written.replace_all(&text, "@ 2026-…Z");
    let text = table_id.replace_all(&text, "$1.…");
    port.replace_all(&text, "127.0.0.1:8086").into_owned()
}

/// The page with each session as it runs now.
fn run(page: &str, folder: &Folder) -> String {
    let (mut now, mut is_session) = (String::new(), false);
    for line in page.lines() {
        let is_fence = line.starts_with("```");
        is_session = if is_fence { line == "```console" } else { is_session };
        match line.strip_prefix("$ ") {
            // What it printed before.
            None if is_session && !is_fence => continue,
            Some(command) if is_session => {
                let (printed, code) = folder.shell(command);
                now += &format!("{line}\n{}", without_what_differs(&printed));
                if code != 0 {
                    now += &format!("[exit code {code}]\n");
                }
            }
            _ => now += &format!("{line}\n"),
        }
    }
    now
}

#[test]
fn the_sessions_of_the_pages_print_what_these_show() {
    let folder = Folder::new("sessions");
    fs::write(folder.path().join("later.json"), tables::later_layouts()).unwrap();
    fs::write(folder.path().join("shops.json"), tables::shop_layouts()).unwrap();
    fs::write(folder.path().join("changed.json"), tables::changed_layouts()).unwrap();
    for name in ["docs/command.md", "README.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        let page = fs::read_to_string(&path).unwrap();
        let now = run(&page, &folder);
        if env::var_os("KEYDERIVE_BLESS").is_some() {
            fs::write(&path, now).unwrap();
            continue;
        }
        for (at, (is, was)) in now.lines().zip(page.lines()).enumerate() {
            assert_eq!(is, was, "line {} of {name}", at + 1);
        }
        assert_eq!(now.lines().count(), page.lines().count());
    }
}
