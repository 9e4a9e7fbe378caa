//! Csv and lines of JSON that somebody else wrote: no panic, nothing that a terminal obeys, and nothing written by a refused command.
//!
//! These run the program. `src/hostile.rs` tries many more inputs within a process.

use std::collections::BTreeMap;

use keyderive_tests::amount;
use keyderive_tests::hostile::{mutated, random, text};

use crate::import::{User, UserKey};
use crate::server::{Folder, stored, table, wait};

fn rounds() -> u64 {
    amount("KEYDERIVE_HOSTILE_RUNS", "rounds of the command on mutated inputs", 25, 1000)
}

#[test]
fn inputs() {
    let (folder, mut random) = (Folder::new("inputs"), random(19));
    table::<UserKey, User>(&folder, "inputs");
    let mut codes = BTreeMap::new();
    for round in 0..rounds() {
        let (format, line) = match random.bool() {
            true => ("csv", "7,Corrie,42\n"),
            false => ("json", "{\"id\":7,\"cf:name\":\"Corrie\",\"age\":42}\n"),
        };
        let mut input = if format == "csv" { b"id,name,age\n".to_vec() } else { Vec::new() };
        if round % 3 == 0 {
            input = mutated(&mut random, b"id,name,age\n");
            input = mutated(&mut random, &input);
        }
        for _ in 0..200 {
            input.extend(mutated(&mut random, line.as_bytes()));
        }
        let stop = ["import", "inputs", "-", "--format", format];
        let dry = folder.run_with(&stop, &input);
        assert!(stored("inputs").is_empty() || round > 0, "a dry run writes nothing");
        let rows = stored("inputs").len();
        let skip = [&stop[..], &["--bad-lines", "skip=bad", "--yes"]].concat();
        let done = folder.run_with(&skip, &input);
        for code in [dry.code, done.code] {
            *codes.entry(code).or_insert(0) += 1;
        }
        if done.code >= 2 {
            assert_eq!(stored("inputs").len(), rows, "a refused command writes nothing: {done:?}");
        }
        assert!(folder.path("bad").exists() || done.code >= 2);
    }
    println!(
        "{} lines, {} rows; exit codes, each with its runs: {codes:?}",
        rounds() * 400,
        stored("inputs").len()
    );
    assert!(codes.contains_key(&1) && codes.contains_key(&3), "{codes:?}");
    // What was read is a row.
    folder.run(&["export", "inputs"]).expect(0);
}

#[test]
fn arguments() {
    let (folder, mut random) = (Folder::new("arguments"), random(23));
    let users = table::<UserKey, User>(&folder, "arguments");
    folder.write("users.csv", "id,name,age\n7,Corrie,42\n");
    let fill = || {
        for id in 0..9 {
            let user = User { name: "Ann".into(), age: Some(1) };
            wait(users.put(&UserKey { id }, &user)).unwrap();
        }
        stored("arguments")
    };
    let (mut rows, mut changes) = (fill(), 0);
    for _ in 0..rounds() {
        let mut text = || text(&mut random).replace('\0', "\\x00");
        let (one, other) = (text(), text());
        let condition = format!("id{one}");
        let commands = [
            vec!["import", "arguments", "users.csv", "--map", &one, "--ignore", &other],
            vec!["import", "arguments", &one, "--bad-lines", &other],
            vec!["delete", "arguments", "--where", &one, "--yes"],
            vec!["delete", "arguments", "--where", &condition, "--yes"],
            vec!["delete", "arguments", "--yes", "--", &one, &other],
            vec!["export", "arguments", "--where", &one],
        ];
        for command in &commands {
            let ended = folder.run(command);
            let now = stored("arguments");
            if now != rows {
                assert!(ended.code < 2 && command[0] == "delete", "{command:?} has changed rows: {ended:?}");
                changes += 1;
                rows = fill();
            }
        }
    }
    println!("{changes} of {} commands deleted rows", rounds() * 3);
    // A file of another program is no file of `--resume`.
    folder.write("progress", "{\"format\":1,\"command\":\"\u{1b}[31m\",\"arguments\":{},\"state\":null}");
    folder.run(&["import", "arguments", "users.csv", "--yes", "--resume", "progress"]).expect(3);
    folder.write("progress", "\u{1b}[31m");
    folder.run(&["delete", "arguments", "--where", "id=7", "--yes", "--resume", "progress"]).expect(3);
    assert_eq!(stored("arguments"), rows);
}
