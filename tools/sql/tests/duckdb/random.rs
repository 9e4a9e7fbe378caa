//! Random statements over random key layouts have the rows that DuckDB has, and write what DuckDB writes.
//!
//! DuckDB runs if `KEYDERIVE_DUCKDB` names a Python that has its package. Without it, each statement has one result under every key and
//! without pushdown.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;
use std::{env, fs};

use datafusion::prelude::{ParquetReadOptions, SessionConfig};
use fastrand::Rng;
use keyderive::dynamic::TableLayout;
use keyderive::{Client, Row, RowKey};
use keyderive_datafusion::Exact;

use crate::of_json;
use crate::rows::{Rows, compare, rows};

macro_rules! keys {
    ($($(#[$of_key:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            #[derive(RowKey)]
            $(#[$of_key])*
            struct $name {
                $($(#[$of_field])* $field: $type,)*
            }
        )*

        /// The layouts, each with a table that is empty and one for what statements write.
        async fn layouts(client: &Client) -> Vec<[TableLayout; 2]> {
            let mut layouts = Vec::new();
            $({
                let of = stringify!($name);
                let names = [format!("{of}-x"), format!("{of}-y")];
                for name in &names {
                    client.table::<$name, Values>(name).create().await.unwrap();
                }
                layouts.push(names.map(|name| TableLayout::of::<$name, Values>(&name)));
            })*
            layouts
        }
    };
}

keys! {
    Plain { k: String, n: i32, t: SystemTime, b: bool, }
    Backwards { b: bool, #[reverse_ts] t: SystemTime, n: i32, k: String, }
    #[salt(range = 4, over = "k")]
    Salted { k: String, #[reverse_ts] t: SystemTime, n: u32, b: bool, }
    #[salt(range = 8, over = "n,k")]
    Numbers { #[pad(9)] n: u32, k: String, b: bool, t: SystemTime, }
    #[row_key(layout = "ordered")]
    Descending { #[row_key(desc)] n: i32, k: String, t: SystemTime, b: bool, }
    #[salt(range = 3, over = "t")]
    #[row_key(layout = "ordered")]
    Ordered { b: bool, k: String, #[row_key(desc)] t: SystemTime, n: u16, }
    #[row_key(tag = "R")]
    Tagged { k: String, t: SystemTime, b: bool, #[row_key(desc)] n: u16, }
    #[allow(clippy::duplicated_attributes, reason = "a salt for each epoch")]
    #[salt(range = 2, over = "k", sep = "!", since(t = "2013-01-01T12:00:00Z"))]
    #[salt(range = 8, over = "k", sep = "!", since(t = "2024-07-01T00:00:00Z"))]
    Epochs { k: String, b: bool, t: SystemTime, n: i64, }
}

#[derive(Row)]
struct Values {
    v: Option<i64>,
    s: Option<String>,
    d: Option<f64>,
    u: Option<bool>,
}

const TEXTS: [&str; 5] = ["'a'", "'ab'", "'b'", "''", "'Z'"];
const TIMES: [&str; 6] = [
    "TIMESTAMP '1600-01-01 00:00:00'",
    "TIMESTAMP '1969-12-31 23:59:59.999999'",
    "TIMESTAMP '2013-01-01 12:00:00'",
    "TIMESTAMP '2013-01-01 12:00:00.5'",
    "TIMESTAMP '2024-07-01 00:00:00'",
    "TIMESTAMP '9999-12-31 00:00:00'",
];
const COLUMNS: &str = "k, n, t, b, v, s, d, u";

/// The rows of the table that statements read.
fn values(random: &mut Rng, count: usize) -> String {
    let mut rows = Vec::new();
    for at in 0..count {
        // The last digit makes the keys distinct; times are those that every key holds.
        let (k, t) = (TEXTS[random.usize(..TEXTS.len())], TIMES[random.usize(2..5)]);
        let mut or_null = |value: String| if random.u8(..3) == 0 { "NULL".to_owned() } else { value };
        let v = or_null((at % 7).to_string());
        let s = or_null(TEXTS[at % 5].to_owned());
        let d = or_null(format!("{}.25", at % 4));
        let u = or_null((at % 2 == 0).to_string());
        rows.push(format!("({k}, {at}, {t}, {}, {v}, {s}, {d}, {u})", random.bool()));
    }
    rows.join(", ")
}

/// Writes expressions over the columns of a table of this name.
struct Expressions<'r> {
    random: &'r mut Rng,
    of: &'r str,
}

impl Expressions<'_> {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.random.usize(..of.len())]
    }

    fn column(&mut self, of: &[&str]) -> String {
        let name = self.one(of);
        format!("{}{name}", self.of)
    }

    /// A literal, at times NULL.
    fn or_null(&mut self, literal: String) -> String {
        if self.random.u8(..6) == 0 { "NULL".to_owned() } else { literal }
    }

    fn number(&mut self, depth: u8) -> String {
        if depth == 0 {
            return match self.random.u8(..3) {
                0 => self.random.u8(..8).to_string(),
                _ => self.column(&["n", "v"]),
            };
        }
        let (one, other) = (self.number(depth - 1), self.number(depth - 1));
        match self.random.u8(..8) {
            0 => format!("({one} + {other})"),
            1 => format!("({one} - {other})"),
            2 => format!("({one} * {other})"),
            3 => format!("coalesce({one}, {other})"),
            4 => format!("nullif({one}, {other})"),
            5 => {
                let of = self.condition(depth - 1);
                format!("CASE WHEN {of} THEN {one} ELSE {other} END")
            }
            // DataFusion negates no unsigned number.
            6 => format!("(- coalesce({one}, {}))", self.column(&["v"])),
            _ => one,
        }
    }

    fn text(&mut self, depth: u8) -> String {
        if depth == 0 {
            return match self.random.u8(..3) {
                0 => self.one(&TEXTS).to_owned(),
                _ => self.column(&["k", "s"]),
            };
        }
        let (one, other) = (self.text(depth - 1), self.text(depth - 1));
        match self.random.u8(..5) {
            0 => format!("({one} || {other})"),
            1 => format!("coalesce({one}, {other})"),
            2 => format!("CASE WHEN {} THEN {one} END", self.condition(depth - 1)),
            3 => format!("lower({one})"),
            _ => one,
        }
    }

    /// An operand, often a column alone, and literals of its type.
    fn operand(&mut self, depth: u8) -> (String, Vec<String>) {
        let depth = if self.random.u8(..3) == 0 { depth } else { 0 };
        let (operand, literals): (String, Vec<String>) = match self.random.u8(..6) {
            0 | 1 => (self.number(depth), (0..4).map(|_| self.random.i8(-1..9).to_string()).collect()),
            2 | 3 => (self.text(depth), (0..4).map(|_| self.one(&TEXTS).to_owned()).collect()),
            4 => (self.column(&["t"]), (0..4).map(|_| self.one(&TIMES).to_owned()).collect()),
            _ => (self.column(&["d"]), (0..4).map(|_| format!("{}.25", self.random.u8(..5))).collect()),
        };
        (operand, literals.into_iter().map(|literal| self.or_null(literal)).collect())
    }

    fn condition(&mut self, depth: u8) -> String {
        if depth > 0 && self.random.u8(..3) > 0 {
            let (one, other) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.random.u8(..9) {
                0 | 1 => format!("({one} AND {other})"),
                2 | 3 => format!("({one} OR {other})"),
                4 | 5 => format!("NOT ({one})"),
                6 => format!("CASE WHEN {one} THEN {other} ELSE {} END", self.condition(depth - 1)),
                7 => format!("coalesce({one}, {other})"),
                _ => format!("({one}) IS {}", self.one(&["TRUE", "NOT TRUE", "FALSE", "NULL", "NOT NULL"])),
            };
        }
        let (operand, literals) = self.operand(depth);
        let count = self.random.usize(1..=literals.len());
        let not = self.one(&["", "NOT "]);
        match self.random.u8(..10) {
            0..=3 => format!("{operand} {not}IN ({})", literals[..count].join(", ")),
            4 => format!("{operand} {not}BETWEEN {} AND {}", literals[0], literals[1]),
            5 => format!("({operand} IS {not}DISTINCT FROM {})", literals[0]),
            6 => format!("{operand} IS {not}NULL"),
            7 => self.column(&["b", "u"]),
            8 => format!("{} {not}LIKE {}", self.text(0), self.one(&["'a%'", "'%'", "'_'", "'ab'", "NULL"])),
            _ => format!("{operand} {} {}", self.one(&["=", "<>", "<", "<=", ">", ">="]), literals[0]),
        }
    }
}

/// A statement, and how it is run.
struct Statement {
    kind: Kind,
    sql: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Query,
    /// Written to a file, and read from it.
    Copy,
    /// Inserted into the table `y`, which is read then.
    Insert,
}

fn statement(random: &mut Rng) -> Statement {
    let kind = match random.u8(..10) {
        0 => Kind::Copy,
        1 => Kind::Insert,
        _ => Kind::Query,
    };
    if kind != Kind::Insert && random.u8(..5) == 0 {
        let on = Expressions { random, of: "y." }.condition(1);
        let of = Expressions { random, of: "y." }.condition(2);
        let join = Expressions { random, of: "" }.one(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
        return Statement {
            kind,
            sql: format!(
                "SELECT x.n AS a, y.n AS c, y.k AS e, {of} AS p FROM x {join} x AS y ON x.k = y.k AND x.n + 1 = y.n AND {on} WHERE {of}"
            ),
        };
    }
    let mut of = Expressions { random, of: "" };
    let (condition, value) = (of.condition(4), of.condition(3));
    let (number, text) = (of.number(2), of.text(2));
    let sql = match kind {
        Kind::Insert => {
            format!("SELECT k, n, t, b, {number} AS v, {text} AS s, d, {value} AS u FROM x WHERE {condition}")
        }
        _ => match of.random.u8(..7) {
            0 => format!("SELECT DISTINCT {value} AS p, {number} AS q FROM x WHERE {condition}"),
            1 => format!(
                "SELECT {value} AS p, count(*) AS q, sum(v) AS r, min({text}) AS z, count({number}) AS c FROM x WHERE {condition} GROUP BY 1"
            ),
            2 => format!("SELECT {COLUMNS} FROM x WHERE {condition}\nORDER BY k, n, t, b LIMIT 7"),
            3 => format!(
                "SELECT n, {value} AS p FROM x WHERE v {}IN (SELECT {number} FROM x WHERE {condition})",
                of.one(&["", "NOT "])
            ),
            4 => format!(
                "SELECT n, p FROM (SELECT n, v, {value} AS p FROM x) AS y WHERE NOT (p AND v IN (1, 2, NULL)) OR p"
            ),
            5 => format!(
                "SELECT date_trunc('hour', t) AS h, extract(year FROM t) AS y, {number} AS q FROM x WHERE {condition}"
            ),
            _ => format!("SELECT n, {value} AS p, {text} AS z FROM x WHERE {condition}"),
        },
    };
    Statement { kind, sql }
}

/// What DuckDB answers to each statement.
fn of_duckdb(python: &str, values: &str, statements: &[Statement]) -> Vec<Option<Rows>> {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let mut lines = format!("{}\n", serde_json::json!(format!("INSERT INTO x ({COLUMNS}) VALUES {values}")));
    for Statement { kind, sql } in statements {
        let steps = match kind {
            Kind::Insert => {
                vec![
                    format!("INSERT OR REPLACE INTO y ({COLUMNS}) {sql}"),
                    format!("SELECT {COLUMNS} FROM y"),
                ]
            }
            _ => vec![sql.clone()],
        };
        writeln!(lines, "{}", serde_json::json!(steps)).unwrap();
    }
    let file = format!("{folder}/statements-{}.jsonl", std::process::id());
    fs::write(&file, lines).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/duckdb/statements.py");
    let output = Command::new(python).args([script, &file]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(&file).unwrap();
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    lines.map(|line| (line != "null").then(|| of_json(line))).collect()
}

async fn answer(exact: &Exact, Statement { kind, sql }: &Statement) -> datafusion::common::Result<Rows> {
    let batches = match kind {
        Kind::Query => exact.sql(sql).await?.collect().await?,
        Kind::Copy => {
            let file = format!("{}/copied-{}.parquet", env!("CARGO_TARGET_TMPDIR"), std::process::id());
            exact.sql(&format!("COPY ({sql}) TO '{file}' STORED AS PARQUET")).await?.collect().await?;
            let rows =
                exact.context().read_parquet(&file, ParquetReadOptions::default()).await?.collect().await?;
            fs::remove_file(&file)?;
            rows
        }
        Kind::Insert => {
            exact.sql(&format!("INSERT INTO y ({COLUMNS}) {sql}")).await?.collect().await?;
            exact.sql(&format!("SELECT {COLUMNS} FROM y")).await?.collect().await?
        }
    };
    Ok(rows(&batches))
}

/// The sessions of each layout, with `x` filled, and at last one that pushes nothing down.
async fn sessions(values: &str) -> Vec<(String, Exact)> {
    let client = Client::embedded();
    let mut sessions = Vec::new();
    for [x, y] in layouts(&client).await {
        for is_pushed in [true, false] {
            let exact = Exact::new(SessionConfig::new().with_target_partitions(2));
            for (name, layout) in [("x", &x), ("y", &y)] {
                let table = exact.table(&client, layout).unwrap();
                let table = if is_pushed { table } else { table.without_pushdown() };
                exact.context().register_table(name, Arc::new(table)).unwrap();
            }
            if is_pushed {
                let insert = format!("INSERT INTO x ({COLUMNS}) VALUES {values}");
                exact.sql(&insert).await.unwrap().collect().await.unwrap();
            }
            sessions.push((format!("{} {is_pushed}", x.name()), exact));
        }
    }
    sessions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_statements_are_those_of_duckdb() {
    let number = |name: &str, otherwise| env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (count, seed) = (number("KEYDERIVE_SQL_STATEMENTS", 200), number("KEYDERIVE_SQL_SEED", 1));
    let count = usize::try_from(count).unwrap();
    let mut random = Rng::with_seed(seed);
    let values = values(&mut random, 40);
    let statements: Vec<_> = (0..count).map(|_| statement(&mut random)).collect();
    let of_duckdb = match env::var("KEYDERIVE_DUCKDB") {
        Ok(python) => of_duckdb(&python, &values, &statements),
        Err(_) => {
            eprintln!("left out: DuckDB; `KEYDERIVE_DUCKDB` names a Python that has it");
            Vec::new()
        }
    };
    let sessions = sessions(&values).await;
    let (mut differences, mut nonempty, mut refused) = (Vec::new(), 0, 0);
    for (at, statement) in statements.iter().enumerate() {
        // What is written to a table is read from it, so each table that is written has all such statements.
        let written = usize::try_from(seed).unwrap() * 2 % sessions.len();
        let chosen: Vec<_> = match (statement.kind, of_duckdb.is_empty()) {
            (Kind::Insert, true) => sessions.iter().step_by(2).collect(),
            (Kind::Insert, false) => vec![&sessions[written]],
            (_, true) => [0, 1].map(|_| &sessions[random.usize(..sessions.len())]).into(),
            (_, false) => vec![&sessions[random.usize(..sessions.len())]],
        };
        let mut expected = of_duckdb.get(at).cloned();
        for (name, exact) in chosen {
            let rows = match answer(exact, statement).await {
                Ok(rows) => Some(rows),
                Err(error) => {
                    refused += usize::from(!matches!(expected, Some(None)));
                    let error = error.strip_backtrace();
                    if !error.contains("overflow") {
                        differences.push(format!("{name}: {}: {error}", statement.sql));
                    }
                    None
                }
            };
            let expected = expected.get_or_insert_with(|| rows.clone());
            match (&rows, &*expected) {
                (Some(rows), Some(expected)) => {
                    nonempty += usize::from(!expected.is_empty());
                    if let Err(difference) = compare(&statement.sql, rows, expected) {
                        differences.push(format!("{name}: {}: {difference}", statement.sql));
                    }
                }
                (Some(_), None) => differences.push(format!("{name}: {}: DuckDB fails", statement.sql)),
                (None, _) => {}
            }
        }
    }
    println!(
        "{count} statements, {} differences, {refused} refused, {nonempty} answers with rows",
        differences.len()
    );
    for difference in differences.iter().take(20) {
        println!("{difference}");
    }
    assert!(
        differences.is_empty(),
        "seed {seed}: {} differences, of which {}",
        differences.len(),
        differences[0]
    );
    assert!(refused * 50 < count && nonempty * 2 > count, "{refused} refused, {nonempty} with rows");
}
