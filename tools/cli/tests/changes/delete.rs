//! `delete`: it does what it announces, beside writers no more than that, and goes on where it was killed.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use keyderive::row::Mutation;
use keyderive::{RowKey, Table};
use keyderive_tests::fixtures::Event;

use crate::server::{Ended, Folder, raw, stored, table, wait};

#[derive(RowKey, Clone, Debug)]
#[salt(range = 3, over = "user,at")]
struct EventKey {
    user: String,
    at: u64,
}

fn fill(events: &Table<EventKey, Event>, user: &str, rows: std::ops::Range<u64>) {
    let rows = rows.map(|at| {
        let note = at.is_multiple_of(3).then(|| "a note".into());
        (EventKey { user: user.into(), at }, Event { kind: "view".into(), note })
    });
    wait(events.put_all(rows)).unwrap();
}

fn count(events: &Table<EventKey, Event>, user: &str) -> u64 {
    wait(events.count(EventKey::scan().user(user))).unwrap()
}

#[test]
fn it_does_what_it_announces() {
    let folder = Folder::new("delete");
    let events = table::<EventKey, Event>(&folder, "delete");
    fill(&events, "alice", 0..2500);
    fill(&events, "bob", 0..10);
    let foreign = "1#alice#no number";
    let cells = vec![Mutation::set("cf", "kind", 1_000_000, "x")];
    wait(raw("delete").mutate_row(foreign, cells)).unwrap();

    let dry = folder.run(&["delete", "delete", "--where", "user=alice"]).expect(1);
    assert_eq!(
        dry.out,
        "would delete 2500 rows of `delete`, 3334 cells and 98340 bytes as stored, by 3 requests\n"
    );
    assert!(dry.error.contains("1 row not deleted: the keys are not of the layout"), "{}", dry.error);
    assert!(dry.error.contains("dry run: pass `--yes` to apply"), "{}", dry.error);
    assert_eq!((count(&events, "bob"), stored("delete").len()), (10, 2511));

    let done = folder.run(&["delete", "delete", "--where", "user=alice", "--yes"]).expect(1);
    assert_eq!(done.out, "deleted 2500 rows of `delete`, by 3 requests\n");
    assert!(done.error.contains("1 row not deleted"), "{}", done.error);
    assert_eq!((count(&events, "bob"), stored("delete").len()), (10, 11));

    // A row of another layout is deleted by its name.
    let name = ["delete", "delete", "--raw", foreign, "nobody"];
    let dry = folder.run(&name).expect(1);
    assert_eq!(dry.out, "would delete 1 row of `delete`, 1 cell and 22 bytes as stored, by 1 request\n");
    assert_eq!(stored("delete").len(), 11);
    let done = folder.run(&[&name[..], &["--yes"]].concat()).expect(1);
    assert_eq!(done.out, "deleted 1 row of `delete`, by 1 request\n");
    assert!(done.error.contains("1 key has no row"), "{}", done.error);
    assert_eq!((count(&events, "bob"), stored("delete").len()), (10, 10));
    folder.run(&["delete", "delete", "--raw", "--where", "user=bob", "--yes"]).expect(2);
    wait(raw("delete").mutate_row(foreign, vec![Mutation::set("cf", "kind", 1_000_000, "x")])).unwrap();

    // Conditions that the plan does not decide.
    let done = folder.run(&["delete", "delete", "--where", "at>=7", "--yes", "--format", "json"]).expect(1);
    assert_eq!(done.out, "{\"is_deleted\":true,\"rows\":3,\"requests\":1,\"skipped\":1,\"not_there\":0}\n");
    assert_eq!(count(&events, "bob"), 7);
}

#[test]
fn rows_by_their_keys() {
    let folder = Folder::new("keys");
    let events = table::<EventKey, Event>(&folder, "keys");
    fill(&events, "alice", 0..300);
    let keys: Vec<_> = (0..310).map(|at| EventKey { user: "alice".into(), at }.encode().unwrap()).collect();
    let text = |at: usize| String::from_utf8(keys[at].clone()).unwrap();

    let dry = folder.run(&["delete", "keys", &text(0), &text(1), &text(0)]).expect(0);
    assert!(dry.out.starts_with("would delete 2 rows of `keys`, 3 cells and"), "{}", dry.out);
    // None is deleted if one is no key.
    folder.run(&["delete", "keys", "--yes", &text(0), "no key"]).expect(2);
    assert_eq!(count(&events, "alice"), 300);
    let done = folder.run(&["delete", "keys", "--yes", &text(0), &text(1)]).expect(0);
    assert_eq!(done.out, "deleted 2 rows of `keys`, by 1 request\n");
    folder.run(&["delete", "keys", "--yes", &text(0)]).expect(1);

    let mut stream: Vec<_> = (0..310).map(text).collect();
    stream.insert(17, "\u{1b}[31mno key".to_owned());
    let stream = stream.join("\n");
    let dry = folder.run_with(&["delete", "keys", "-"], stream.as_bytes()).expect(1);
    assert!(
        dry.out.starts_with("would delete 298 rows") && dry.out.ends_with(", by 3 requests\n"),
        "{}",
        dry.out
    );
    let done = folder.run_with(&["delete", "keys", "-", "--yes"], stream.as_bytes()).expect(1);
    assert_eq!(done.out, "deleted 298 rows of `keys`, by 3 requests\n");
    done.says("12 keys have no row").says("1 line left out: not a key of the layout");
    assert_eq!(count(&events, "alice"), 0);
}

