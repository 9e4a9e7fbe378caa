//! Statements as an argument, in a file and on standard input, in each format; where tables are found; exit codes.

use std::fs;
use std::future::IntoFuture as _;

use keyderive::layouts::Layouts;
use keyderive::{Row, RowKey};

use crate::server::{Event, EventKey, Server};

const QUERY: &str = "SELECT site, at, amount FROM events WHERE user_id = 'alice' AND at >= '2026-11-26' AND kind = 'buy' ORDER BY site";

#[test]
fn each_format() {
    let server = Server::start("formats");
    let of = |format: &str, sql: &str| server.prints(&["--format", format, "-c", sql]);
    assert_eq!(of("table", QUERY), "site  at                    amount\nwork  2026-11-26T16:00:00Z  17.5\n");
    assert_eq!(of("csv", QUERY), "site,at,amount\nwork,2026-11-26T16:00:00Z,17.5\n");
    assert_eq!(of("json", QUERY), "[{\"site\":\"work\",\"at\":\"2026-11-26T16:00:00Z\",\"amount\":17.5}]\n");
    assert_eq!(of("ndjson", QUERY), "{\"site\":\"work\",\"at\":\"2026-11-26T16:00:00Z\",\"amount\":17.5}\n");
    // No rows.
    let none = "SELECT site FROM events WHERE user_id = 'nobody'";
    for (format, text) in [("table", ""), ("csv", "site\n"), ("json", "[]\n"), ("ndjson", "")] {
        assert_eq!(of(format, none), text, "{format}");
    }
    // NULL, quotation marks, nested values, and text that a terminal would obey, which a program gets as it is stored.
    let odd = "SELECT note, named_struct('a', NULL, 'b', 'x\"y') AS s, [1, 2] AS l FROM events WHERE note IS NOT NULL LIMIT 1";
    assert_eq!(of("csv", odd), "note,s,l\ntwice\u{1b}[31m\u{202e},\"{a: , b: x\"\"y}\",\"[1, 2]\"\n");
    let json = "{\"note\":\"twice\\u001b[31m\\u202e\",\"s\":{\"a\":null,\"b\":\"x\\\"y\"},\"l\":[1,2]}";
    assert_eq!(of("ndjson", odd), format!("{json}\n"));
    assert_eq!(of("json", odd), format!("[{json}]\n"));
    assert!(of("table", odd).contains("twice\\x1b[31m\\u{202e}"));
}

/// A time for which the writer has no text would be no JSON.
#[test]
fn json_is_json() {
    let server = Server::start("json");
    for format in ["json", "ndjson"] {
        for of in [
            "arrow_cast(9000000000000000000, 'Timestamp(Microsecond, None)')",
            "[arrow_cast(9000000000000000000, 'Timestamp(Microsecond, Some(\"UTC\"))')]",
        ] {
            server.fails(
                &["--format", format, "-c", &format!("SELECT {of} AS at")],
                3,
                "a value cannot be printed",
            );
        }
    }
}

/// As the command `keyderive` writes them.
#[test]
fn json_has_nan_as_text_and_each_name_once() {
    let server = Server::start("nan");
    let sql = "SELECT CAST(x AS DOUBLE) AS d, arrow_cast(CAST(x AS DOUBLE), 'Float32') AS f, [CAST(x AS DOUBLE)] AS l \
               FROM (VALUES ('NaN'), ('inf'), ('-inf'), ('17.5'), (NULL)) AS t (x)";
    let values = ["\"NaN\"", "\"inf\"", "\"-inf\"", "17.5", "null"];
    let objects = values.map(|value| format!("{{\"d\":{value},\"f\":{value},\"l\":[{value}]}}"));
    let printed = |format| server.prints(&["--format", format, "-c", sql]);
    assert_eq!(printed("ndjson"), objects.map(|object| object + "\n").concat());
    assert_eq!(printed("json").matches("\"-inf\"").count(), 3);
    let join = "SELECT * FROM events AS a JOIN events AS b USING (user_id, site, at) LIMIT 1";
    for format in ["json", "ndjson"] {
        server.fails(
            &["--format", format, "-c", join],
            2,
            "two columns are named `kind`, and JSON has each name once",
        );
    }
    assert!(
        server.prints(&["--format", "csv", "-c", join]).starts_with("user_id,site,at,kind,amount,note,kind,")
    );
}

