//! The sessions of `docs/command.md` and of README are run, and print what these show. `KEYDERIVE_BLESS=1` writes what they print.

use std::path::{Path, PathBuf};
use std::{env, fs};

use keyderive::Client;
use keyderive_tests::emulator::Emulator;
use regex::Regex;
use tokio::runtime::Runtime;

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

/// The commands of a page, each with what it prints.
fn commands(page: &str) -> Vec<(&str, String)> {
    let (mut commands, mut is_session) = (Vec::<(&str, String)>::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            is_session = line == "```console";
        } else if is_session && let Some(command) = line.strip_prefix("$ ") {
            commands.push((command, String::new()));
        } else if is_session && let Some((_, printed)) = commands.last_mut() {
            *printed += &format!("{line}\n");
        }
    }
    commands
}

/// A page, and its path.
fn page(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The files that the sessions read.
fn write_files(folder: &Folder) {
    for (name, text) in [
        ("later.json", tables::later_layouts()),
        ("shops.json", tables::shop_layouts()),
        ("changed.json", tables::changed_layouts()),
        ("renamed.json", tables::renamed_layouts()),
        ("views.json", tables::view_layouts()),
        ("views.csv", tables::views(5000)),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
}

const PAGES: [&str; 2] = ["docs/command.md", "README.md"];

#[test]
fn the_sessions_of_the_pages_print_what_these_show() {
    let folder = Folder::new("sessions");
    write_files(&folder);
    for name in PAGES {
        let (path, page) = page(name);
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

/// The commands of the pages that print something else here, each with what it prints.
fn others(folder: &Folder) -> Vec<(String, String)> {
    write_files(folder);
    let mut others = Vec::new();
    for name in PAGES {
        let (_, page) = page(name);
        let now = run(&page, folder);
        for ((command, was), (_, is)) in commands(&page).into_iter().zip(commands(&now)) {
            if is != was {
                others.push((command.to_owned(), is));
            }
        }
    }
    others
}

#[test]
fn they_print_the_same_of_a_file() {
    let folder = Folder::beside("sessions-file", ("KEYDERIVE_ADDRESS", "embedded:all.tables".to_owned()));
    Runtime::new().unwrap().block_on(async {
        let client = Client::embedded_at(folder.path().join("all.tables")).await.unwrap();
        tables::create(&client).await.unwrap();
        client.close().await;
    });
    let others = others(&folder);
    assert!(others.is_empty(), "{others:#?}");
}

/// It takes rows that it chooses at random for the ends of parts, and reckons other sizes.
const PARTS: &str = "parts and sizes";
const SCHEMA: &str = "a table has no row key schema";

/// What Google's emulator does not do.
const NOT_ON_THE_EMULATOR: [(&str, &str); 14] = [
    ("keyderive tablets events", PARTS),
    ("keyderive tablets users --format json", PARTS),
    ("keyderive tablets legacy", PARTS),
    ("keyderive heat users", PARTS),
    ("keyderive heat legacy", PARTS),
    ("keyderive count visits --estimate", PARTS),
    ("keyderive status", SCHEMA),
    ("keyderive status --layouts later.json", SCHEMA),
    ("keyderive scan shipments --where port=Basel", SCHEMA),
    ("keyderive scan shipments --where port=Basel --explain", SCHEMA),
    ("keyderive get shipments port=Basel number=12", SCHEMA),
    ("keyderive count shipments --where 'number<12'", SCHEMA),
    ("keyderive verify shipments", SCHEMA),
    ("keyderive delete shipments --where port=Basel", SCHEMA),
];

/// Differing rows are shown as they are found, in parts that are compared at the same time. The emulator has other parts.
const AS_FOUND: [&str; 2] = [
    "keyderive diff orders orders-copied --layouts shops.json --map number=order --show 2",
    "keyderive diff orders orders-copied --layouts shops.json --map number=order --show 1 --format json",
];

#[test]
fn they_print_the_same_on_googles_emulator() {
    let Some(emulator) = Emulator::start() else { return };
    let folder = Folder::beside("sessions-emulator", ("BIGTABLE_EMULATOR_HOST", emulator.host()));
    Runtime::new().unwrap().block_on(async {
        let client = Client::emulator(emulator.host()).await.unwrap();
        tables::create(&client).await.unwrap();
        client.close().await;
    });
    let others = others(&folder);
    let why =
        |command: &str| NOT_ON_THE_EMULATOR.iter().find(|(known, _)| *known == command).map(|(_, why)| *why);
    for (command, printed) in &others {
        match why(command) {
            Some(SCHEMA) => assert!(
                printed.contains("no layout of the table `shipments`")
                    || printed.contains("row key schema  none"),
                "{command}: {printed}"
            ),
            Some(_) => {}
            None if AS_FOUND.contains(&command.as_str()) => assert!(
                printed.contains("3 are missing") || printed.contains("\"missing\":3"),
                "{command}: {printed}"
            ),
            None => panic!("$ {command}\n{printed}"),
        }
    }
    for (command, _) in NOT_ON_THE_EMULATOR {
        assert!(others.iter().any(|(other, _)| other == command), "{command} prints what the page shows");
    }
}
