//! Tables as Parquet files, and back: every type of column has equal rows.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDate, Utc};
use keyderive::layouts::Layouts;
use keyderive::row::{Sum, Timestamped, Versions};
use keyderive::{Cell, KeyField, Row, RowKey};
use uuid::Uuid;

use crate::server::Server;

#[derive(Clone, Copy, Debug, KeyField)]
#[repr(u8)]
enum Status {
    Open = 1,
    Closed = 2,
}

#[derive(RowKey)]
struct WideKey {
    status: Status,
    flag: bool,
    small: i16,
    #[row_key(desc)]
    large: u128,
    letter: char,
    #[row_key(ts(unit = "secs"))]
    secs: SystemTime,
    #[row_key(ts(unit = "micros"))]
    micros: SystemTime,
    #[reverse_ts]
    at: DateTime<Utc>,
    day: NaiveDate,
    id: Uuid,
    number: u64,
    name: String,
}

#[derive(Cell)]
enum Level {
    Low,
    High,
}

#[derive(Row)]
struct Address {
    city: String,
    zip: Option<i64>,
}

#[derive(Row)]
struct Totals {
    bytes: Sum,
}

#[derive(Row)]
struct Wide {
    #[row(name = "name")]
    title: String,
    level: Level,
    #[row(counter)]
    views: i64,
    price: f32,
    weight: Option<f64>,
    is_new: bool,
    raw: Vec<u8>,
    begun: Option<DateTime<Utc>>,
    #[row(ts(unit = "secs"))]
    seen: Option<SystemTime>,
    born: Option<NaiveDate>,
    token: Option<Uuid>,
    history: Versions<i64>,
    checked: Option<Timestamped<String>>,
    #[row(family)]
    address: Option<Address>,
    #[row(family)]
    tags: BTreeMap<String, i64>,
    #[row(family)]
    notes: Option<BTreeMap<String, String>>,
    #[row(family)]
    sums: Totals,
}

fn key(at: u64) -> WideKey {
    let time = UNIX_EPOCH + Duration::from_micros(1_795_478_400_123_456 + at);
    WideKey {
        status: if at.is_multiple_of(2) { Status::Open } else { Status::Closed },
        flag: at == 1,
        small: -5 + at as i16,
        large: u128::MAX - u128::from(at),
        letter: 'ä',
        secs: UNIX_EPOCH + Duration::from_secs(1_795_478_400 + at),
        micros: time,
        at: UNIX_EPOCH.into(),
        day: NaiveDate::from_ymd_opt(2026, 11, 24).unwrap(),
        id: Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8),
        number: u64::MAX - at,
        name: "key".into(),
    }
}

fn row(at: u64) -> Wide {
    let is_first = at == 1;
    let number = at as i64;
    Wide {
        title: format!("title\n{at}\u{1b}"),
        level: if at.is_multiple_of(2) { Level::Low } else { Level::High },
        views: number,
        price: 1.5,
        weight: is_first.then_some(-0.1),
        is_new: is_first,
        raw: vec![0, 255],
        begun: is_first.then(|| DateTime::from_timestamp_nanos(1_795_478_400_123_456_789)),
        seen: is_first.then(|| UNIX_EPOCH + Duration::from_secs(7)),
        born: is_first.then(|| NaiveDate::from_ymd_opt(1969, 7, 20).unwrap()),
        token: is_first.then(|| Uuid::from_u128(7)),
        history: [Timestamped::new(2_000, number), Timestamped::new(1_000, 7)].into_iter().collect(),
        checked: is_first.then(|| Timestamped::new(3_000, "yes".to_owned())),
        address: is_first.then(|| Address { city: "Chur".into(), zip: None }),
        tags: (0..number).map(|tag| (format!("tag{tag}"), tag)).collect(),
        notes: (at > 0).then(|| (1..number).map(|note| (format!("n{note}"), String::new())).collect()),
        sums: Totals { bytes: Sum::default() },
    }
}

