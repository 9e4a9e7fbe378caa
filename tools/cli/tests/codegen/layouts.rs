//! `keyderive layouts`.

use std::path::Path;
use std::process::{Command, Output};

use keyderive::layouts::Layouts;
use keyderive::{Row, RowKey};

use super::types::{Event, EventKey};
use super::{file, types, written};

mod next {
    use super::*;

    #[derive(RowKey)]
    #[salt(range = 8, over = "user_id,site")]
    pub(super) struct EventKey {
        user_id: String,
        site: String,
        #[reverse_ts]
        at: u64,
        #[pad(6)]
        seq: u32,
    }

    #[derive(Row)]
    pub(super) struct Event {
        kind: String,
        amount: Option<i64>,
        note: Option<String>,
    }

    #[derive(Row)]
    pub(super) struct Fewer {
        kind: Option<String>,
        amount: Option<i64>,
    }
}

fn layouts(arguments: &[&Path], options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyderive"))
        .arg("layouts")
        .args(options)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn changes_are_printed_and_are_the_exit_code() {
    let old = file("old.json", &Layouts::new().table::<EventKey, Event>("events").to_json());
    let added = file("added.json", &Layouts::new().table::<EventKey, next::Event>("events").to_json());
    let fewer = file("fewer.json", &Layouts::new().table::<EventKey, next::Fewer>("events").to_json());
    let salted = file("salted.json", &Layouts::new().table::<next::EventKey, Event>("events").to_json());

    let run = |new: &Path, options: &[&str]| {
        let (code, text, said) = written(&layouts(&[&old, new], options));
        assert_eq!(said, "");
        (code, text)
    };
    assert_eq!(run(&old, &["check"]), (0, String::new()));
    assert_eq!(run(&old, &["diff"]), (0, String::new()));
    let (code, text) = run(&added, &["check"]);
    assert!(code == 0 && text.starts_with("row of `events`: `cf:note` is new"), "{text}");
    assert_eq!(run(&added, &["diff"]).0, 1);
    // The newer program reads the older rows, and the older one cannot read the newer rows.
    assert_eq!(run(&fewer, &["check"]).0, 0);
    assert_eq!(run(&fewer, &["check", "--older-programs"]).0, 1);
    let (code, text) = run(&salted, &["check"]);
    assert_eq!(code, 1);
    let change = "key of `events`: the range of the salt was 4 and is 8: 1 of 2 rows have another key, and are not found";
    assert!(text.starts_with(change) && text.lines().count() == 1, "{text}");
    let (code, text) = run(&salted, &["check", "--format", "json"]);
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &line["reads_older_rows"]), (1, &false.into()));

    let (code, _, said) = written(&layouts(&[&old, Path::new("/nowhere.json")], &["check"]));
    assert!(code == 3 && said.contains("`/nowhere.json` are not read"), "{said}");
}

#[test]
fn layouts_are_shown() {
    let path = file("shown.json", &types::layouts().to_json());
    let (code, text, said) = written(&layouts(&[&path], &["show", "events", "--layouts"]));
    assert_eq!((code, said.as_str()), (0, ""));
    let expected = "events
  EventKey: text layout, delimiter `#` (0x23), 30 to 4096 bytes, fingerprint 6c1705375cfbd9b0
    salt     bucket  byte 0           1 byte               0 to 3, FarmHash of user_id#site
    user_id  String  byte 2           up to the delimiter  UTF-8
    site     String  after delimiter  up to the delimiter  UTF-8
    at       u64     after delimiter  19 bytes             decimal, zero padded, descending as 9223372036854775807 - v
    seq      u32     after delimiter  6 bytes              decimal, zero padded
  Event: fingerprint 454fb0b53de582ca
    cf:kind  text; the newest; if absent: the row cannot be read
    cf:amount  an integer of -9223372036854775808 to 9223372036854775807; the newest; if absent: none
  family `cf` of bytes, garbage collected: all but the newest version
";
    assert_eq!(text, expected);
    let (code, text, _) = written(&layouts(&[&path], &["show", "--markdown", "events", "--layouts"]));
    assert!(code == 0 && text.starts_with("# Table `events`\n"), "{text}");
    let (code, text, _) = written(&layouts(&[&path], &["show", "--layouts"]));
    assert!(code == 0 && text.lines().filter(|line| !line.starts_with(' ')).count() > 100);
}
