//! `copy` and `diff`: a copy does what it announces, beside writers no more than that, and goes on where it was killed.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use keyderive::layouts::Layouts;
use keyderive::row::{Mutation, RawRow};
use keyderive::{RowKey, Table};
use keyderive_tests::fixtures::Event;

use crate::server::{Ended, Folder, address, created, raw, stored, wait};

#[derive(RowKey, Clone, Debug)]
struct EventKey {
    at: u64,
    user_id: String,
}

#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "user")]
struct UserEventKey {
    user: String,
    #[reverse_ts]
    at: u64,
}

/// Without the time: rows of one user have one key.
#[derive(RowKey, Clone, Debug)]
struct UserKey {
    user_id: String,
}

const MAP: [&str; 2] = ["--map", "user=user_id"];

/// Both tables, with rows in the old one; the program knows their layouts.
fn tables(folder: &Folder, name: &str, rows: u64) -> (Table<EventKey, Event>, String) {
    let new = format!("{name}-new");
    let layouts = Layouts::new()
        .table::<EventKey, Event>(name)
        .table::<UserEventKey, Event>(&new)
        .table::<UserKey, Event>(&format!("{name}-users"));
    folder.write("layouts.json", layouts.to_json());
    let old = created::<EventKey, Event>(name);
    created::<UserEventKey, Event>(&new);
    created::<UserKey, Event>(&format!("{name}-users"));
    fill(&old, 0..rows);
    (old, new)
}

fn fill(old: &Table<EventKey, Event>, rows: std::ops::Range<u64>) {
    let rows = rows.map(|at| {
        let note = at.is_multiple_of(3).then(|| "a note".into());
        (EventKey { at, user_id: format!("user-{}", at % 50) }, Event { kind: "view".into(), note })
    });
    wait(old.put_all(rows)).unwrap();
}

