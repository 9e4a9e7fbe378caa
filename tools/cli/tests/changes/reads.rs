//! `count`, `export`, `delete` and `scan`: what they say of rows that they do not read.

use keyderive::row::Mutation;
use keyderive::{RowKey, Table};
use keyderive_tests::fixtures::Event;

use crate::server::{Folder, raw, stored, table, wait};

#[derive(RowKey, Clone, Debug)]
#[salt(range = 16, over = "at")]
struct EventKey {
    user: String,
    at: u64,
}

/// In a table that other key types share.
#[derive(RowKey, Clone, Debug)]
#[row_key(tag = "e")]
#[salt(range = 4, over = "at")]
struct TaggedKey {
    user: String,
    at: u64,
}

fn filled(folder: &Folder, name: &str, rows: u64) -> Table<EventKey, Event> {
    let events = table::<EventKey, Event>(folder, name);
    let rows = (0..rows).map(|at| {
        (EventKey { user: format!("user-{}", at % 5), at }, Event { kind: "view".into(), note: None })
    });
    wait(events.put_all(rows)).unwrap();
    events
}

fn put_raw(name: &str, keys: &[&str]) {
    for key in keys {
        let cells = vec![Mutation::set("cf", "kind", 1_000_000, "x")];
        wait(raw(name).mutate_row((*key).to_owned(), cells)).unwrap();
    }
}

#[test]
fn rows_outside_of_every_bucket_are_said() {
    let folder = Folder::new("outside");
    filled(&folder, "outside", 50);
    let count = ["count", "outside"];
    assert_eq!(folder.run(&count).expect(0).error, "");
    // In none of the ranges of the buckets, which are `00#` to `15#`.
    put_raw("outside", &["garbage-1", "3#user-1#0000000001", "99#user-1#0000000001"]);
    let which = "they lie outside the 16 buckets of the layout; `keyderive verify outside` shows which";

    let counted = folder.run(&count).expect(1);
    assert_eq!(counted.out, "50\n");
    assert!(counted.error.contains(&format!("3 rows not counted: {which}")), "{}", counted.error);
    let kept = folder.run(&["count", "outside", "--where", "at<10"]).expect(1);
    assert!(kept.out == "10\n" && kept.error.contains("3 rows not counted"), "{kept:?}");
    // Of a part of the rows it says nothing.
    folder.run(&["count", "outside", "--where", "user=user-1"]).expect(0);

    let export = ["export", "outside", "--output", "all.csv", "--resume", "progress"];
    for _ in 0..2 {
        folder.run(&export).expect(1).says("exported 50 rows").says(&format!("3 rows not exported: {which}"));
    }
    folder.run(&["export", "outside", "--where", "user=user-1"]).expect(0);

    let delete = ["delete", "outside", "--where", "user>=0"];
    let dry = folder.run(&delete).expect(1);
    assert!(dry.out.starts_with("would delete 50 rows"), "{}", dry.out);
    assert!(dry.error.contains(&format!("3 rows not deleted: {which}")), "{}", dry.error);
    let one = folder.run(&["delete", "outside", "--where", "user=user-1", "--yes"]).expect(0);
    assert!(!one.error.contains("not deleted"), "{}", one.error);
    let done = folder.run(&[&delete[..], &["--yes", "--format", "json"]].concat()).expect(1);
    assert!(done.out.starts_with("{\"is_deleted\":true,\"rows\":40,"), "{}", done.out);
    assert!(done.out.contains(",\"outside\":3}"), "{}", done.out);
    assert!(done.error.contains(&format!("3 rows not deleted: {which}")), "{}", done.error);
    assert_eq!(stored("outside").len(), 3);

    let many: Vec<_> = (0..1005).map(|at| format!("x-{at}")).collect();
    put_raw("outside", &many.iter().map(String::as_str).collect::<Vec<_>>());
    folder.run(&count).expect(1).says("at least 1000 rows not counted: they lie outside");
}

#[test]
fn rows_of_other_tags_are_not_outside() {
    let folder = Folder::new("outside-tagged");
    table::<TaggedKey, Event>(&folder, "outside-tagged");
    put_raw("outside-tagged", &["x#0#user-1#0000000001"]);
    assert_eq!(folder.run(&["count", "outside-tagged"]).expect(0).error, "");
}

#[test]
fn conditions_that_exclude_each_other_read_nothing() {
    let folder = Folder::new("contradictions");
    filled(&folder, "contradictions", 20);
    let both = ["--where", "at>20", "--where", "at<10"];
    let note = "no row can fulfil both `at>20` and `at<10`: nothing is read";
    for command in
        [&["count", "contradictions"][..], &["delete", "contradictions"], &["scan", "contradictions"]]
    {
        let ended = folder.run(&[command, &both].concat()).expect(0);
        assert!(ended.error.contains(note), "{command:?}: {}", ended.error);
    }
    for clauses in [both, ["--where", "user=user-1", "--where", "user=user-2"]] {
        let explained =
            folder.run(&[&["scan", "contradictions", "--explain"][..], &clauses].concat()).expect(0);
        assert!(
            explained.error.contains("no row can fulfil both")
                && !explained.out.contains("checked")
                && !explained.out.contains("16 requests"),
            "{explained:?}"
        );
        let analyzed =
            folder.run(&[&["scan", "contradictions", "--analyze"][..], &clauses].concat()).expect(0);
        println!("{}\n{}", explained.out, analyzed.out);
    }
    // One condition decides the other.
    let one = ["scan", "contradictions", "--explain", "--where", "user=user-1", "--where", "user>=user"];
    let explained = folder.run(&one).expect(0);
    assert!(!explained.out.contains("checked") && explained.error.is_empty(), "{explained:?}");
}

#[test]
fn a_row_without_the_selected_columns_shows_no_value() {
    let folder = Folder::new("selected");
    filled(&folder, "selected", 1);
    let key = EventKey { user: "z".into(), at: 7 }.encode().unwrap();
    wait(raw("selected").mutate_row(key, vec![Mutation::set("cf", "note", 1_000_000, "only")])).unwrap();
    let select = ["scan", "selected", "--where", "user=z", "--select", "kind"];
    let shown = folder.run(&select).expect(1);
    assert!(shown.out.contains("column `cf:kind` is missing"), "{}", shown.out);
    assert!(!shown.out.contains("cf:note"), "{}", shown.out);
    let json = folder.run(&[&select[..], &["--format", "json"]].concat()).expect(1);
    assert!(json.out.ends_with("\"cells\":[]}\n"), "{}", json.out);
    // Without a selection it has what is stored.
    let all = folder.run(&["scan", "selected", "--where", "user=z"]).expect(1);
    assert!(all.out.contains("cf:note @ 1970-01-01T00:00:01Z: only"), "{}", all.out);
}

#[test]
fn an_estimate_that_found_no_row_says_how_many_there_may_be() {
    let folder = Folder::new("estimate");
    filled(&folder, "estimate", 200);
    let none = folder.run(&["count", "estimate", "--where", "user=nobody", "--estimate", "2"]).expect(0);
    assert_eq!(none.out, "about 0 ± 21 (95 % confidence): 2 of 16 parts were counted\n");
    assert!(none.error.contains("rows that lie together may all be in parts"), "{}", none.error);
    let all = folder.run(&["count", "estimate", "--where", "user=nobody", "--estimate", "16"]).expect(0);
    assert_eq!(all.out, "0\n");
}
