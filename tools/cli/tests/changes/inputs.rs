//! Inputs as other programs write them: their encodings, the ends of their lines, their times; and files that a merge has left.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
use keyderive::layouts::Layouts;
use keyderive::{Row, RowKey};
use tokio::net::TcpListener;

use crate::server::{Folder, created, stored, table, wait};

#[derive(RowKey, Clone, Debug, PartialEq)]
struct UserKey {
    id: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct User {
    name: String,
    #[row(ts(unit = "millis"))]
    seen: Option<SystemTime>,
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Each input of a command, with a byte order mark and in UTF-16.
#[test]
fn every_input_may_have_a_mark_and_none_is_utf16() {
    let folder = Folder::new("marks");
    let users = table::<UserKey, User>(&folder, "marks");
    let rows = [0, 1].map(|id| (UserKey { id }, User { name: "a".into(), seen: None }));
    wait(users.put_all(rows)).unwrap();
    let json = "{\"id\":7,\"name\":\"b\"}\n";
    let csv = "id,name\n8,c\n";
    let views = "id,name,at\n8,c,2026-11-24 08:00:00+00\n";
    let key = "0000000000\n";
    for (arguments, input) in [
        (&["import", "marks", "-", "--yes"][..], csv),
        (&["import", "marks", "-", "--format", "json", "--yes"], json),
        (&["simulate", "-", "marks", "--time", "at", "--input-format", "csv"], views),
        (&["decode", "marks", "-"], key),
        (&["delete", "marks", "-", "--yes"], key),
        (&["delete", "marks", "--raw", "-", "--yes"], "0000000001\n"),
    ] {
        let refused = folder.run_with(arguments, &utf16(input)).expect(3);
        let said = refused.error.contains("it is text in UTF-16 or UTF-32");
        assert!(said && !refused.error.contains("output"), "{arguments:?}: {}", refused.error);
        folder.run_with(arguments, format!("\u{feff}{input}").as_bytes()).expect(0);
    }
    assert_eq!(stored("marks").len(), 2);
    let layouts = folder.read("layouts.json");
    let settings = format!("[instances.here]\naddress = \"{}\"\n", crate::server::address());
    for (file, text, arguments) in [
        ("layouts.json", &layouts, &["get", "marks", "id=8"][..]),
        ("keyderive.toml", &settings, &["get", "marks", "id=8", "--on", "here"]),
    ] {
        folder.write(file, format!("\u{feff}{text}"));
        folder.run(arguments).expect(0);
        folder.write(file, utf16(text));
        let refused = folder.run(arguments);
        assert!(refused.code > 1 && refused.error.contains("it is text in UTF-16"), "{}", refused.error);
        folder.write(file, text);
    }
}

#[derive(RowKey, Clone, Debug)]
#[row_key(layout = "ordered")]
struct BytesKey {
    bytes: Vec<u8>,
}

/// Raw keys may begin as UTF-16 does, and end in a carriage return: the layout says what is a key.
#[test]
fn raw_keys_may_look_like_utf16() {
    let folder = Folder::new("raw-keys");
    table::<BytesKey, User>(&folder, "raw_keys");
    let decode = |input: &[u8]| folder.run_with(&["decode", "raw_keys", "-"], input);
    let text = |input: &[u8]| decode(input).expect(0).out;
    for key in [&b"\xff\xfe12"[..], b"\xfe\xff12", b"\xfe\xff\0\xff1"] {
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = text(format!("0x{hex}\n").as_bytes());
        assert_eq!(text(&[key, b"\n"].concat()), expected, "{key:?}");
    }
    let cbt = |end: &str| format!("{}{end}ab\r{end}", "-".repeat(40));
    for end in ["\n", "\r\n"] {
        let decoded = text(cbt(end).as_bytes());
        assert!(decoded.ends_with(&text(b"0x61620d\n")), "{end:?}: {decoded}");
    }
    let expected = text(b"ab\nc\n");
    for input in ["ab\r\nc\r\n", "ab\rc\r", "ab\rc", "\r\nab\n\r\n\rc\n"] {
        assert_eq!(text(input.as_bytes()), expected, "{input:?}");
    }
}

/// Keys end where lines of other inputs end.
#[test]
fn keys_end_with_their_lines() {
    let folder = Folder::new("key-lines");
    let users = table::<UserKey, User>(&folder, "key_lines");
    for end in ["\n", "\r\n", "\r"] {
        let rows = [0, 1].map(|id| (UserKey { id }, User { name: "a".into(), seen: None }));
        wait(users.put_all(rows)).unwrap();
        let keys = format!("0000000000{end}{end}0000000001{end}");
        let decoded = folder.run_with(&["decode", "key_lines", "-"], keys.as_bytes()).expect(0).out;
        assert_eq!(decoded.lines().count(), 2, "{end:?}: {decoded}");
        folder.run_with(&["delete", "key_lines", "-", "--yes"], keys.as_bytes()).expect(0);
        assert!(stored("key_lines").is_empty(), "{end:?}");
        let wrong = format!("0000000000{end}{end}x{end}");
        let refused = folder.run_with(&["delete", "key_lines", "-"], wrong.as_bytes());
        assert!(refused.error.contains("line 3: "), "{end:?}: {}", refused.error);
    }
}

#[test]
fn the_named_line_is_the_bad_one() {
    let folder = Folder::new("line-ends");
    table::<UserKey, User>(&folder, "line_ends");
    for end in ["\n", "\r\n", "\r"] {
        // The bad one is in line 7.
        let lines = ["id,name", "1,a", "", "2,\"b", "b\"", "", "x,c", "3,d", ""];
        folder.write("users.csv", lines.join(end));
        let stopped = folder.run(&["import", "line_ends", "users.csv", "--yes"]).expect(3);
        assert!(stopped.error.contains("line 7: field `id`"), "{end:?}: {}", stopped.error);
        folder.run(&["import", "line_ends", "users.csv", "--yes", "--bad-lines", "skip=bad"]).expect(1);
        assert!(folder.read("bad").starts_with("{\"line\":7,"), "{end:?}: {}", folder.read("bad"));
        let lines = ["{\"id\":1,\"name\":\"a\"}", "", "{\"id\":2}", ""];
        folder.write("users.json", lines.join(end));
        let arguments = ["import", "line_ends", "users.json", "--format", "json", "--yes"];
        let stopped = folder.run(&arguments).expect(3);
        assert!(stopped.error.contains("line 3: "), "{end:?}: {}", stopped.error);
        assert_eq!(stored("line_ends").len(), 3);
    }
    // Other readers take the quotation marks for a part of the cell.
    folder.write("users.csv", "id,name\n4, \"d\"\n");
    let stopped = folder.run(&["import", "line_ends", "users.csv", "--yes"]).expect(3);
    assert!(stopped.error.contains("has a space before its quotation mark"), "{}", stopped.error);
}

#[test]
fn times_of_columns() {
    let folder = Folder::new("column-times");
    let users = table::<UserKey, User>(&folder, "column_times");
    let import = |seen: &str, more: &[&str]| {
        folder.write("users.csv", format!("id,name,seen\n1,a,{seen}\n"));
        folder.run(&[&["import", "column_times", "users.csv", "--yes"], more].concat())
    };
    let seen = || wait(users.get(&UserKey { id: 1 })).unwrap().unwrap().seen.unwrap();
    let millis = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    for fine in ["2026-11-24T08:00:00.1235Z", "2026-11-24 08:00:00.123456+00"] {
        let refused = import(fine, &[]).expect(3);
        let said = "and the column stores whole milliseconds: round it, or pass `--times round`";
        assert!(refused.error.contains(said), "{}", refused.error);
    }
    assert!(stored("column_times").is_empty());
    let json = "{\"id\":1,\"name\":\"a\",\"seen\":\"2026-11-24T08:00:00.1235Z\"}\n";
    folder.run_with(&["import", "column_times", "-", "--format", "json"], json.as_bytes()).expect(1);
    import("2026-11-24T08:00:00.1235Z", &["--times", "round"]).expect(0);
    assert_eq!(seen(), millis(1_795_507_200_124));
    for text in ["2026-11-24 08:00:00.120+00", "2026-11-24 13:30:00.120+0530", "2026-11-24 08:00:00.120 UTC"]
    {
        import(text, &[]).expect(0);
        assert_eq!(seen(), millis(1_795_507_200_120), "{text}");
    }
    import("2026-11-24 08:00:00", &[]).expect(3);
    // More digits than any column has. Those that are zero say nothing.
    let fine = "2026-11-24T08:00:00.1234999999999Z";
    import(fine, &[]).expect(3).says("and the column stores whole milliseconds: round it");
    import(fine, &["--times", "round"]).expect(0);
    assert_eq!(seen(), millis(1_795_507_200_123));
    let late = import("9999-12-31T23:59:59.9996Z", &["--times", "round"]).expect(3);
    assert!(late.error.contains("is rounded to a time after the year 9999"), "{}", late.error);
    import("2026-11-24 08:00:00.12000000000000+00", &[]).expect(0);
    assert_eq!(seen(), millis(1_795_507_200_120));
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Moments {
    #[row(ts(unit = "nanos"))]
    unix: Option<SystemTime>,
    text: Option<jiff::Timestamp>,
}

/// The tenth digit decides about the ninth.
#[test]
fn times_of_columns_in_nanoseconds() {
    let folder = Folder::new("column-nanos");
    let moments = table::<UserKey, Moments>(&folder, "column_nanos");
    for column in ["unix", "text"] {
        for (text, nanos) in [
            ("2026-11-24T08:00:00.0000000014Z", 1),
            ("2026-11-24T08:00:00.0000000015Z", 2),
            ("2026-11-24 08:00:00.9999999999+00", 1_000_000_000),
        ] {
            folder.write("rows.csv", format!("id,{column}\n1,{text}\n"));
            let refused = folder.run(&["import", "column_nanos", "rows.csv", "--yes"]).expect(3);
            let said = "and the column stores whole nanoseconds: round it, or pass `--times round`";
            assert!(refused.error.contains(said), "{}", refused.error);
            folder.run(&["import", "column_nanos", "rows.csv", "--yes", "--times", "round"]).expect(0);
            let row = wait(moments.get(&UserKey { id: 1 })).unwrap().unwrap();
            let expected = UNIX_EPOCH + Duration::from_secs(1_795_507_200) + Duration::from_nanos(nanos);
            let found = row.unix.or(row.text.map(SystemTime::from)).unwrap();
            assert_eq!(found, expected, "{column} {text}");
        }
    }
}

#[derive(RowKey, Clone, Debug)]
#[row_key(allow(hotspot))]
struct TimeKey {
    #[row_key(ts(unit = "millis"))]
    at: SystemTime,
}

#[test]
fn times_of_keys() {
    let folder = Folder::new("key-times");
    table::<TimeKey, User>(&folder, "key_times");
    let fine = "at=2026-11-24T08:00:00.0001Z";
    for command in ["encode", "get"] {
        folder.run(&[command, "key_times", fine]).expect(2).says("stores whole milliseconds");
    }
    // A key is never rounded.
    folder.write("rows.csv", "at,name\n2026-11-24T00:00:00.0001Z,a\n");
    folder.run(&["import", "key_times", "rows.csv", "--yes", "--times", "round"]).expect(3);
    folder.write("rows.csv", "at,name\n2026-11-24T00:00:00.0001000000001Z,a\n");
    let refused = folder.run(&["import", "key_times", "rows.csv", "--yes", "--times", "round"]).expect(3);
    assert!(refused.error.contains("and the key stores whole milliseconds: round it"), "{}", refused.error);
    folder.write("rows.csv", "at,name\n2026-11-24 08:00:00+00,a\n");
    folder.run(&["import", "key_times", "rows.csv", "--yes"]).expect(0);
    folder.run(&["get", "key_times", "at=2026-11-24T08:00:00Z"]).expect(0);
}

#[test]
fn a_name_twice_is_refused() {
    #[derive(Row)]
    struct Totals {
        #[row(family)]
        totals: std::collections::BTreeMap<String, i64>,
    }

    let folder = Folder::new("twice");
    created::<UserKey, Totals>("two_names");
    let layouts = Layouts::new().table::<UserKey, Totals>("two_names").to_json();
    folder.write("layouts.json", &layouts);
    for (format, input) in [
        ("csv", "id,totals:*\n1,\"{\"\"a\"\":1,\"\"a\"\":2}\"\n"),
        ("json", "{\"id\":1,\"totals:a\":1,\"totals:a\":2}\n"),
    ] {
        let arguments = ["import", "two_names", "-", "--format", format, "--yes"];
        let refused = folder.run_with(&arguments, input.as_bytes()).expect(3);
        let said = refused.error.contains("line 2: ") || refused.error.contains("line 1: ");
        assert!(said && refused.error.contains("is there twice"), "{}", refused.error);
        assert!(!refused.error.contains("at line"), "{}", refused.error);
    }
    for input in
        ["id,totals:*,totals:a\n1,\"{\"\"a\"\":1}\",2\n", "id,totals:a,totals:*\n1,2,\"{\"\"a\"\":1}\"\n"]
    {
        let refused = folder
            .run_with(&["import", "two_names", "-", "--format", "csv", "--yes"], input.as_bytes())
            .expect(3);
        assert!(refused.error.contains("`totals:a` is one of the columns of a family"), "{}", refused.error);
    }
    assert!(stored("two_names").is_empty());
    // As a union merge leaves it.
    let twice = layouts.replacen("\"tables\": {", "\"tables\": {\n    \"two_names\": [],", 1);
    folder.write("layouts.json", twice);
    folder.run(&["count", "two_names"]).expect(3).says("the name `two_names` is there twice at line");
}

/// Each fault of JSON names the line of the input, once, and what is wrong in it.
#[test]
fn faults_of_json_name_the_line_of_the_input() {
    let folder = Folder::new("json-faults");
    table::<UserKey, User>(&folder, "json_faults");
    let good = "{\"id\":1,\"name\":\"a\"}\n";
    for (bad, said) in [
        ("{\"id\":1,,}", "line 3: it is not JSON: key must be a string, at column 9"),
        ("  {\"id\":x}", "line 3: it is not JSON: expected value, at column 9"),
        ("7", "line 3: it is not a JSON object"),
        ("{\"id\":2,\"name\":\"b", "line 3: the line ends before its JSON does, as if the input was cut"),
        ("{\"id\":2,\"id\":3}", "line 3: the name `id` is there twice, at column 15"),
    ] {
        folder.write("rows.json", format!("{good}\n{bad}\n{good}"));
        let stopped =
            folder.run(&["import", "json_faults", "rows.json", "--format", "json", "--yes"]).expect(3);
        assert!(stopped.error.contains(said), "{}", stopped.error);
        assert!(!stopped.error.contains("at line"), "{}", stopped.error);
        let deleted = folder.run_with(&["delete", "json_faults", "-"], format!("\n\n{bad}\n").as_bytes());
        assert!(!deleted.error.contains("at line"), "{}", deleted.error);
    }
    // A file of lines that is cut within its first one has no objects of several lines.
    for input in ["{\"id\":1,\"na", "{\"id\":1,\"na\n", &format!("{{\"id\":1,\"na\n\n \n{good}")] {
        let arguments = ["import", "json_faults", "-", "--format", "json", "--yes"];
        let cut = folder.run_with(&arguments, input.as_bytes()).expect(3);
        let said = "line 1: the line ends before its JSON does";
        assert!(cut.error.contains(said), "{input:?}: {}", cut.error);
    }
}

#[test]
fn files_of_other_forms_are_one_refusal() {
    let folder = Folder::new("other-forms");
    table::<UserKey, User>(&folder, "other_forms");
    for (format, input, said) in [
        ("json", "[\n  {\"id\":1,\"name\":\"a\"}\n]\n", "the input is an array"),
        ("json", "{\n  \"id\":1,\n  \"name\":\"a\"\n}\n", "has objects of several lines"),
        ("csv", "{\"id\":1,\"name\":\"a\"}\n", "the input begins as JSON does"),
        ("csv", "id;name\n1;a\n", "the cells are separated by `;`"),
        ("csv", "id\tname\n1\ta\n", "the cells are separated by tabs"),
    ] {
        for more in [&[][..], &["--yes", "--bad-lines", "skip=bad"]] {
            let arguments = [&["import", "other_forms", "-", "--format", format], more].concat();
            folder.run_with(&arguments, input.as_bytes()).expect(3).says(said);
        }
    }
}

#[derive(Row, Clone, Debug)]
struct Place {
    city: Option<String>,
    zip: Option<String>,
}

#[derive(Row, Clone, Debug)]
struct Contact {
    mail: Option<String>,
    phone: Option<String>,
    #[row(family)]
    home: Option<Place>,
}

#[test]
fn a_family_is_selected_by_its_name() {
    let folder = Folder::new("families");
    let contacts = table::<UserKey, Contact>(&folder, "families");
    let home = Some(Place { city: Some("Chur".into()), zip: None });
    let contact = Contact { mail: Some("m".into()), phone: None, home };
    wait(contacts.put(&UserKey { id: 1 }, &contact)).unwrap();
    let scan =
        |select| folder.run(&["scan", "families", "--format", "csv", "--select", select]).expect(0).out;
    assert_eq!(scan("cf"), "id,cf:mail,cf:phone\n1,m,\n");
    assert_eq!(scan("home"), "id,home:city,home:zip\n1,Chur,\n");
    assert_eq!(scan("mail"), "id,cf:mail\n1,m\n");
    assert_eq!(scan("home:zip,cf"), "id,home:zip,cf:mail,cf:phone\n1,,m,\n");
    assert_eq!(scan("mail,cf,cf:mail"), "id,cf:mail,cf:phone\n1,m,\n");
    folder.run(&["scan", "families", "--select", "work"]).expect(2).says("work");
}

/// What programs have registered does not stand in for a file that says something else of the table.
#[test]
fn a_faulty_layout_of_the_file_is_not_passed_over() {
    let folder = Folder::new("faulty-layout");
    let users = table::<UserKey, User>(&folder, "faulty_layout");
    wait(users.put(&UserKey { id: 1 }, &User { name: "a".into(), seen: None })).unwrap();
    let layouts = folder.read("layouts.json");
    std::fs::remove_file(folder.path("layouts.json")).unwrap();
    folder.run(&["count", "faulty_layout"]).expect(0);
    for (right, wrong) in [("decimal", "decimals"), ("text", "texts")] {
        folder.write("layouts.json", layouts.replace(right, wrong));
        folder.run(&["count", "faulty_layout"]).expect(3).says(wrong);
    }
}

#[test]
fn an_optional_column_that_may_have_a_new_name() {
    mod later {
        #[derive(keyderive::Row)]
        #[allow(dead_code)]
        pub(super) struct Contact {
            email: Option<String>,
            telephone: Option<String>,
            #[row(family)]
            home: Option<super::Place>,
        }
    }

    let folder = Folder::new("renames");
    folder.write("old.json", Layouts::new().table::<UserKey, Contact>("users").to_json());
    folder.write("new.json", Layouts::new().table::<UserKey, later::Contact>("users").to_json());
    let check = |more: &[&str]| folder.run(&[&["layouts", "check", "old.json", "new.json"], more].concat());
    let found = check(&[]).expect(1);
    let said = "`cf:mail` is dropped and `cf:email` added, of the same type; if it is another column, accept the pair";
    assert!(found.out.contains(said), "{}", found.out);
    assert!(found.out.contains("accept the pair `users/cf:mail=cf:email`"), "{}", found.out);
    // Each added column may be the new name of each dropped one: a pair that is not named fails the check.
    let pairs = ["mail=cf:email", "phone=cf:telephone", "phone=cf:email", "mail=cf:telephone"];
    let pairs = pairs.map(|pair| format!("users/cf:{pair}"));
    for accepted in 0..=pairs.len() {
        let named = pairs[..accepted].iter().flat_map(|pair| ["--not-renamed", pair]);
        check(&named.collect::<Vec<_>>()).expect(i32::from(accepted < pairs.len()));
    }
    let json = check(&["--format", "json"]).expect(1).out;
    assert!(json.contains("\"rename\":\"users/cf:mail=cf:email\""), "{json}");
}

#[test]
fn tables_that_cannot_be_read_are_not_said_to_differ() {
    let folder = Folder::new("unread");
    let layouts = Layouts::new().table::<UserKey, User>("one").table::<UserKey, User>("two");
    folder.write("layouts.json", layouts.to_json());
    let bigtable = Bigtable::in_memory();
    wait(async { layouts.create_if_absent(&bigtable.client()).await }).unwrap();
    let denied = FaultRule::fail(Fault::permission_denied()).methods([Method::GetTable]).tables(["one"]);
    let faulty = bigtable.with_faults(Faults::seeded(0).rule(denied));
    let listener = wait(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = format!("emulator://{}/keyderive/local", listener.local_addr().unwrap());
    wait(async {
        drop(tokio::spawn(async move { faulty.serve(listener, std::future::pending::<()>()).await }));
    });
    let failed = folder.run(&["status", "--address", &address]).expect(3);
    assert!(failed.out.starts_with("one: not read: GetTable"), "{}", failed.out);
    assert!(failed.out.contains("\ntwo: as declared\n"), "{}", failed.out);
    assert!(failed.error.contains("1 table could not be read"), "{}", failed.error);
}