/// What the new table must have: each row once, with its cells and their times.
fn expected(old: &str) -> Vec<(Vec<u8>, String)> {
    let rows = stored(old).into_iter().map(|row| {
        let key = EventKey::decode(row.key()).unwrap();
        (UserEventKey { user: key.user_id, at: key.at }.encode().unwrap(), cells(&row))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

fn is(table: &str) -> Vec<(Vec<u8>, String)> {
    stored(table).iter().map(|row| (row.key().to_vec(), cells(row))).collect()
}

fn cells(row: &RawRow) -> String {
    let cells = row.cells().map(|cell| {
        format!("{}:{:?}@{}={:?};", cell.family(), cell.qualifier(), cell.timestamp_micros(), cell.value())
    });
    cells.collect()
}

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, &MAP, more].concat()
}

/// A row of another layout is a difference, and the others are compared.
#[test]
fn a_foreign_row_is_a_difference() {
    let folder = Folder::new("diff-foreign");
    let (old, new) = tables(&folder, "diff-foreign", 20);
    folder.run(&with(&["copy", "diff-foreign", &new], &["--yes"])).expect(0);
    let cells = || vec![Mutation::set("cf", "kind", 1_000_000, "x")];
    wait(raw("diff-foreign").mutate_row("no key", cells())).unwrap();
    let diff = with(&["diff", "diff-foreign", &new], &["--output", "rows.json"]);
    let ended = folder.run(&diff).expect(1);
    assert_eq!(
        ended.out,
        "tables `diff-foreign` and `diff-foreign-new` differ: of 20 rows compared, 1 row of `diff-foreign` has a key of another layout\n  \
         `no key`: the key is not of the layout of `diff-foreign`; the row is not compared\n"
    );
    assert_eq!(
        folder.read("rows.json"),
        "{\"difference\":\"foreign\",\"old\":[{\"key\":\"no key\",\"fields\":null}]}\n"
    );
    wait(old.delete(&EventKey { at: 7, user_id: "user-7".into() })).unwrap();
    let ended = folder.run(&with(&["diff", "diff-foreign", &new], &["--format", "json"])).expect(1);
    assert!(ended.out.contains("\"compared\":19,") && ended.out.contains("\"extra\":1,"), "{}", ended.out);
    assert!(ended.out.contains("\"foreign\":1,"), "{}", ended.out);
    // One exit code for files that cannot be written.
    for arguments in [
        with(&["diff", "diff-foreign", &new], &["--output", "no/x"]),
        vec!["verify", "diff-foreign", "--out", "no/x"],
    ] {
        folder.run(&arguments).expect(4).says("`no/x` cannot be written");
    }
}

#[test]
fn it_does_what_it_announces() {
    let folder = Folder::new("copy");
    let (old, new) = tables(&folder, "copy", 2500);
    let copy = ["copy", "copy", &new];

    let dry = folder.run(&with(&copy, &[])).expect(0);
    let announced = dry.out.strip_prefix("would copy ").unwrap().trim_end();
    assert!(announced.starts_with("2500 rows of `copy` to `copy-new`, 3334 cells, "), "{announced}");
    assert!(dry.error.contains("dry run: pass `--yes` to apply"), "{}", dry.error);
    assert_eq!(stored(&new).len(), 0);
    // It registers nothing either.
    folder.run(&["diff", "copy", &new, MAP[0], MAP[1]]).expect(1);

    let done = folder.run(&with(&copy, &["--yes"])).expect(0);
    let bytes = announced.rsplit_once(", ").unwrap().1;
    let expected_out =
        format!("copied 2500 rows of `copy` to `copy-new`, 3334 cells; in this run {bytes}, by ");
    assert!(done.out.starts_with(&expected_out), "{}\n{expected_out}", done.out);
    done.says("tables `copy` and `copy-new` are equal: 2500 rows, 3334 cells");
    assert_eq!(is(&new), expected("copy"));

    // The new table has rows now.
    folder.run(&with(&copy, &[])).expect(3).says("it has rows, such as");
    folder.run(&with(&copy, &["--yes"])).expect(3);
    let again = folder.run(&with(&copy, &["--yes", "--allow-existing", "--format", "json"])).expect(0);
    assert!(again.out.contains("\"is_copied\":true,\"rows\":2500,\"cells\":3334,"), "{}", again.out);
    assert!(again.out.contains("\"differences\":0"), "{}", again.out);

    folder.run(&["diff", "copy", &new, MAP[0], MAP[1]]).expect(0);
    wait(old.delete(&EventKey { at: 7, user_id: "user-7".into() })).unwrap();
    folder.run(&with(&copy, &["--yes", "--allow-existing"])).expect(1).says("1 row is in `copy-new` alone");
}

#[test]
fn a_mapping_that_does_not_fit_is_refused_with_every_fault() {
    let folder = Folder::new("copy-maps");
    let (_, new) = tables(&folder, "copy-maps", 3);
    let ended = folder.run(&["copy", "copy-maps", &new, "--map", "user=users,at=user_id"]).expect(2);
    for fault in [
        "`user=users`: `EventKey` has no field `users`; it has `at`, `user_id`",
        "`at=user_id`: the field `user_id` of `EventKey` holds text, and `at` of `UserEventKey` integers",
    ] {
        assert!(ended.error.contains(fault), "{fault}: {}", ended.error);
    }
    // Without a mapping, a field has no source.
    let ended = folder.run(&["copy", "copy-maps", &new]).expect(2);
    assert!(ended.error.contains("write `user=field`, or `user='text'` for a constant"), "{}", ended.error);
    let constant = folder.run(&["copy", "copy-maps", &new, "--map", "user='all'", "--yes"]).expect(0);
    assert!(constant.error.contains("new keys do not have `user_id`"), "{}", constant.error);
    assert!(stored(&new).iter().all(|row| row.key().windows(5).any(|part| part == b"#all#")));
}

#[test]
fn rows_with_one_new_key_are_found_before_anything_is_written() {
    let folder = Folder::new("copy-collides");
    tables(&folder, "copy-collides", 60);
    let copy = ["copy", "copy-collides", "copy-collides-users"];
    let dry = folder.run(&copy).expect(1);
    dry.begins("refuses to copy 60 rows").prints("; 10 rows with the key of another one");
    assert!(dry.error.contains("`--yes` copies nothing while there are such rows"), "{}", dry.error);
    assert!(dry.error.contains("a row before it has the same key"), "{}", dry.error);
    let refused = folder.run(&[&copy[..], &["--yes"]].concat()).expect(3);
    assert!(refused.error.contains("nothing was copied"), "{}", refused.error);
    assert!(refused.out.starts_with("refuses to copy 60 rows"), "{}", refused.out);
    let json = folder.run(&[&copy[..], &["--format", "json"]].concat()).expect(1);
    assert!(json.out.starts_with("{\"is_copied\":false,\"is_refused\":true,\"rows\":60,"), "{}", json.out);
    assert_eq!(stored("copy-collides-users").len(), 0);
}

#[test]
fn a_key_of_another_layout_is_named() {
    let folder = Folder::new("copy-foreign");
    let (_, new) = tables(&folder, "copy-foreign", 5);
    let cells = vec![Mutation::set("cf", "kind", 1_000_000, "x")];
    wait(raw("copy-foreign").mutate_row("no\u{1b}[31mkey", cells)).unwrap();
    let dry = folder.run(&with(&["copy", "copy-foreign", &new], &[])).expect(1);
    assert!(dry.out.contains("; 1 row cannot be copied"), "{}", dry.out);
    assert!(dry.error.contains(r"no\x1b[31mkey"), "{}", dry.error);
    folder.run(&with(&["copy", "copy-foreign", &new], &["--yes"])).expect(3);
    assert_eq!(stored(&new).len(), 0);
}

#[test]
fn killed_at_ten_points_it_goes_on() {
    let folder = Folder::new("copy-killed");
    let (_, new) = tables(&folder, "copy-killed", 4000);
    let arguments =
        with(&["copy", "copy-killed", &new], &["--yes", "--rate", "2000", "--resume", "progress"]);
    let ended = folder.run_killed(&arguments, 10).expect(0);
    assert!(ended.out.starts_with("copied 4000 rows"), "{}", ended.out);
    assert_eq!(is(&new), expected("copy-killed"));
    // What is done is not done again, and other arguments do not go on.
    folder.run(&arguments).expect(0).says("nothing was done now");
    let other = ["copy", "copy-killed", &new, "--map", "user='all'", "--yes", "--resume", "progress"];
    folder.run(&other).expect(3).says("there `map` is \"user=user_id, at=at\"");
    // The file of the library alone would not say of which mapping it is.
    std::fs::remove_file(folder.path("progress")).unwrap();
    folder.run(&arguments).expect(3).says("whose file of `--resume` is gone");
}

#[test]
fn beside_a_writer_it_stops_above_what_it_announced() {
    let folder = Folder::new("copy-writer");
    let (old, new) = tables(&folder, "copy-writer", 300);
    let arguments = with(&["copy", "copy-writer", &new], &["--yes", "--rate", "100", "--resume", "progress"]);
    let mut child = folder.spawn(&arguments);
    while stored(&new).is_empty() {
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!((1..300).contains(&stored(&new).len()));
    fill(&old, 1000..1050);
    folder.run(&arguments).expect(3).says("there are more rows than the 300 that were announced");
    assert!(stored(&new).len() <= 300);
    folder.run(&[&arguments[..], &["--any-number"]].concat()).expect(0);
    assert_eq!(is(&new), expected("copy-writer"));
}

#[test]
fn it_can_be_stopped() {
    let folder = Folder::new("copy-stopped");
    let (_, new) = tables(&folder, "copy-stopped", 600);
    let arguments =
        with(&["copy", "copy-stopped", &new], &["--yes", "--rate", "100", "--resume", "progress"]);
    let mut copied = 0;
    for _ in 0..2 {
        let child = folder.spawn(&arguments);
        while stored(&new).len() == copied {
            sleep(Duration::from_millis(5));
        }
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let ended = Ended::new(child.wait_with_output().unwrap(), &arguments).expect(4);
        // Each row that is written counts, and none is written again.
        let rows = stored(&new).len();
        assert!((copied + 1..600).contains(&rows), "{copied}, {rows}");
        copied = rows;
        let summary = format!("stopped\ncopied {copied} rows of 600; the same command goes on from here");
        assert!(ended.error.contains(&summary), "{summary}: {}", ended.error);
        let kept = folder.read("progress.rows");
        assert!(kept.contains(&format!("\"copied\":{copied},")), "{copied}: {kept}");
    }
    let faster = ["--yes", "--rate", "10000", "--resume", "progress", "--format", "json"];
    let ended = folder.run(&with(&["copy", "copy-stopped", &new], &faster)).expect(0);
    assert_eq!(is(&new), expected("copy-stopped"));
    // The bytes of a row are about the same.
    let bytes: usize =
        ended.out.split_once("\"bytes\":").unwrap().1.split(',').next().unwrap().parse().unwrap();
    let whole = folder
        .run(&with(&["copy", "copy-stopped", &new], &["--yes", "--allow-existing", "--format", "json"]));
    let all: usize =
        whole.out.split_once("\"bytes\":").unwrap().1.split(',').next().unwrap().parse().unwrap();
    let expected = all * (600 - copied) / 600;
    assert!((expected * 9 / 10..expected * 11 / 10).contains(&bytes), "{bytes} of {all}, {copied} before");
}

#[test]
fn differences_are_shown_and_written_to_a_file() {
    let folder = Folder::new("diff");
    let (old, new) = tables(&folder, "diff", 100);
    folder.run(&with(&["copy", "diff", &new], &["--yes"])).expect(0);
    let key = |at: u64| EventKey { at, user_id: format!("user-{}", at % 50) };
    let event = Event { kind: "other\u{1b}[31m".into(), note: None };
    for at in 0..30 {
        wait(old.put(&key(at), &event)).unwrap();
    }
    for at in 200..203 {
        wait(old.put(&key(at), &event)).unwrap();
    }
    wait(old.delete(&key(99))).unwrap();
    let diff = with(&["diff", "diff", &new], &["--output", "all.json", "--show", "2"]);
    let ended = folder.run(&diff).expect(1);
    ended.begins("tables `diff` and `diff-new` differ: of 102 rows compared, 3 are missing");
    assert!(ended.out.contains("and 32 more") && !ended.out.contains('\u{1b}'), "{}", ended.out);
    let all = folder.read("all.json");
    assert_eq!(all.lines().count(), 34);
    let of = |kind: &str| {
        all.lines().filter(|line| line.starts_with(&format!("{{\"difference\":\"{kind}\""))).count()
    };
    assert_eq!((of("missing"), of("cells"), of("extra")), (3, 30, 1), "{all}");
    let json = folder.run(&with(&["diff", "diff", &new], &["--format", "json", "--show", "1000"])).expect(1);
    assert_eq!(json.out.lines().count(), 35);
    let last = json.out.lines().last().unwrap();
    assert!(last.starts_with("{\"is_equal\":false,\"compared\":102,"), "{last}");
    assert!(json.out.contains("\"fields\":{\"at\":201,\"user_id\":\"user-1\"}"), "{}", json.out);
}

#[test]
fn the_new_table_may_be_in_another_bigtable() {
    let folder = Folder::new("copy-elsewhere");
    let (_, new) = tables(&folder, "copy-elsewhere", 40);
    let elsewhere = keyderive::Client::embedded_at(folder.path("other.tables"));
    wait(async {
        let client = elsewhere.await.unwrap();
        client.table::<UserEventKey, Event>(&new).create().await.unwrap();
        client.close().await;
    });
    folder.write(
        "keyderive.toml",
        "[instances.other]\naddress = \"embedded:other.tables\"\nproduction = true\n",
    );
    let copy = with(&["copy", "copy-elsewhere", &new], &["--to-on", "other"]);
    let dry = folder.run(&copy).expect(0);
    assert!(dry.out.starts_with("would copy 40 rows") && dry.error.contains("production: other"), "{dry:?}");
    folder.run(&[&copy[..], &["--yes"]].concat()).expect(0);
    assert_eq!(stored(&new).len(), 0, "{}", address());
    folder.run(&with(&["diff", "copy-elsewhere", &new], &["--to-file", "other.tables"])).expect(0);
    folder.run(&with(&["diff", "copy-elsewhere", &new], &[])).expect(1);
}