#[test]
fn files_that_would_lose_values_are_refused() {
    let server = Server::start("files");
    server.fails(&["-c", "COPY (SELECT note FROM events) TO 'x.csv'"], 2, "write `TO '….parquet'`");
    server.fails(&["-c", "COPY events TO 'x.json'"], 2, "json has no NaN");
    let texts = "SELECT * FROM (VALUES (1, ''), (2, NULL)) AS t (a, b)";
    for to in ["'x.parquet'", "'x.csv' OPTIONS ('format.null_value' 'NULL')"] {
        server.prints(&["-c", &format!("COPY ({texts}) TO {to}")]);
    }
    let read = "SELECT a, b IS NULL AS is FROM 'x.parquet' ORDER BY a";
    assert_eq!(server.prints(&["--format", "csv", "-c", read]), "a,is\n1,false\n2,true\n");
    assert_eq!(fs::read_to_string(server.path("x.csv")).unwrap(), "a,b\n1,\n2,NULL\n");
}

/// What is NULL is not false.
#[test]
fn lists_are_exact() {
    let server = Server::start("lists");
    let t = "(VALUES (1, 1), (2, 2), (3, NULL)) AS t (a, v)";
    for (select, expected) in [
        (format!("SELECT a FROM {t} WHERE v NOT IN (1) OR v NOT IN (3)"), "a\n1\n2\n"),
        (format!("SELECT a FROM {t} WHERE NOT (v IN (1, 3) AND v IN (5, 7))"), "a\n1\n2\n"),
        (format!("SELECT DISTINCT a FROM {t} WHERE a IN (1, 2) AND a NOT IN (3, NULL)"), "a\n"),
        (format!("SELECT v ^ v AS a FROM {t} WHERE a = 3"), "a\n\"\"\n"),
        (format!("SELECT a FROM {t} WHERE NOT (CAST(v AS TEXT) ~ '.*')"), "a\n"),
        (format!("SELECT array_has([v, 9], 2) AS a FROM {t} WHERE a = 3"), "a\nfalse\n"),
        (format!("SELECT -a & a AS a FROM {t} WHERE a = 2"), "a\n2\n"),
        (
            "SELECT date_trunc('millisecond', TIMESTAMP '1969-12-31 23:59:59.9999') AS a".to_owned(),
            "a\n1969-12-31T23:59:59.999\n",
        ),
        ("SELECT 1 AS a WHERE extract(year FROM TIMESTAMP '2013-01-01') < 9999".to_owned(), "a\n1\n"),
    ] {
        let printed = server.prints(&["--format", "csv", "-c", &select]);
        assert_eq!(printed, expected, "{select}");
        let copied = server.prints(&["--format", "csv", "-c", &format!("COPY ({select}) TO 'a.parquet'")]);
        assert_eq!(copied, format!("count\n{}\n", expected.lines().count() - 1), "{select}");
    }
}

