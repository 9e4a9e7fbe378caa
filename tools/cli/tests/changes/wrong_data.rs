//! Inputs and arguments that look right and mean something else: a command refuses them, and does not end with 0 and other data.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use keyderive::client::Family;
use keyderive::layouts::Layouts;
use keyderive::row::Mutation;
use keyderive::{GcRule, Row, RowKey};

use crate::server::{Folder, client, raw, stored, table, tables, wait};

#[derive(RowKey, Clone, Debug, PartialEq)]
struct UserKey {
    user_id: String,
    #[pad(6)]
    seq: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Address {
    city: String,
    zip: Option<String>,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct User {
    name: Option<String>,
    ratio: Option<f64>,
    small: Option<f32>,
    #[row(family)]
    home: Option<Address>,
    #[row(family)]
    totals: BTreeMap<String, f64>,
}

fn key(user_id: &str) -> UserKey {
    UserKey { user_id: user_id.into(), seq: 1 }
}

const NOBODY: User = User { name: None, ratio: None, small: None, home: None, totals: BTreeMap::new() };

#[test]
fn an_absent_family_stays_absent() {
    let folder = Folder::new("wrong-family");
    let users = tables::<UserKey, User>(&folder, &["family", "family-again"]);
    let empty = Address { city: String::new(), zip: None };
    wait(users[0].put(&key("absent"), &NOBODY)).unwrap();
    wait(users[0].put(&key("empty"), &User { home: Some(empty), ..NOBODY })).unwrap();
    for format in ["csv", "json"] {
        let rows = folder.run(&["export", "family", "--format", format]).expect(0).out;
        folder
            .run_with(&["import", "family-again", "-", "--format", format, "--yes"], rows.as_bytes())
            .expect(0);
        for user in ["absent", "empty"] {
            let [before, after] = [&users[0], &users[1]].map(|users| wait(users.get(&key(user))).unwrap());
            assert_eq!(after, before, "{format}");
        }
        folder.run(&["delete", "family-again", "--where", "seq=1", "--yes"]).expect(0);
    }
}

#[test]
fn numbers_keep_their_digits() {
    let folder = Folder::new("wrong-numbers");
    let users = table::<UserKey, User>(&folder, "numbers");
    let import = |line: &str| {
        let line = format!("{line}\n");
        folder.run_with(&["import", "numbers", "-", "--format", "json", "--yes"], line.as_bytes())
    };
    for line in [
        r#"{"user_id":100000000000000000000001,"seq":1}"#,
        r#"{"user_id":1e3,"seq":1}"#,
        r#"{"user_id":"a","seq":1,"name":1e3}"#,
        r#"{"user_id":"a","seq":1,"home:city":1.50}"#,
    ] {
        import(line).expect(3).says("write it in quotation marks");
    }
    assert!(stored("numbers").is_empty());
    import(r#"{"user_id":18446744073709551615,"seq":1,"name":-7,"ratio":1e3,"small":0.1,"totals:a":2.5}"#)
        .expect(0);
    let expected = User {
        name: Some("-7".into()),
        ratio: Some(1000.0),
        small: Some(0.1),
        totals: BTreeMap::from([("a".into(), 2.5)]),
        ..NOBODY
    };
    assert_eq!(wait(users.get(&key("18446744073709551615"))).unwrap(), Some(expected));
}

#[test]
fn keys_of_another_input_are_not_passed_over() {
    let folder = Folder::new("wrong-keys");
    let users = table::<UserKey, User>(&folder, "other_keys");
    let keys: Vec<_> = (0..4).map(|at| format!("user-{at}#000001\n")).collect();
    let fill = || {
        let rows = (0..4).map(|at| (key(&format!("user-{at}")), NOBODY));
        let rows: Vec<_> = rows.map(|(key, user)| (key, User { name: Some("a".into()), ..user })).collect();
        wait(users.put_all(rows)).unwrap();
    };
    fill();
    let delete = |keys: &[String]| {
        let arguments = ["delete", "other_keys", "-", "--yes", "--resume", "progress"];
        folder.run_with(&arguments, keys.concat().as_bytes())
    };
    delete(&keys[..2]).expect(0);
    delete(&keys[..2]).expect(0);
    // After it has ended, and as if it had been killed after two keys.
    for is_done in [true, false] {
        let mut state: serde_json::Value = serde_json::from_str(&folder.read("progress")).unwrap();
        state["state"]["is_done"] = is_done.into();
        folder.write("progress", state.to_string());
        let others = [&keys[2..], &keys[1..2]].concat();
        for other in [&keys[2..], &keys[..1], &others] {
            delete(other).expect(3).says("standard input has other keys");
        }
        assert_eq!(stored("other_keys").len(), 2);
    }
    delete(&keys).expect(0);
    assert!(stored("other_keys").is_empty());
}

#[test]
fn conditions_of_other_languages_delete_nothing() {
    let folder = Folder::new("wrong-conditions");
    let users = table::<UserKey, User>(&folder, "conditions");
    for user in ["1234", "alice", "=alice", "'alice'"] {
        wait(users.put(&key(user), &User { name: Some("a".into()), ..NOBODY })).unwrap();
    }
    for condition in [
        "user_id<>1234",
        "user_id==1234",
        "user_id=>1234",
        "user_id=<1234",
        "user_id in (1234,alice)",
        "user_id in 'alice'",
        "user_id='alice'",
        "user_id = \"alice\"",
    ] {
        folder.run(&["delete", "conditions", "--where", condition, "--yes"]).expect(2);
    }
    // A value that no key can hold, as the first condition and as one that the plan does not decide.
    for conditions in [&["seq=4294967295"][..], &["user_id=alice", "seq=4294967295"]] {
        let all = conditions.iter().flat_map(|condition| ["--where", condition]);
        let arguments: Vec<_> = ["delete", "conditions", "--yes"].into_iter().chain(all).collect();
        folder.run(&arguments).expect(2);
    }
    assert_eq!(stored("conditions").len(), 4);
    for condition in ["user_id = =alice", "user_id=\\'alice'"] {
        let deleted = folder.run(&["delete", "conditions", "--where", condition, "--yes"]).expect(0);
        assert!(deleted.out.starts_with("deleted 1 row "), "{}", deleted.out);
    }
}

#[test]
fn quotation_marks_that_do_not_pair() {
    let folder = Folder::new("wrong-quotes");
    let users = table::<UserKey, User>(&folder, "quotes");
    let import = |rows: &str| {
        folder.write("users.csv", format!("user_id,seq,name\n{rows}"));
        folder.run(&["import", "quotes", "users.csv", "--yes", "--bad-lines", "skip=bad"])
    };
    for (rows, why) in [
        ("a,1,\"unclosed\nb,1,B\n", "is not closed"),
        ("a,1,\"unclosed", "is not closed"),
        ("a,1,\"x\ny\"\"z\"x\"\n", "after its closing quotation mark"),
        ("\"a\" ,1,x\n", "after its closing quotation mark"),
    ] {
        let skipped = import(rows).expect(1);
        assert!(skipped.out.starts_with("wrote 0 rows"), "{}", skipped.out);
        assert!(folder.read("bad").contains(why), "{}", folder.read("bad"));
    }
    assert!(stored("quotes").is_empty());
    // Of several rows, those beside it are rows.
    let skipped = import("a,1,\"x\"y\nb,1,\"B,\"\"\n\"\r\nc,1,\"x\"y\nd,1,5\" pipe").expect(1);
    assert!(skipped.out.starts_with("wrote 2 rows"), "{}", skipped.out);
    assert_eq!(wait(users.get(&key("b"))).unwrap().unwrap().name, Some("B,\"\n".into()));
    assert_eq!(wait(users.get(&key("d"))).unwrap().unwrap().name, Some("5\" pipe".into()));
    folder.write("users.csv", "user_id,seq,\"name\na,1,b\n");
    folder.run(&["import", "quotes", "users.csv", "--yes"]).expect(3);
}

#[test]
fn findings_of_an_import_that_is_done_are_said_again() {
    let folder = Folder::new("wrong-again");
    let users = table::<UserKey, User>(&folder, "again");
    let rows = |name: &str| folder.write("users.csv", format!("user_id,seq,name\na,1,{name}\nb,x,B\n"));
    let import = || {
        let bad = "skip=bad";
        folder.run(&["import", "again", "users.csv", "--yes", "--bad-lines", bad, "--resume", "progress"])
    };
    rows("Corrie");
    import().expect(1);
    let again = import().expect(1);
    again.begins("wrote 1 row ").prints("1 bad line left out");
    rows("Dieter");
    import().expect(3).says("it has other records now");
    assert_eq!(wait(users.get(&key("a"))).unwrap().unwrap().name, Some("Corrie".into()));
}

mod salted {
    use keyderive::RowKey;

    #[derive(RowKey, Clone, Debug)]
    #[salt(range = 4, over = "user_id")]
    pub(super) struct Four {
        pub(super) user_id: String,
    }

    #[derive(RowKey, Clone, Debug)]
    #[salt(range = 8, over = "user_id")]
    pub(super) struct Eight {
        pub(super) user_id: String,
    }
}

#[test]
fn a_table_without_a_stamp_is_not_of_any_layout() {
    let folder = Folder::new("wrong-layout");
    for name in ["unstamped", "unstamped-new"] {
        let families = ["cf", "home", "totals"].map(|family| Family::new(family, GcRule::max_versions(1)));
        wait(client().raw_table(name).create(families, [""; 0])).unwrap();
    }
    let layouts = |layouts: Layouts, file: &str| folder.write(file, layouts.to_json());
    let of = |file: &str| match file {
        "s4.json" => {
            let all = Layouts::new().table::<salted::Four, User>("unstamped");
            layouts(all.table::<salted::Four, User>("unstamped-new"), file);
        }
        _ => {
            let all = Layouts::new().table::<salted::Eight, User>("unstamped");
            layouts(all.table::<salted::Eight, User>("unstamped-new"), file);
        }
    };
    of("s4.json");
    of("s8.json");
    let users = ["alice", "bob", "carol", "dave", "erin", "frank"];
    for user_id in users {
        let key = salted::Four { user_id: user_id.into() }.encode().unwrap();
        wait(raw("unstamped").mutate_row(key, vec![Mutation::set("cf", "name", 1_000_000, "a")])).unwrap();
    }
    folder.write("users.csv", "user_id,name\nalice,b\n");
    folder.write("out.csv", "an earlier export\n");
    for arguments in [
        &["delete", "unstamped", "--where", "user_id=alice", "--yes"][..],
        &["delete", "unstamped", "--where", "user_id=alice"],
        &["import", "unstamped", "users.csv", "--yes"],
        &["export", "unstamped", "--output", "out.csv"],
        &["copy", "unstamped", "unstamped-new", "--yes"],
        &["copy", "unstamped-new", "unstamped", "--allow-existing", "--yes"],
    ] {
        let refused = folder.run(&[arguments, &["--layouts", "s8.json"]].concat()).expect(3);
        assert!(refused.error.contains("it has no stamp, and a row of another layout"), "{}", refused.error);
    }
    assert_eq!((stored("unstamped").len(), stored("unstamped-new").len()), (users.len(), 0));
    assert_eq!(folder.read("out.csv"), "an earlier export\n");
    let delete = ["delete", "unstamped", "--where", "user_id=alice", "--yes", "--layouts", "s4.json"];
    folder.run(&delete).expect(0);
    assert_eq!(stored("unstamped").len(), users.len() - 1);
}

#[test]
fn a_refused_command_leaves_the_earlier_file() {
    let folder = Folder::new("wrong-file");
    table::<UserKey, User>(&folder, "file_of_users");
    // The table is of the other key type.
    let other = Layouts::new().table::<salted::Four, User>("file_of_users");
    folder.write("other.json", other.to_json());
    let kept = "an earlier one\n";
    folder.write("kept", kept);
    folder.write("users.csv", "user_id,seq,name\na,1,A\nb,1,B\nc,x,C\n");
    folder.run(&["export", "file_of_users", "--output", "kept", "--layouts", "other.json"]).expect(3);
    folder.run(&["export", "no_table", "--output", "kept"]).expect(3);
    folder
        .run(&[
            "import",
            "file_of_users",
            "users.csv",
            "--ignore",
            "seq",
            "--yes",
            "--bad-lines",
            "skip=kept",
            "--layouts",
            "other.json",
        ])
        .expect(3);
    assert_eq!(folder.read("kept"), kept);
    // An input that is not the one to go on with.
    let import = |bad: &str| {
        let arguments =
            ["import", "file_of_users", "users.csv", "--yes", "--resume", "progress", "--bad-lines"];
        folder.run(&[&arguments[..], &[bad]].concat())
    };
    import("skip=bad").expect(1);
    let mut state: serde_json::Value = serde_json::from_str(&folder.read("progress")).unwrap();
    state["state"]["is_done"] = false.into();
    folder.write("progress", state.to_string());
    for other in ["user_id,seq,name\nc,x,C\na,1,Anna\nb,1,B\n", "user_id,seq,name\nc,x,C\n"] {
        folder.write("users.csv", other);
        import("skip=kept").expect(3);
        assert_eq!(folder.read("kept"), kept);
    }
}

#[derive(RowKey, Clone, Debug)]
#[row_key(allow(hotspot))]
struct FineKey {
    at: std::time::SystemTime,
}

#[derive(RowKey, Clone, Debug)]
#[row_key(allow(hotspot))]
struct CoarseKey {
    #[row_key(ts(unit = "millis"))]
    at: std::time::SystemTime,
}

#[test]
fn times_between_two_of_a_key() {
    let folder = Folder::new("wrong-times");
    let layouts = Layouts::new().table::<FineKey, User>("fine").table::<CoarseKey, User>("coarse");
    let fine = table::<FineKey, User>(&folder, "fine");
    crate::server::created::<CoarseKey, User>("coarse");
    folder.write("layouts.json", layouts.to_json());
    folder.write("rows.csv", "at,name\n2026-11-24T00:00:00.0001Z,a\n2026-11-24T00:00:00.0002Z,b\n");
    let refused = folder.run(&["import", "coarse", "rows.csv", "--yes"]).expect(3);
    assert!(refused.error.contains("the key stores whole milliseconds"), "{}", refused.error);
    folder.run(&["import", "fine", "rows.csv", "--yes"]).expect(0);
    assert_eq!((stored("fine").len(), stored("coarse").len()), (2, 0));
    // Milliseconds for a field of microseconds.
    folder.run(&["delete", "fine", "--where", "at>=1795478400000", "--yes"]).expect(2);
    let at = UNIX_EPOCH + Duration::from_secs(1_795_478_400) + Duration::from_micros(100);
    assert!(wait(fine.get(&FineKey { at })).unwrap().is_some());
    // Both have one key of milliseconds, which the copy says before it is refused.
    let refused = folder.run(&["copy", "fine", "coarse", "--yes"]).expect(3);
    assert!(refused.error.contains("times of `at` have a larger unit in new keys"), "{}", refused.error);
    assert_eq!(stored("coarse").len(), 0);
}

#[test]
fn of_two_lines_with_one_key_the_first_stays() {
    let folder = Folder::new("wrong-twice");
    let users = table::<UserKey, User>(&folder, "twice");
    let rows = b"user_id,seq,name\na,1,first\na,1,second\n";
    folder.run_with(&["import", "twice", "-", "--yes", "--if-absent"], rows).expect(0);
    assert_eq!(wait(users.get(&key("a"))).unwrap().unwrap().name, Some("first".into()));
    let help = folder.run(&["import", "--help"]).expect(0).out;
    let words: Vec<_> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("with `--if-absent` the first"), "{help}");
}