/// The file of `verify` names the rows that do not belong, and others that do: only the former are deleted.
#[test]
fn findings_of_verify_name_rows() {
    let folder = Folder::new("findings");
    let events = table::<EventKey, Event>(&folder, "findings");
    fill(&events, "alice", 0..3);
    let raw = raw("findings");
    let set = |column: &'static str, at: i64| vec![Mutation::set("cf", column, at, "x")];
    wait(raw.mutate_row("{no key", set("kind", 1_000_000))).unwrap();
    let unread = EventKey { user: "bob".into(), at: 1 }.encode().unwrap();
    wait(raw.mutate_row(unread, set("note", 1_000_000))).unwrap();
    let future = EventKey { user: "bob".into(), at: 2 }.encode().unwrap();
    wait(raw.mutate_row(future, set("kind", 4_102_444_800_000_000))).unwrap();
    wait(raw.mutate_row("x".repeat(50), set("other", 1_000_000))).unwrap();

    folder.run(&["verify", "findings", "--out", "found.json", "--large-row", "55"]).expect(1);
    let found = folder.read("found.json");
    for kind in ["key", "row", "future", "large"] {
        assert!(found.contains(&format!("\"kind\":\"{kind}\"")), "{found}");
    }
    let input = format!("\n{found}\n  \n{{\"key\":\"1#alice\"}}\nhex 6\n");
    let delete = |more: &[&str]| {
        folder.run_with(&[&["delete", "findings", "--raw", "-"], more].concat(), input.as_bytes()).expect(1)
    };
    for (more, verb) in [(&[][..], "would delete"), (&["--yes"], "deleted")] {
        let ended = delete(more);
        assert!(ended.out.starts_with(&format!("{verb} 2 rows of `findings`")), "{ended:?}");
        let lines = found.lines().count();
        for part in [
            format!("left out: line {}: it is not a finding of `verify --out`", lines + 4),
            format!("left out: line {}: `hex 6`: this text is not a row key", lines + 5),
            "2 lines left out: not a row key".to_owned(),
            format!("{} findings of `verify` left out", lines - 2),
        ] {
            assert!(ended.error.contains(&part), "{part}: {}", ended.error);
        }
    }
    assert_eq!(stored("findings").len(), 5);
    let ended = delete(&["--findings", "key,row", "--yes"]);
    assert!(ended.out.starts_with("deleted 1 row of `findings`"), "{ended:?}");
    assert!(ended.error.contains("2 keys have no row"), "{}", ended.error);
    assert_eq!((count(&events, "alice"), stored("findings").len()), (3, 4));
    folder.run_with(&["delete", "findings", "--raw", "-", "--findings", "large"], b"").expect(2);
}

#[test]
fn of_no_rows_it_does_not_ask() {
    let folder = Folder::new("no-rows");
    table::<EventKey, Event>(&folder, "no-rows");
    let dry = folder.run(&["delete", "no-rows", "--where", "user=alice"]).expect(0);
    assert_eq!(dry.out, "would delete 0 rows of `no-rows`, by 0 requests\n");
    assert_eq!(dry.error, "");
}