#[test]
fn statements_of_a_file_and_of_standard_input() {
    let server = Server::start("statements");
    let statements = "SELECT count(*) AS n FROM events; -- two\nCREATE VIEW alice AS SELECT * FROM events WHERE user_id = 'alice';\n\
                      SELECT count(*) AS n FROM alice;";
    let expected = "n\n36\nn\n12\n";
    assert_eq!(server.prints(&["--format", "csv", "-c", statements]), expected);
    server.write("report.sql", statements);
    assert_eq!(server.prints(&["--format", "csv", "-f", "report.sql"]), expected);
    for arguments in [&["--format", "csv"][..], &["--format", "csv", "-f", "-"]] {
        let output = server.run(arguments, statements.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{arguments:?}");
    }
    // Commands are lines of their own.
    let commands = "SELECT 1 AS n;\n\\d\nSELECT 2 AS n;\n\\q\nSELECT 3 AS n;\n";
    let output = server.run(&["--format", "csv"], commands.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "n\n1\ntable,key,row\nevents,EventKey,Event\nn\n2\n");
    assert!(server.prints(&["-c", "\\?"]).contains("the columns of a table"));
    // The first that fails ends it.
    let output = server.run(&["--format", "csv", "-c", "SELECT 1 AS n; SELECT x; SELECT 2 AS n"], b"");
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b"n\n1\n"[..]));
    server.fails(&["-f", "gone.sql"], 3, "`gone.sql` is not read");
}

/// A table of many rows is printed in pages, which have the names above them on a terminal alone.
#[test]
fn a_program_reads_the_names_of_a_table_once() {
    let server = Server::start("pages");
    let printed = server.prints(&["-c", "SELECT * FROM generate_series(1, 1200)"]);
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[501], lines[1200]), (1201, "value", "501", "1200"));
}

#[test]
fn integers_do_not_wrap() {
    let server = Server::start("integers");
    let numbers = |of: &str| format!("(SELECT arrow_cast(1, '{of}') AS a, arrow_cast(3, '{of}') AS b)");
    for of in ["UInt8", "UInt16", "UInt32", "UInt64", "Int8"] {
        for (expr, value) in [
            ("a - b", "-2"),
            ("b * 100 - a", "299"),
            ("b * 100 * 1000", "300000"),
            ("abs(a - b) * -1", "-2"),
            ("CASE WHEN a < b THEN a - b ELSE b END", "-2"),
        ] {
            let sql = format!("SELECT (SELECT max({expr}) FROM {}) AS n", numbers(of));
            let printed = server.prints(&["--format", "csv", "-c", &sql]);
            let number: f64 = printed.lines().last().unwrap().parse().unwrap();
            assert_eq!(number, value.parse::<f64>().unwrap(), "{of}: {sql}");
        }
    }
    let windows = format!(
        "SELECT sum(a - b) AS n, avg(a - b) AS m, sum(a) - first_value(sum(b)) OVER () AS d FROM {}",
        numbers("UInt16")
    );
    assert_eq!(server.prints(&["--format", "csv", "-c", &windows]), "n,m,d\n-2,-2.0,-2\n");
    let union = "SELECT a - b AS n FROM (SELECT arrow_cast(1, 'UInt16') AS a, arrow_cast(3, 'UInt16') AS b) UNION ALL SELECT arrow_cast(7, 'UInt16')";
    assert_eq!(server.prints(&["--format", "csv", "-c", &format!("{union} ORDER BY n")]), "n\n-2\n7\n");
}

