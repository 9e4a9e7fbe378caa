//! `import`: names, bad lines, refusals, and going on where it was killed.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use keyderive::{Row, RowKey, Table};

use crate::server::{Ended, Folder, stored, table, wait};

#[derive(RowKey, Clone, Debug, PartialEq, PartialOrd)]
pub(crate) struct UserKey {
    pub(crate) id: u64,
}

#[derive(Row, Clone, Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) age: Option<u8>,
}

fn all(users: &Table<UserKey, User>) -> Vec<(UserKey, User)> {
    wait(users.scan(UserKey::scan()).collect()).unwrap()
}

fn user(id: u64, name: &str, age: Option<u8>) -> (UserKey, User) {
    (UserKey { id }, User { name: name.into(), age })
}

#[test]
fn names_are_mapped_and_others_refused() {
    let folder = Folder::new("names");
    let users = table::<UserKey, User>(&folder, "names");
    folder.write("users.csv", "Id,name,Years,comment\n7,Corrie,42,x\n8,,,y\n");
    let import = |more: &[&str]| folder.run(&[&["import", "names", "users.csv", "--yes"], more].concat());
    let refused = import(&[]).expect(3);
    refused.says("`Id` is neither a key field nor a column of `User`, whose columns are `cf:name`, `cf:age`");
    import(&["--map", "Id=id", "--map", "Years=age"]).expect(3).says("leave it out by `--ignore 'comment'`");
    import(&["--map", "Id=id", "--ignore", "Years", "--ignore", "comment", "--map", "years=age"]).expect(3);
    import(&["--map", "Id=nothing"]).expect(2);
    // The target is wrong, and not the name.
    let refused = import(&["--map", "Id=id", "--map", "name=nane"]).expect(2);
    let part = "`--map 'name=nane'`: `nane` is neither a key field nor a column of `User`, whose columns are `cf:name`, `cf:age`; did \
                you mean `name`?";
    assert!(refused.error.contains(part), "{}", refused.error);
    let refused =
        import(&["--map", "Id=id", "--map", "Years=age", "--ignore", "comment", "--ignore", "nosuch"]);
    refused.says("`--ignore 'nosuch'`: the input has no such name; its names are `Id`, `name`");
    refused.expect(3);
    import(&["--map", "Id=id", "--map", "Years=cf:name", "--ignore", "comment"]).expect(3);
    import(&["--ignore", "Id", "--map", "Years=age", "--ignore", "comment"]).expect(3);
    assert!(stored("names").is_empty());
    let mapped = ["--map", "Id=id", "--map", "Years=cf:age", "--ignore", "comment"];
    let dry = folder.run(&[&["import", "names", "users.csv"], &mapped[..]].concat()).expect(0);
    dry.prints("Years is the column cf:age\ncomment is left out\nline 2: UserKey { id: 7 }\n");
    assert!(stored("names").is_empty());
    import(&mapped).expect(0);
    assert_eq!(all(&users), [user(7, "Corrie", Some(42)), user(8, "", None)]);
    // Rows that exist stay.
    folder.write("users.csv", "id,name\n7,Other\n9,New\n");
    let kept = import(&["--if-absent"]).expect(0);
    let wrote = kept.out.starts_with("wrote 1 row of `names`; in this run 1 row and ");
    assert!(wrote && kept.out.contains("; 1 row existed and stayed"), "{}", kept.out);
    let none = import(&["--if-absent"]).expect(0);
    assert_eq!(
        none.out,
        "wrote 0 rows of `names`; in this run 0 rows and 0 bytes, by 2 requests; 2 rows existed and stayed\n"
    );
    let json = import(&["--if-absent", "--report", "json"]).expect(0);
    assert!(json.out.starts_with("{\"is_written\":true,\"rows\":0,"), "{}", json.out);
    assert_eq!(all(&users), [user(7, "Corrie", Some(42)), user(8, "", None), user(9, "New", None)]);
}

