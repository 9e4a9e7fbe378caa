//! Arguments, keys and files that somebody else wrote: no panic, and nothing that a terminal obeys.

use std::fs;
use std::process::Output;

use fastrand::Rng;
use keyderive_tests::amount;
use keyderive_tests::hostile::{mutated, random, text};

use crate::program::Folder;

/// Arguments that some command takes.
const GOOD: [&str; 7] = [
    "user_id=alice",
    "site=home",
    "at>=2026-11-24",
    "seq=42",
    "1#alice#home#9221576529654775807#000042",
    "events",
    "kind",
];

/// Text as an argument, which some command may take: the system ends arguments at a zero.
fn argument(random: &mut Rng) -> String {
    let good = GOOD[random.usize(..GOOD.len())];
    let text = match random.u8(..4) {
        0 | 1 => good.to_owned(),
        2 => good.to_owned() + &text(random),
        _ => text(random),
    };
    text.replace('\0', "\\x00")
}

#[track_caller]
pub(crate) fn assert_harmless(output: &Output, what: &str) {
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(matches!(output.status.code(), Some(0..=3)), "{what}: {:?}: {error}", output.status);
    assert!(!error.contains("panicked"), "{what}: {error}");
    for text in [out, error] {
        let obeyed =
            |char: char| char.is_control() && char != '\n' || ('\u{202a}'..='\u{202e}').contains(&char);
        assert!(!text.contains(obeyed), "{what}: {text:?}");
    }
}

fn rounds() -> u64 {
    amount("KEYDERIVE_HOSTILE_RUNS", "rounds of the command on mutated inputs", 60, 2000)
}

#[test]
fn mutated_arguments() {
    let (folder, mut random) = (Folder::new("arguments"), random(3));
    let mut accepted = 0;
    for _ in 0..rounds() {
        let (one, other) = (argument(&mut random), argument(&mut random));
        let arguments = match random.u8(..7) {
            0 => vec!["scan", "events", "--where", &one, "--where", &other],
            1 => vec!["count", "events", "--where", &one],
            2 => vec!["decode", "events", "--", &one, &other],
            3 => vec!["encode", "events", &one, &other],
            4 => vec!["get", "events", "--key", &one],
            5 => vec!["scan", &one, "--select", &other],
            _ => vec!["scan", "users", "--after", &one, "--select", &other],
        };
        let output = folder.run(&arguments, b"");
        accepted += u32::from(output.status.success());
        assert_harmless(&output, &format!("{arguments:?}"));
    }
    println!("{accepted} of {} accepted", rounds());
    assert!(accepted > 0);
}

#[test]
fn mutated_keys_in_a_stream() {
    let (folder, mut random) = (Folder::new("stream"), random(5));
    let mut lines = Vec::new();
    for _ in 0..rounds() * 200 {
        let key = b"1#alice#home#9221576497852775807#000042";
        lines.extend(match random.u8(..6) {
            0 => key.to_vec(),
            1 | 2 => mutated(&mut random, key),
            _ => text(&mut random).into_bytes(),
        });
        lines.push(b'\n');
    }
    for format in [&["decode", "events", "-"][..], &["decode", "events", "--format", "json", "-"]] {
        let output = folder.run(format, &lines);
        assert_harmless(&output, "a stream");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn rows_of_a_hostile_program() {
    let folder = Folder::new("rows");
    for arguments in [
        &["scan", "legacy"][..],
        &["scan", "legacy", "--format", "json"],
        &["scan", "events", "--where", "user_id=bob"],
        &["scan", "events", "--where", "user_id=bob", "--format", "json"],
        &["scan", "events", "--where", "user_id=bob", "--raw"],
        &["scan", "faulty"],
        &["verify", "faulty"],
        &["verify", "faulty", "--format", "json"],
        &["tablets", "legacy"],
        &["heat", "legacy"],
        &["heat", "legacy", "--format", "json"],
        &["get", "legacy", "--key", "c\\x1b[2J"],
    ] {
        assert_harmless(&folder.run(arguments, b""), &format!("{arguments:?}"));
    }
}

#[test]
fn mutated_settings_and_layouts() {
    let (folder, mut random) = (Folder::new("settings"), random(7));
    let settings =
        "default = \"a\"\n[instances.a]\naddress = \"embedded:x\"\nproduction = true\nlayouts = \"l.json\"\n";
    let layouts = fs::read_to_string(folder.path().join("layouts.json")).unwrap();
    for _ in 0..rounds() {
        fs::write(folder.path().join("keyderive.toml"), mutated(&mut random, settings.as_bytes())).unwrap();
        assert_harmless(&folder.run(&["scan", "events", "--on", "a"], b""), "settings");
        fs::write(folder.path().join("mutated.json"), mutated(&mut random, layouts.as_bytes())).unwrap();
        let arguments = ["decode", "events", "--layouts", "mutated.json", "--address", "x:", "1#alice"];
        assert_harmless(&folder.run(&arguments, b""), "layouts");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new("pipe");
    let (printed, code) = folder
        .shell("yes 1#alice | head -n 100000 | { keyderive decode events -; echo $? >&2; } | head -n 1");
    assert_eq!(code, 0);
    assert!(printed.ends_with("\n0\n"), "{printed}");
}