#[test]
fn every_type_out_and_in_is_equal() {
    let server = Server::start("parquet");
    let layouts = Layouts::new().table::<WideKey, Wide>("wide").table::<WideKey, Wide>("copied");
    server.write("layouts.json", layouts.to_json());
    server.wait(async {
        let wide = server.client.table::<WideKey, Wide>("wide");
        wide.create().await.unwrap();
        for at in 0..4 {
            wide.put(&key(at), &row(at)).await.unwrap();
        }
        server.client.table::<WideKey, Wide>("copied").create().await.unwrap();
    });
    let rows = |from: &str| {
        server.prints(&[
            "--format",
            "ndjson",
            "-c",
            &format!("SELECT * EXCLUDE (bytes) FROM {from} ORDER BY number"),
        ])
    };
    let stored = rows("wide");
    assert_eq!(stored.lines().count(), 4);
    assert!(
        stored.contains("\"secs\":\"2026-11-24T00:00:01Z\",\"micros\":\"2026-11-24T00:00:00.123457Z\""),
        "{stored}"
    );
    assert!(
        stored.contains("340282366920938463463374607431768211455")
            && stored.contains("\"tags\":{\"tag0\":0,\"tag1\":1}"),
        "{stored}"
    );

    let output = server.run(&["export", "wide", "wide.parquet"], b"");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "note: exported 4 rows of `wide`\n");
    assert_eq!(rows("'wide.parquet'"), stored);
    // The types are those of the table, also the units of times.
    let types = |from: &str| server.prints(&["--format", "csv", "-c", &format!("\\d {from}")]);
    let of_table = types("wide");
    assert!(
        of_table.contains("secs,\"Timestamp(s, \"\"UTC\"\")\"") || of_table.contains("secs,Timestamp(s"),
        "{of_table}"
    );
    let names = |text: &str| {
        text.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    server.write("of.sql", "CREATE EXTERNAL TABLE f STORED AS PARQUET LOCATION 'wide.parquet'; SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'f'; SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'wide'");
    let both = server.prints(&["--format", "csv", "-f", "of.sql"]);
    let (file, table) = both.split_at(both.len() / 2);
    assert_eq!(file, table);
    assert_eq!(names(&of_table).len(), 29);

    // A dry run writes nothing.
    let (printed, code) = server.shell("keyderive-sql import copied wide.parquet");
    assert!(code == 0 && printed.contains("would write 4 rows of `copied`\n"), "{printed}");
    assert!(printed.contains("left out, since the server keeps sums, minima and maxima: bytes"), "{printed}");
    assert!(printed.contains("note: dry run: pass `--yes` to apply"), "{printed}");
    assert_eq!(rows("copied"), "");
    // Twice is once.
    for _ in 0..2 {
        let (printed, code) = server.shell("keyderive-sql import copied wide.parquet --yes");
        assert!(code == 0 && printed.ends_with("wrote 4 rows of `copied`\n"), "{printed}");
        assert_eq!(rows("copied"), stored);
    }
    // Also as statements.
    server.prints(&["-c", "COPY (SELECT * EXCLUDE (bytes) FROM wide) TO 'some.parquet'"]);
    let columns = server.prints(&["--format", "csv", "-c", "SELECT * FROM 'some.parquet' LIMIT 0"]);
    let columns = columns.trim().replace("cf:name", "\"cf:name\"");
    server.wait(server.client.table::<WideKey, Wide>("copied").delete_all((0..4).map(key))).unwrap();
    server.prints(&["-c", &format!("INSERT INTO copied ({columns}) SELECT * FROM 'some.parquet'")]);
    assert_eq!(rows("copied"), stored);
}

#[test]
fn what_cannot_be_imported_is_said_before_anything_is_written() {
    let server = Server::start("refused");
    let copy = |select: &str, file: &str| server.prints(&["-c", &format!("COPY ({select}) TO '{file}'")]);
    let count = || server.prints(&["--format", "csv", "-c", "SELECT count(*) FROM events"]);
    let before = count();
    for (select, says) in [
        ("SELECT *, 1 AS more FROM events", "the file has a column `more`"),
        ("SELECT kind FROM events", "the file has no column `user_id`"),
        ("SELECT user_id, site, [1] AS at, kind FROM events", "at"),
    ] {
        copy(select, "bad.parquet");
        let output = server.run(&["import", "events", "bad.parquet", "--yes"], b"");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)) && error.contains(says), "{select}: {error}");
    }
    // What no column holds is an error while rows are written, and no other row.
    for (at, amount, says) in [
        (
            "TIMESTAMP '2026-11-24T01:00:00.0000005Z'",
            "1.5",
            "the column `at` has Timestamp(µs, \"UTC\"), and",
        ),
        ("DATE '2026-11-24'", "9007199254740993", "the column `amount` has Float64, and"),
    ] {
        copy(
            &format!("SELECT 'dan' AS user_id, 'x' AS site, {at} AS at, 'x' AS kind, {amount} AS amount"),
            "bad.parquet",
        );
        server.fails(&["import", "events", "bad.parquet", "--yes"], 3, says);
    }
    assert_eq!(count(), before);
    server.fails(&["import", "events", "gone.parquet"], 3, "`gone.parquet` is not read");
    server.write("text.parquet", "no Parquet");
    server.fails(&["import", "events", "text.parquet"], 3, "`text.parquet` is not read");
    server.fails(&["import", "events", "events.csv"], 2, "ends with `.parquet`");
    server.fails(
        &["export", "gone", "gone.parquet"],
        3,
        "there is no layout of a table `gone`; there are `events`",
    );
    // One that fails in the midst says what it left; the rest of the file is not lost when it is repeated.
    copy(
        "SELECT user_id, site, at, kind FROM events UNION ALL SELECT 'a#b', 'x', TIMESTAMP '2026-11-24T00:00:00Z', 'buy'",
        "half.parquet",
    );
    server.fails(
        &["import", "events", "half.parquet", "--yes"],
        3,
        "rows that were written stay, each whole; the same statement may be run again",
    );
}

/// What the file had is lost once the new one is complete, and other files stay.
#[test]
fn an_export_replaces_its_file() {
    let server = Server::start("replaced");
    for query in ["SELECT * FROM events", "SELECT * FROM events WHERE user_id = 'alice'"] {
        server.prints(&["-c", &format!("COPY ({query}) TO 'it''s a #1.parquet'")]);
    }
    server.prints(&["export", "events", "100%.parquet"]);
    let mut names: Vec<_> = fs::read_dir(server.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["100%.parquet", "it's a #1.parquet", "layouts.json"]);
    let count = server.prints(&["--format", "csv", "-c", "SELECT count(*) AS n FROM 'it''s a #1.parquet'"]);
    assert_eq!(count, "n\n12\n");
    let (printed, _) = server.shell("keyderive-sql import events '100%.parquet'");
    assert!(printed.contains("would write 36 rows of `events`"), "{printed}");
}