#[test]
fn integers_beyond_64_bits_are_errors() {
    let server = Server::start("overflows");
    let most = i64::MAX;
    for expr in [
        format!("{most} + 1"),
        format!("-{most} - 2"),
        "100000 * 100000 * 100000 * 100000".to_owned(),
        format!("(SELECT max(x + 1) FROM (VALUES (1), ({most})) AS t (x))"),
    ] {
        let output = server.run(&["-c", &format!("SELECT {expr}")], b"");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)) && error.contains("overflow"), "{expr}: {error}");
    }
    let rows = format!("(VALUES (1, {most}), (1, {most}), (2, 3), (2, NULL)) AS t (g, x)");
    for sum in [
        format!("SELECT sum(x) FROM {rows}"),
        format!("SELECT g, sum(x) FROM {rows} GROUP BY g"),
        format!("SELECT sum(x) OVER () FROM {rows}"),
        format!("SELECT sum(DISTINCT x) FROM {rows}"),
        format!(
            "SELECT sum(arrow_cast(x, 'UInt64') + 9223372036854775807) FROM {rows} HAVING sum(arrow_cast(x, 'UInt64')) > 0"
        ),
    ] {
        server.fails(&["-c", &sum], 3, "a sum is beyond");
    }
    let sums = format!(
        "SELECT g, sum(x) FILTER (WHERE x < 9) AS a, sum(CAST(x AS DECIMAL(38, 0))) AS b, sum(g) AS c FROM {rows} GROUP BY g ORDER BY g"
    );
    let printed = server.prints(&["--format", "csv", "-c", &sums]);
    assert_eq!(printed, "g,a,b,c\n1,,18446744073709551614,2\n2,3,3,4\n");
    let moving = "SELECT sum(x) OVER (ORDER BY x ROWS 1 PRECEDING) AS n FROM (VALUES (1), (2), (4)) AS t (x)";
    assert_eq!(server.prints(&["--format", "csv", "-c", moving]), "n\n1\n3\n6\n");
    // The first query of a union has integers alone.
    let mixed = "SELECT n + 1 AS n FROM (SELECT 1 AS n UNION ALL SELECT 1.7) ORDER BY n";
    assert_eq!(server.prints(&["--format", "csv", "-c", mixed]), "n\n2.0\n2.7\n");
    server.fails(&["-c", "SELECT 18446744073709551616 > 1"], 2, "`18446744073709551616` is beyond 64 bits");
}

/// What DataFusion or its parser takes for something else.
#[test]
fn statements_that_mean_something_else_are_refused() {
    let server = Server::start("meanings");
    for (sql, says) in [
        ("SELECT * FROM events WHERE site = ANY(SELECT site FROM events)", "write `IN (SELECT …)`"),
        (
            "SELECT * FROM events WHERE at >= ALL((SELECT at FROM events))",
            "`ALL` is not supported before a query",
        ),
        ("EXPLAIN SELECT site FROM events EXCEPT ALL SELECT 'home'", "`EXCEPT ALL`"),
        ("COPY (SELECT site FROM events EXCEPT ALL SELECT 'home') TO 'x.csv'", "`EXCEPT ALL`"),
        ("SELECT * FROM (SELECT 1 UNION (SELECT 1 INTERSECT ALL SELECT 2))", "`INTERSECT ALL`"),
        (
            "SELECT * FROM events WHERE note IS DISTINCT FROM 'x' AND site = 'home'",
            "write `(note IS DISTINCT FROM 'x')`, in parentheses",
        ),
        ("DROP TABLE events", "`events` is a table of the Bigtable"),
        ("CREATE OR REPLACE VIEW events AS SELECT 1", "choose another name"),
        ("CREATE OR REPLACE TABLE events AS SELECT 1", "choose another name"),
        ("SELECT * FROM events WHERE at < '2026-11-24T00:00:00.0000005Z'", "has times in microseconds"),
        (
            "SELECT * FROM events WHERE at = TIMESTAMP '2026-11-24T00:00:00.0000001Z'",
            "has times in microseconds",
        ),
        ("SELECT * FROM events WHERE CAST(at AS DATE) = '2026-11-24T12:00:00'", "has dates, and"),
    ] {
        server.fails(&["-c", sql], 2, says);
    }
    for sql in [
        "SELECT 2 = ANY([1, 2])",
        "SELECT site FROM events EXCEPT SELECT 'home' UNION ALL SELECT 'x'",
        "SELECT * FROM events WHERE (note IS DISTINCT FROM 'x') AND site = 'home'",
        "CREATE VIEW homes AS SELECT * FROM events WHERE site = 'home'; SELECT count(*) FROM homes; DROP VIEW homes",
        "SELECT * FROM events WHERE at < '2026-11-24T00:00:00.005Z' AND CAST(at AS DATE) = '2026-11-24'",
    ] {
        server.prints(&["-c", sql]);
    }
}

