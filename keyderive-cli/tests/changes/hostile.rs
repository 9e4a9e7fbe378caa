//! Csv and lines of JSON that somebody else wrote: no panic, nothing that a terminal obeys, and nothing written by a refused command.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::import::{User, UserKey};
use crate::server::{Folder, stored, table};

const PARTS: [&str; 22] = [
    "id",
    "name",
    "age",
    "cf:",
    ":",
    "*",
    ":key",
    "0x31",
    ",",
    "\"",
    "\n",
    "\r",
    "\\empty",
    "7",
    "-1",
    "1e999",
    "{",
    "}",
    "null",
    "\u{1b}[31m",
    "\u{202e}",
    "\0",
];

fn rounds() -> usize {
    if std::env::var_os("KEYDERIVE_LONG_TESTS").is_some() { 1000 } else { 25 }
}

fn mutated(text: &str, random: &mut Rng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.usize(1..5) {
        let at = random.usize(..bytes.len());
        match random.u8(..4) {
            0 => bytes[at] = random.u8(..),
            1 => _ = bytes.remove(at),
            _ => drop(bytes.splice(at..at, PARTS[random.usize(..PARTS.len())].bytes())),
        }
    }
    bytes
}

#[test]
fn inputs() {
    let (folder, mut random) = (Folder::new("inputs"), Rng::with_seed(19));
    table::<UserKey, User>(&folder, "inputs");
    let mut codes = BTreeSet::new();
    for round in 0..rounds() {
        let (format, line) = match random.bool() {
            true => ("csv", "7,Corrie,42\n"),
            false => ("json", "{\"id\":7,\"cf:name\":\"Corrie\",\"age\":42}\n"),
        };
        let mut input = if format == "csv" { b"id,name,age\n".to_vec() } else { Vec::new() };
        if round % 5 == 0 {
            input = mutated("id,name,age\n", &mut random);
        }
        for _ in 0..200 {
            input.extend(mutated(line, &mut random));
        }
        let stop = ["import", "inputs", "-", "--format", format];
        let dry = folder.run_with(&stop, &input);
        assert!(stored("inputs").is_empty() || round > 0, "a dry run writes nothing");
        let rows = stored("inputs").len();
        let skip = [&stop[..], &["--bad-lines", "skip=bad", "--yes"]].concat();
        let done = folder.run_with(&skip, &input);
        codes.extend([dry.code, done.code]);
        if done.code >= 2 {
            assert_eq!(stored("inputs").len(), rows, "a refused command writes nothing: {done:?}");
        }
        assert!(folder.path("bad").exists() || done.code >= 2);
    }
    assert!(codes.contains(&1) && codes.contains(&3), "{codes:?}");
    // What was read is a row.
    folder.run(&["export", "inputs"]).expect(0);
}

#[test]
fn arguments() {
    let (folder, mut random) = (Folder::new("arguments"), Rng::with_seed(23));
    table::<UserKey, User>(&folder, "arguments");
    folder.write("users.csv", "id,name,age\n7,Corrie,42\n");
    for _ in 0..rounds() {
        let mut text = || {
            let text: String = (0..random.usize(1..5)).map(|_| PARTS[random.usize(..PARTS.len())]).collect();
            text.replace('\0', "\\x00")
        };
        let (one, other) = (text(), text());
        let commands = [
            vec!["import", "arguments", "users.csv", "--map", &one, "--ignore", &other],
            vec!["import", "arguments", &one, "--bad-lines", &other],
            vec!["delete", "arguments", "--where", &one, "--yes"],
            vec!["delete", "arguments", "--yes", "--", &one, &other],
            vec!["export", "arguments", "--where", &one],
        ];
        for command in &commands {
            folder.run(command);
        }
    }
    assert!(stored("arguments").is_empty());
    // A file of another program is no file of `--resume`.
    folder.write("progress", "{\"format\":1,\"command\":\"\u{1b}[31m\",\"arguments\":{},\"state\":null}");
    folder.run(&["import", "arguments", "users.csv", "--yes", "--resume", "progress"]).expect(3);
    folder.write("progress", "\u{1b}[31m");
    folder.run(&["delete", "arguments", "--where", "id=7", "--yes", "--resume", "progress"]).expect(3);
    assert!(stored("arguments").is_empty());
}