#[test]
fn bad_lines_stop_it_or_are_left_out() {
    let folder = Folder::new("bad");
    let users = table::<UserKey, User>(&folder, "bad");
    folder.write("users.csv", "id,name,age\n1,a,1\n2,b,300\n3,\"c\nc\",\n4,d\nx,e,1\n6,f,6\n");
    let dry = folder.run(&["import", "bad", "users.csv"]).expect(1);
    assert!(
        dry.out.ends_with("would write 1 row of `bad`, and stop at line 3; 3 bad lines in all\n"),
        "{}",
        dry.out
    );
    assert!(dry.out.contains("line 6 is bad: it has 2 cells, and there are 3 names"), "{}", dry.out);
    let stopped = folder.run(&["import", "bad", "users.csv", "--yes", "--resume", "progress"]).expect(3);
    assert!(stopped.error.contains("line 3: column `cf:age`"), "{}", stopped.error);
    assert!(stopped.error.contains("wrote 1 row, the first ones of the input"), "{}", stopped.error);
    assert_eq!(all(&users), [user(1, "a", Some(1))]);
    // It goes on with the input that was mended.
    folder.write("users.csv", "id,name,age\n1,a,1\n2,b,30\n3,\"c\nc\",\n6,f,6\n");
    let done = folder.run(&["import", "bad", "users.csv", "--yes", "--resume", "progress"]).expect(0);
    assert!(done.out.starts_with("wrote 4 rows of `bad`; in this run 3 rows"), "{}", done.out);
    let expected =
        [user(1, "a", Some(1)), user(2, "b", Some(30)), user(3, "c\nc", None), user(6, "f", Some(6))];
    assert_eq!(all(&users), expected);

    let lines = "{\"id\":10,\"name\":\"a\"}\n\n{\"id\":11}\n[]\n{\"id\":12,\"id\":12,\"name\":\"a\"}\n{\"id\":\"13\",\"name\":\"b\",\"cf:age\":null}\n";
    folder.write("users.json", lines);
    let arguments = ["import", "bad", "users.json", "--format", "json", "--bad-lines", "skip=bad.json"];
    let dry = folder.run(&arguments).expect(1);
    assert!(dry.out.ends_with("would write 2 rows of `bad`, and leave out 3 bad lines\n"), "{}", dry.out);
    let done = folder.run(&[&arguments[..], &["--yes", "--report", "json"]].concat()).expect(1);
    done.begins("{\"is_written\":true,\"rows\":2,\"bad_lines\":3,\"this_run\":");
    assert_eq!(all(&users)[4..], [user(10, "a", None), user(13, "b", None)]);
    let bad = folder.read("bad.json");
    let lines: Vec<_> = bad.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(lines, ["{\"line\":3", "{\"line\":4", "{\"line\":5"]);
}

/// A request has the rows of a second.
#[test]
fn with_a_rate_rows_share_requests() {
    let folder = Folder::new("import-rate");
    let users = table::<UserKey, User>(&folder, "import-rate");
    let rows: String = (0..300).map(|id| format!("{{\"id\":{id},\"name\":\"a\"}}\n")).collect();
    folder.write("users.json", rows);
    let begun = std::time::Instant::now();
    let arguments = ["import", "import-rate", "users.json", "--format", "json", "--report", "json", "--yes"];
    let done = folder.run(&[&arguments[..], &["--rate", "200"]].concat()).expect(0);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    let numbers: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert!(numbers["this_run"]["requests"].as_u64().unwrap() <= 10, "{}", done.out);
    assert_eq!(all(&users).len(), 300);
}