/// Instead of an answer to another question.
#[test]
fn comparisons_that_mean_something_else_are_refused() {
    let server = Server::start("comparisons");
    for (condition, says) in [
        (
            "at > 2026-11-25",
            "`events.at` is a time, and `2026 - 11 - 25` a number: write '2013-05-01T06:00:00Z'",
        ),
        ("20261125 = at", "`events.at` is a time, and `20261125` a number"),
        ("at BETWEEN 1 AND 2", "`events.at` is a time, and `1` a number"),
        (
            "CAST(at AS DATE) IN (20261125)",
            "is a date, and `20261125` a number: write '2013-05-01' in quotation marks",
        ),
        ("kind = 5", "`events.kind` is text, and `5` a number: write '5'"),
        (
            "kind = 'buy' AND EXISTS (SELECT 1 FROM events AS e WHERE e.note = 1.5)",
            "`e.note` is text, and `1.5` a number",
        ),
        ("amount > 'many'", "Cannot cast string 'many' to value of Float64 type"),
    ] {
        server.fails(&["-c", &format!("SELECT count(*) FROM events WHERE {condition}")], 2, says);
    }
    server.fails(&["-c", "SELECT * FROM events TABLESAMPLE (10)"], 2, "`events` is not sampled");
    let correlated =
        "SELECT * FROM events AS e WHERE note NOT IN (SELECT note FROM events WHERE site = e.site)";
    server.fails(&["-c", correlated], 2, "write `EXISTS` or `NOT EXISTS (SELECT …)`");
    let least = "SELECT date_trunc('day', arrow_cast(-9223372036854775808, 'Timestamp(Nanosecond, None)'))";
    server.fails(&["-c", least], 3, "is beyond the times of this type");
    for condition in [
        "at > '2026-11-25'",
        "at < TIMESTAMP '9999-12-31' AND at > '1600-01-01'",
        "amount = '9.5'",
        "extract(year FROM at) = 2026",
        "kind = 'buy' OR amount = 3",
    ] {
        server.prints(&["-c", &format!("SELECT count(*) FROM events WHERE {condition}")]);
    }
}

#[test]
fn a_plan_says_what_is_read_and_what_was() {
    let server = Server::start("plans");
    let query =
        "SELECT kind, at FROM events WHERE user_id = 'alice' AND site = 'home' ORDER BY at DESC LIMIT 2";
    let plan = server.prints(&["-c", &format!("EXPLAIN {query}")]);
    assert!(plan.contains("key=[user_id = \"alice\" AND site = \"home\"], buckets=1, reads=[["), "{plan}");
    assert!(!plan.contains("SortExec") && plan.lines().all(|line| !line.ends_with(' ')), "{plan}");
    let ran = server.prints(&["-c", &format!("EXPLAIN ANALYZE {query}")]);
    assert!(ran.contains("BigtableExec:") && ran.contains("rows_seen=2"), "{ran}");
    assert!(server.prints(&["-c", "EXPLAIN SELECT * FROM events"]).contains("buckets=4"));
}

