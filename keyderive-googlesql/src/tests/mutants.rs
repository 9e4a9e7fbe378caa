//! Random changes of valid queries: no text makes the engine panic.

use std::env;

use tonic::Code;

use super::Database;

/// What the texts are made of, besides each other.
const PARTS: &[&str] = &[
    "NULL",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "CAST('nan' AS FLOAT64)",
    "''",
    "'é€'",
    r"b'\xff'",
    "[]",
    "[1, NULL]",
    "_key",
    "f",
    "f['q']",
    "f['q'].value",
    "TIMESTAMP '0001-01-01'",
    "TIMESTAMP '9999-12-31 23:59:59.999999+00'",
    "DATE '0001-01-01'",
    "DATE '9999-12-31'",
    "STRUCT(1 AS a, 'x')",
    "(",
    ")",
    "%",
    "é",
    "'%E*S %p %Y %z'",
    r"r'(?i)[^é\d]*\b(x)'",
    "IS NOT",
    "AND",
    "BETWEEN",
    ",",
    "@p",
];

/// How many of the parts are values, at their beginning.
const VALUES: usize = 11;

/// Splits a text into words, numbers, literals and single signs.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if first.is_alphanumeric() || first == '_' => {
                rest.find(|each: char| !each.is_alphanumeric() && each != '_').unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The texts in quotes of the other tests, which have most of the queries that Google's pages show.
fn seeds() -> Vec<String> {
    let sources = [include_str!("documented.rs"), include_str!("semantics.rs"), include_str!("errors.rs")];
    let mut seeds = Vec::new();
    for source in sources {
        for quoted in source.split('"').skip(1).step_by(2) {
            let text = quoted.replace("\\\\", "\\");
            if text.starts_with("SELECT") {
                let text = ["analytics", "sales", "users", "sensorReadings", "table_name"]
                    .iter()
                    .fold(text, |text, table| text.replace(table, "t"));
                seeds.push(text);
            } else if text.contains('(') || text.contains(" + ") {
                seeds.push(format!("SELECT {text}"));
                seeds.push(format!("SELECT {text} FROM t"));
            }
        }
    }
    seeds
}

/// `KEYDERIVE_MUTANTS` is how many there are, and `KEYDERIVE_MUTANTS_SEED` which.
#[tokio::test]
async fn no_query_makes_the_engine_panic() {
    let number = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
    let count = number("KEYDERIVE_MUTANTS").unwrap_or(300);
    let seed = number("KEYDERIVE_MUTANTS_SEED").unwrap_or(40);
    let database = Database::new();
    database.create("t", &["f", "stats_summary", "cell_plan", "size", "labels", "sum+"], None).await;
    for key in ["a#1", "b#2", "é"] {
        database.set("t", key, "f:q", 1, key).await;
        database.set("t", key, "f:q", 2, "12345678").await;
        database.set("t", key, "size:bytes", 1, 7i64.to_be_bytes().to_vec()).await;
        database.add("t", key, "sum:n", 0, i64::MAX).await;
    }
    let seeds = seeds();
    assert!(seeds.len() > 150, "{}", seeds.len());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut answered = 0;
    for _ in 0..count {
        let mut text: Vec<&str> = pieces(&seeds[random.usize(..seeds.len())]);
        let donor = pieces(&seeds[random.usize(..seeds.len())]);
        for _ in 0..random.usize(0..4) {
            let at = random.usize(..text.len().max(1)).min(text.len().saturating_sub(1));
            match random.usize(..9) {
                _ if text.is_empty() => {}
                0 => drop(text.remove(at)),
                1 => text.insert(at, PARTS[random.usize(..PARTS.len())]),
                2 => text[at] = donor[random.usize(..donor.len())],
                3 => text.insert(at, text[at]),
                4 => text[at] = PARTS[random.usize(..PARTS.len())],
                // A literal becomes another value, which is still of the type more often.
                _ => {
                    let is_literal = |piece: &&str| {
                        piece.starts_with(|first: char| first == '\'' || first.is_ascii_digit())
                    };
                    let literals: Vec<usize> = (0..text.len()).filter(|at| is_literal(&text[*at])).collect();
                    if !literals.is_empty() {
                        text[literals[random.usize(..literals.len())]] = PARTS[random.usize(..VALUES)];
                    }
                }
            }
        }
        let text = text.concat();
        match database.run(&text, &[]).await {
            Ok(_) => answered += 1,
            Err(status) => assert_ne!(status.code(), Code::Internal, "{text}: {status}"),
        }
    }
    assert!(answered * 20 > count, "only {answered} of {count} queries are valid");
}