#[test]
fn beside_a_writer_it_stops_above_what_it_announced() {
    let folder = Folder::new("writer");
    let events = table::<EventKey, Event>(&folder, "writer");
    fill(&events, "alice", 0..300);
    let arguments =
        ["delete", "writer", "--where", "user=alice", "--yes", "--rate", "100", "--resume", "progress"];
    let mut child = folder.spawn(&arguments);
    while !folder.path("progress").exists() || folder.read("progress").contains("\"deleted\":0") {
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let deleted = 300 - count(&events, "alice");
    assert!((100..300).contains(&deleted), "{deleted}");
    // It goes on, and finds more than it has announced.
    fill(&events, "alice", 1000..1050);
    let ended = folder.run(&arguments).expect(3);
    assert!(ended.error.contains("there are more rows than the 300 that were announced"), "{}", ended.error);
    assert!(ended.error.contains("deleted 300 rows of 300"), "{}", ended.error);
    assert_eq!(count(&events, "alice"), 50);
    folder.run(&arguments).expect(3);
    assert_eq!(count(&events, "alice"), 50);
    folder.run(&[&arguments[..], &["--any-number"]].concat()).expect(0);
    assert_eq!(count(&events, "alice"), 0);
}

#[test]
fn beside_a_writer_that_does_not_end_it_deletes_no_more_than_it_announced() {
    let folder = Folder::new("writes-on");
    let events = table::<EventKey, Event>(&folder, "writes-on");
    fill(&events, "alice", 0..2000);
    let mut child = folder.spawn(&[
        "delete",
        "writes-on",
        "--where",
        "user=alice",
        "--yes",
        "--format",
        "json",
        "--resume",
        "progress",
    ]);
    let mut written = 2000;
    while child.try_wait().unwrap().is_none() {
        fill(&events, "alice", written..written + 20);
        written += 20;
    }
    let ended = Ended::new(child.wait_with_output().unwrap(), &[]);
    assert!([0, 3].contains(&ended.code), "{ended:?}");
    let state: State = serde_json::from_str(&folder.read("progress")).unwrap();
    let announced = state.state.announced;
    assert!(state.state.deleted <= announced && announced >= 2000, "{ended:?}");
    assert_eq!(count(&events, "alice"), written - state.state.deleted);
}

#[test]
fn it_can_be_stopped() {
    let folder = Folder::new("stopped");
    let events = table::<EventKey, Event>(&folder, "stopped");
    fill(&events, "alice", 0..300);
    let arguments =
        ["delete", "stopped", "--where", "user=alice", "--yes", "--rate", "100", "--resume", "progress"];
    let child = folder.spawn(&arguments);
    while !folder.path("progress").exists() || folder.read("progress").contains("\"deleted\":0") {
        sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ended = Ended::new(child.wait_with_output().unwrap(), &arguments).expect(4);
    assert!(ended.error.contains("stopping after the rows in flight"), "{}", ended.error);
    assert!(ended.error.contains("of 300; the same command goes on from here"), "{}", ended.error);
    let left = count(&events, "alice");
    assert!((1..300).contains(&left), "{left}");
    let done = folder.run(&arguments).expect(0);
    assert_eq!(done.out, "deleted 300 rows of `stopped`, by 3 requests\n");
    assert_eq!(count(&events, "alice"), 0);
}

#[derive(serde::Deserialize)]
struct State {
    state: Deleted,
}

#[derive(serde::Deserialize)]
struct Deleted {
    announced: u64,
    deleted: u64,
}

#[test]
fn killed_at_ten_points_it_goes_on() {
    let folder = Folder::new("killed");
    let events = table::<EventKey, Event>(&folder, "killed");
    fill(&events, "alice", 0..4000);
    fill(&events, "bob", 0..100);
    let arguments =
        ["delete", "killed", "--where", "user=alice", "--yes", "--rate", "2000", "--resume", "progress"];
    let ended = folder.run_killed(&arguments, 10).expect(0);
    // Of a request in flight it is counted what was done.
    assert!(ended.out.starts_with("deleted 4000 rows"), "{}", ended.out);
    assert_eq!((count(&events, "alice"), count(&events, "bob")), (0, 100));
    // What is done is not done again, and other arguments do not go on.
    fill(&events, "alice", 0..1);
    folder.run(&arguments).expect(0);
    assert_eq!(count(&events, "alice"), 1);
    let other = ["delete", "killed", "--where", "user=bob", "--yes", "--resume", "progress"];
    folder.run(&other).expect(3).says("there `conditions` is [\"user=alice\"]");
    assert_eq!(count(&events, "bob"), 100);
}

#[test]
fn a_request_whose_answer_is_not_known_is_counted_by_what_is_gone() {
    let folder = Folder::new("in-flight");
    let events = table::<EventKey, Event>(&folder, "in-flight");
    fill(&events, "alice", 0..3);
    let keys: Vec<_> = (0..3).map(|at| EventKey { user: "alice".into(), at }.encode().unwrap()).collect();
    let keys: Vec<_> = keys.into_iter().map(|key| String::from_utf8(key).unwrap()).collect();
    let by_keys = ["delete", "in-flight", &keys[0], &keys[1], &keys[2], "--yes", "--resume", "keys"];
    let by_plan = ["delete", "in-flight", "--where", "user=alice", "--yes", "--resume", "plan"];
    for arguments in [&by_keys[..], &by_plan] {
        folder.run(arguments).expect(0);
        let file = arguments[arguments.len() - 1];
        let mut state: serde_json::Value = serde_json::from_str(&folder.read(file)).unwrap();
        // As it is when the command is killed after the server has deleted one row.
        let is = &mut state["state"];
        for (name, value) in [("deleted", 0), ("requests", 0), ("keys_done", 0)] {
            is[name] = value.into();
        }
        (is["is_done"], is["after"], is["in_flight"]) =
            (false.into(), serde_json::Value::Null, keys.clone().into());
        folder.write(file, state.to_string());
        fill(&events, "alice", 1..3);
        let done = folder.run(arguments).expect(0);
        assert_eq!(done.out, "deleted 3 rows of `in-flight`, by 2 requests\n");
        assert_eq!(count(&events, "alice"), 0);
        fill(&events, "alice", 0..3);
    }
}

#[test]
fn production_is_named() {
    let folder = Folder::new("production");
    table::<EventKey, Event>(&folder, "production");
    folder.write(
        "keyderive.toml",
        "[instances.live]\naddress = \"emulator://127.0.0.1:1/shop/orders\"\nproduction = true\n",
    );
    folder.run(&["delete", "production", "--on", "live", "--where", "user=a"]).says("production: live");
}