#[test]
fn tables_are_those_of_the_file_or_of_the_registry() {
    #[derive(RowKey)]
    struct OtherKey {
        id: u64,
    }
    #[derive(Row)]
    struct Other {
        name: String,
    }
    let server = Server::start("tables");
    let tables = "table   key       row\nevents  EventKey  Event\n";
    assert_eq!(server.prints(&["-c", "\\d"]), tables);
    let columns = server.prints(&["-c", "\\d events", "--format", "csv"]);
    assert!(columns.starts_with("column,type,is\nuser_id,Utf8,field 1 of the key\n"), "{columns}");
    assert!(columns.contains("kind,Utf8,\n") && columns.contains("note,Utf8,may be NULL\n"), "{columns}");
    server.fails(&["-c", "\\d gone"], 2, "gone");
    server.fails(&["-c", "\\x"], 2, "there is no command `\\x`");
    let named = server.prints(&[
        "--format",
        "csv",
        "-c",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    ]);
    assert_eq!(named, "table_name\nevents\n");

    // Several types of one table.
    let several = Layouts::new()
        .table::<EventKey, Event>("Events")
        .table::<EventKey, Other>("Events")
        .table::<OtherKey, Other>("others");
    server.write("several.json", several.to_json());
    assert_eq!(
        server.prints(&["--layouts", "several.json", "-c", "\\d", "--format", "csv"]),
        "table,key,row\n\"\"\"Events:Event\"\"\",EventKey,Event\n\"\"\"Events:Other\"\"\",EventKey,Other\nothers,OtherKey,Other\n"
    );
    let quoted =
        server.prints(&["--layouts", "several.json", "--format", "csv", "-c", "\\d \"Events:Other\""]);
    assert!(
        quoted.contains("field 3 of the key\n\"\"\"name\"\"\"") || quoted.contains("name,Utf8,"),
        "{quoted}"
    );

    fs::remove_file(server.path("layouts.json")).unwrap();
    assert_eq!(server.prints(&["-c", "\\d"]), tables);
    server.write("keyderive.toml", format!("[instances.test]\naddress = \"{}\"\n", server.address()));
    assert_eq!(server.prints(&["--on", "test", "-c", "\\d"]), tables);
    assert_eq!(server.prints(&["--address", &server.address(), "-c", "\\d"]), tables);
}

#[test]
fn exit_codes_are_those_of_the_command() {
    let server = Server::start("codes");
    for (sql, code, says) in [
        ("SELECT", 2, "error: "),
        ("SELECT x FROM events", 2, "x"),
        ("SELECT * FROM gone", 2, "gone"),
        ("SELECT CAST(kind AS BIGINT) FROM events", 3, "Cannot cast"),
        ("SELECT * FROM 'gone.parquet'", 2, "gone.parquet"),
        ("INSERT INTO events VALUES ('a#b', 'x', '2026-11-24', 'buy', 2.5, NULL)", 3, "user_id"),
        ("DELETE FROM events", 2, "DELETE"),
        ("SELECT * FROM event JOIN events AS gone USING (site)", 2, "help: did you mean `events`?"),
        ("\\d evnts", 2, "help: did you mean `events`?"),
    ] {
        server.fails(&["-c", sql], code, says);
    }
    let refused = server.run(&["-c", "DELETE FROM events"], b"");
    assert!(!String::from_utf8_lossy(&refused.stderr).contains("rows that were written"), "{refused:?}");
    server.fails(&["--on", "gone", "-c", "SELECT 1"], 2, "there is none in this folder or above it");
    server.fails(&["--layouts", "gone.json", "-c", "SELECT 1"], 3, "the layouts `gone.json` are not read");
    server.fails(&["--memory", "much", "-c", "SELECT 1"], 2, "--memory");
    server.fails(&["-c", "SELECT 1", "-f", "x"], 2, "cannot be used with");
    // A table that is not there.
    let layouts = Layouts::new().table::<EventKey, Event>("absent");
    server.write("absent.json", layouts.to_json());
    server.fails(
        &["--layouts", "absent.json", "-c", "SELECT * FROM absent"],
        3,
        "`keyderive status` shows which tables",
    );
    // The reader has gone.
    assert_eq!(
        server.shell("keyderive-sql --format csv -c 'SELECT * FROM generate_series(1, 1000000)' | head -n 2"),
        ("value\n1\n".into(), 0)
    );
}

#[derive(RowKey)]
struct SeatKey {
    number: u32,
}

#[derive(Row)]
struct Seat {
    name: String,
}