#[test]
fn it_can_be_stopped() {
    let folder = Folder::new("import-stopped");
    let users = table::<UserKey, User>(&folder, "import-stopped");
    let rows: String = (0..300).map(|id| format!("{{\"id\":{id},\"name\":\"a\"}}\n")).collect();
    folder.write("users.json", rows);
    let arguments = [
        "import",
        "import-stopped",
        "users.json",
        "--format",
        "json",
        "--yes",
        "--rate",
        "100",
        "--resume",
        "progress",
    ];
    let child = folder.spawn(&arguments);
    while stored("import-stopped").is_empty() {
        sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ended = Ended::new(child.wait_with_output().unwrap(), &arguments).expect(4);
    let rows = stored("import-stopped").len();
    assert!((1..300).contains(&rows), "{rows}");
    let said = format!("wrote {rows} row");
    assert!(ended.error.contains("error: stopped") && ended.error.contains(&said), "{}", ended.error);
    let done = folder.run(&arguments).expect(0);
    done.begins(&format!("wrote 300 rows of `import-stopped`; in this run {} rows", 300 - rows));
    assert_eq!(all(&users).len(), 300);
}

#[test]
fn killed_at_ten_points_it_goes_on() {
    let folder = Folder::new("import-killed");
    let users = table::<UserKey, User>(&folder, "import-killed");
    let (mut csv, mut expected) = ("id,name,age\n".to_owned(), Vec::new());
    for id in 0..5000 {
        csv += &format!("{id},user {id},\n");
        expected.push(user(id, &format!("user {id}"), None));
    }
    folder.write("users.csv", csv);
    let arguments =
        ["import", "import-killed", "users.csv", "--yes", "--rate", "3000", "--resume", "progress"];
    let done = folder.run_killed(&arguments, 10).expect(0);
    assert!(done.out.starts_with("wrote 5000 rows of"), "{}", done.out);
    assert!(all(&users) == expected);
    // What is done is not done again.
    wait(users.delete(&UserKey { id: 3 })).unwrap();
    folder.run(&arguments).expect(0);
    assert_eq!(all(&users).len(), 4999);
    let other = ["import", "import-killed", "users.csv", "--yes", "--if-absent", "--resume", "progress"];
    folder.run(&other).expect(3);
}

#[test]
fn into_the_file_of_an_embedded_bigtable() {
    let folder = Folder::new("file");
    let path = folder.path("tables");
    wait(async {
        let client = keyderive::Client::embedded_at(&path).await.unwrap();
        client.table::<UserKey, User>("users").create().await.unwrap();
        client.close().await;
    });
    folder
        .write("layouts.json", keyderive::layouts::Layouts::new().table::<UserKey, User>("users").to_json());
    folder.write("users.csv", "id,name,age\n1,a,1\n2,b,\n");
    let done = folder.run(&["import", "users", "users.csv", "--file", "tables", "--yes"]).expect(0);
    assert!(done.out.starts_with("wrote 2 rows of `users`"), "{}", done.out);
    let exported = folder.run(&["export", "users", "--file", "tables", "--where", "id=2"]).expect(0);
    assert_eq!(exported.out, "id,cf:name,cf:age\n2,b,\n");
    let deleted = folder.run(&["delete", "users", "--file", "tables", "--where", "id=2", "--yes"]).expect(0);
    assert_eq!(deleted.out, "deleted 1 row of `users`, by 1 request\n");
}

/// What is written to one file would replace what the other has.
#[test]
fn no_two_options_name_one_file() {
    let folder = Folder::new("one-file");
    let users = table::<UserKey, User>(&folder, "one_file");
    let text = "id,name\n7,Corrie\n8,Dave\n";
    folder.write("users.csv", text);
    let import = |more: &[&str]| folder.run(&[&["import", "one_file", "users.csv", "--yes"], more].concat());
    let refused = import(&["--bad-lines", "skip=./users.csv"]).expect(2);
    assert!(refused.error.contains("is the file of the input and of --bad-lines"), "{}", refused.error);
    import(&["--resume", "users.csv"]).expect(2);
    import(&["--resume", "state", "--bad-lines", "skip=state"]).expect(2);
    assert_eq!(std::fs::read_to_string(folder.path("users.csv")).unwrap(), text);
    assert!(all(&users).is_empty());
    import(&["--resume", "state"]).expect(0);
    // An input that has grown since has rows that are not written.
    folder.write("users.csv", format!("{text}9,Eve\n"));
    import(&["--resume", "state"]).expect(3).says("it has other records now");

    let export = |more: &[&str]| folder.run(&[&["export", "one_file", "--output", "out.csv"], more].concat());
    export(&["--resume", "out.csv"]).expect(2);
    assert!(!folder.path("out.csv").exists());
    export(&["--resume", "progress"]).expect(0);
    export(&["--resume", "progress"]).expect(0);
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    export(&["--resume", "progress"]).expect(3).says("it is not as it was then");
    folder.run(&["export", "one_file", "--output", "x.tmp", "--resume", "x"]).expect(2);
}

/// Rows of another input would be passed over, as if they had been written.
#[test]
fn an_input_that_has_changed_is_not_gone_on_with() {
    let folder = Folder::new("other-input");
    let users = table::<UserKey, User>(&folder, "other_input");
    for format in ["csv", "json"] {
        let file = format!("users.{format}");
        let write = |rows: &[(&str, &str)]| {
            let mut text = if format == "csv" { "id,name\n".to_owned() } else { String::new() };
            for (id, name) in rows {
                text += &match format {
                    "csv" => format!("{id},{name}\n"),
                    _ => format!("{{\"id\":\"{id}\",\"name\":\"{name}\"}}\n"),
                };
            }
            folder.write(&file, text);
        };
        let state = format!("state-{format}");
        let import = || {
            let line = ["import", "other_input", &file, "--format", format, "--yes", "--resume", &state];
            folder.run(&line)
        };
        write(&[("1", "A"), ("2", "B"), ("x", "C")]);
        import().expect(3);
        assert_eq!(all(&users).len(), 2, "{format}");
        for other in [[("9", "New"), ("1", "A"), ("2", "B")], [("1", "A"), ("2", "Bob"), ("3", "C")]] {
            write(&other);
            import().expect(3).says("the input has other records");
            assert_eq!(all(&users), [user(1, "A", None), user(2, "B", None)]);
        }
        // The line at which it stopped may be corrected.
        write(&[("1", "A"), ("2", "B"), ("3", "C")]);
        import().expect(0);
        assert_eq!(all(&users).len(), 3);
        folder.run(&["delete", "other_input", "--where", "id>=0", "--yes"]).expect(0);
    }
}
