//! Statements, names and bytes that somebody else wrote: no panic, and nothing that a terminal obeys.

use std::process::Output;

use fastrand::Rng;

use crate::server::Server;

const PARTS: &[&str] = &[
    "SELECT ",
    " FROM ",
    "events",
    " WHERE ",
    "user_id",
    "'alice'",
    " = ",
    "*",
    "(",
    ")",
    ",",
    ";",
    "'",
    "\"",
    "`",
    "--",
    "/*",
    "*/",
    "$$",
    "@p",
    "?",
    "\\d ",
    "NULL",
    "count",
    "CAST(",
    " AS ",
    "TIMESTAMP ",
    "INTERVAL ",
    "'2026-11-24'",
    "99999999999999999999",
    "-1",
    "1e400",
    "0x1b",
    " LIKE ",
    " IN ",
    " OVER ",
    "GROUP BY ",
    "ORDER BY ",
    " JOIN ",
    "EXPLAIN ",
    "ANALYZE ",
    "INSERT INTO ",
    "VALUES ",
    "COPY ",
    " TO ",
    "SHOW ",
    "SET ",
    "\u{1b}[31m",
    "\u{9b}2J",
    "\u{202e}",
    "\n",
    "\0",
    "é",
    "\u{1b}]0;x\u{7}",
    "'\u{1b}[2J'",
    "\"\u{1b}[2J\"",
    "1",
    "/",
    "0",
    "%",
    "array[",
    "]",
];

#[track_caller]
fn assert_harmless(output: &Output, what: &str) {
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(matches!(output.status.code(), Some(0..=4)), "{what}: {:?}: {error}", output.status);
    assert!(!error.contains("panic"), "{what}: {error}");
    for text in [out, error] {
        let obeyed =
            |char: char| char.is_control() && char != '\n' || ('\u{202a}'..='\u{202e}').contains(&char);
        assert!(!text.contains(obeyed), "{what}: {text:?}");
    }
}

fn rounds() -> usize {
    if std::env::var_os("KEYDERIVE_LONG_TESTS").is_some() { 2000 } else { 40 }
}

#[test]
fn random_statements() {
    let (server, mut random) = (Server::start("hostile"), Rng::with_seed(5));
    for round in 0..rounds() {
        let bytes: Vec<u8> = match round % 4 {
            0 => (0..random.usize(1..200)).map(|_| random.u8(..)).collect(),
            _ => (0..random.usize(1..20)).flat_map(|_| PARTS[random.usize(..PARTS.len())].bytes()).collect(),
        };
        let format = ["table", "json", "ndjson"][round % 3];
        let output = server.run(&["--format", format], &bytes);
        assert_harmless(&output, &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn what_statements_quote_and_rows_have_is_escaped() {
    let server = Server::start("quoted");
    for sql in [
        "SELECT * FROM \"\u{1b}[31m\"",
        "SELECT '\u{1b}[31m' AS \"\u{1b}[2J\"",
        "SELECT note FROM events",
        "SELECT CAST('\u{1b}[31m' AS BIGINT)",
        "SELECT * FROM '\u{1b}[31m.parquet'",
        "EXPLAIN SELECT * FROM events WHERE user_id = '\u{1b}[31m' AND note = '\u{9b}'",
        "\\d \u{1b}[31m",
        "\\\u{1b}[31m",
        "\u{1b}[31m",
    ] {
        for format in ["table", "json", "ndjson"] {
            assert_harmless(&server.run(&["--format", format, "-c", sql], b""), sql);
        }
    }
    for arguments in [
        &["--\u{1b}[31m"][..],
        &["--on", "\u{1b}[31m"],
        &["--layouts", "\u{1b}[31m"],
        &["export", "\u{1b}[31m", "x.parquet"],
    ] {
        assert_harmless(&server.run(arguments, b"SELECT 1"), &format!("{arguments:?}"));
    }
}

#[test]
fn statements_of_many_parts() {
    let server = Server::start("deep");
    for sql in [
        format!("SELECT {}1{}", "(".repeat(3000), ")".repeat(3000)),
        format!("SELECT 1{}", " + 1".repeat(1500)),
        format!("SELECT count(*) FROM events WHERE user_id = 'a'{}", " OR user_id = 'b'".repeat(1500)),
        format!("SELECT count(*) FROM events WHERE {} true", "NOT ".repeat(1500)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(200)),
        format!("SELECT {}", "[".repeat(3000)),
    ] {
        assert_harmless(&server.run(&["--format", "csv"], sql.as_bytes()), &sql[..60]);
    }
    for sql in [
        format!("SELECT 1{}", " + 1".repeat(20_000)),
        format!("SELECT count(*) FROM events WHERE user_id = 'a'{}", " OR user_id = 'b'".repeat(20_000)),
    ] {
        server.write("deep.sql", sql);
        server.fails(&["-f", "deep.sql"], 2, "more than 4000 operators in a chain");
    }
    // DataFusion's planning takes time by the square of their number.
    let count = if std::env::var_os("KEYDERIVE_LONG_TESTS").is_some() { 3_000 } else { 600 };
    server.write("union.sql", format!("SELECT 1 AS n{}", " UNION ALL SELECT 1".repeat(count - 1)));
    assert_eq!(server.prints(&["--format", "csv", "-f", "union.sql"]).lines().count(), count + 1);
}