/// The types of a union are those of all of its queries, and not of the first one.
#[test]
fn fractions_are_no_integers() {
    let server = Server::start("fractions");
    server.wait(server.client.table::<SeatKey, Seat>("seats").create().into_future()).unwrap();
    server.write("seats.json", Layouts::new().table::<SeatKey, Seat>("seats").to_json());
    let insert = |rows: &str| {
        let sql = format!("INSERT INTO seats (number, name) {rows}");
        server.run(&["--layouts", "seats.json", "-c", &sql], b"")
    };
    for rows in [
        "VALUES (1.7, 'a')",
        "VALUES (1, 'a'), (1.7, 'b')",
        "SELECT 1.7, 'a'",
        "SELECT 1, 'a' WHERE false UNION ALL SELECT 1.7, 'b'",
        "SELECT n + 1, 'a' FROM (SELECT 1 AS n WHERE false UNION ALL SELECT 1.7)",
    ] {
        let output = insert(rows);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("the column `number` has UInt32, and"), "{rows}: {error}");
        assert_eq!(output.status.code(), Some(3), "{rows}");
    }
    assert!(insert("SELECT 1, 'a' UNION ALL SELECT 2.0, 'b'").status.success());
    let all = ["--layouts", "seats.json", "--format", "csv", "-c", "SELECT * FROM seats"];
    assert_eq!(server.prints(&all), "number,name\n1,a\n2,b\n");
}

#[test]
fn rows_are_written() {
    let server = Server::start("writes");
    let insert = "INSERT INTO events (user_id, site, at, kind) VALUES ('dave', 'home', '2026-11-24T01:00:00Z', 'login')";
    // Twice is once.
    for _ in 0..2 {
        assert_eq!(server.prints(&["--format", "csv", "-c", insert]), "count\n1\n");
    }
    assert_eq!(
        server.prints(&["--format", "csv", "-c", "SELECT * FROM events WHERE user_id = 'dave'"]),
        "user_id,site,at,kind,amount,note\ndave,home,2026-11-24T01:00:00Z,login,,\n"
    );
    // A value that its column does not hold.
    for (at, kind, amount, says) in [
        ("'2026-11-24T01:00:00.0000005Z'", "'a'", "1.5", "the column `at` has Timestamp(µs, \"UTC\"), and"),
        ("1764000000", "'a'", "1.5", "write `to_timestamp_millis(…)`"),
        ("'2026-11-24T01:00:00Z'", "'a'", "9007199254740993", "the column `amount` has Float64, and"),
        ("'2026-11-24T01:00:00Z'", "'a'", "'1e400'", "'1e400' is beyond FLOAT64"),
        ("'2026-11-24T01:00:00Z'", "'a'", "1e400", "`1e400` is beyond FLOAT64"),
    ] {
        let values = format!("'dan', 'home', {at}, {kind}, {amount}");
        for rows in [
            format!("VALUES ({values})"),
            format!("SELECT column1, column2, column3, column4, column5 FROM (VALUES ({values}))"),
        ] {
            let insert = format!("INSERT INTO events (user_id, site, at, kind, amount) {rows}");
            let output = server.run(&["-c", &insert], b"");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(2 | 3)) && error.contains(says), "{insert}: {error}");
        }
    }
    let dan = "SELECT count(*) AS n FROM events WHERE user_id = 'dan'";
    assert_eq!(server.prints(&["--format", "csv", "-c", dan]), "n\n0\n");
    // A session that only reads.
    for write in [
        insert.to_owned(),
        format!("EXPLAIN ANALYZE {insert}"),
        format!("PREPARE write AS {insert}; EXECUTE write"),
    ] {
        server.fails(&["--read-only", "-c", &write.replace("dave", "erin")], 2, "`--read-only` refuses");
    }
    let erin = "SELECT count(*) AS n FROM events WHERE user_id = 'erin'";
    assert_eq!(server.prints(&["--read-only", "--format", "csv", "-c", erin]), "n\n0\n");
    // Production is named before.
    let settings = format!("[instances.live]\naddress = \"{}\"\nproduction = true\n", server.address());
    server.write("keyderive.toml", settings);
    let output = server.run(&["--on", "live", "-c", insert], b"");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "production: live\n");
    let output = server.run(&["--on", "live", "-c", "SELECT 1"], b"");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
