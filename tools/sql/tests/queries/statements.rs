//! Random queries of the table of events.

use fastrand::Rng;

use crate::shared::{SITES, TIMES, USERS};

fn one<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(0..of.len())]
}

/// A literal: mostly a value that rows have.
fn value(random: &mut Rng, column: &str) -> String {
    let is_other = random.u32(0..5) == 0;
    match column {
        "user_id" if is_other => format!("'{}'", one(random, &["a#b", "w", "user0#", "user02", "us"])),
        "user_id" => format!("'{}'", one(random, &USERS)),
        "site" if is_other => one(random, &["'x'", "'homes'", "''", "'h'"]).into(),
        "site" => format!("'{}'", one(random, &SITES)),
        "kind" => "'buy'".into(),
        "at" if is_other => one(random, &["2", "-1", "9223372036854775808", "3.5"]).into(),
        "at" => TIMES[random.usize(0..TIMES.len())].to_string(),
        "seq" if is_other => "1000000".into(),
        "seq" => random.u32(0..600).to_string(),
        _ => random.u32(0..100).to_string(),
    }
}

/// Leftmost fields more often, since those are pushed down.
fn predicate(random: &mut Rng) -> String {
    let columns = [
        "user_id", "user_id", "user_id", "user_id", "site", "site", "site", "at", "at", "seq", "kind",
        "clicks",
    ];
    let column = one(random, &columns);
    let op = one(random, &["=", "=", "=", "<", "<=", ">", ">=", "<>"]);
    let mut list = |count: usize| (0..count).map(|_| value(random, column)).collect::<Vec<_>>().join(", ");
    let (few, many) = (list(2), list(5));
    match random.u32(0..12) {
        0 => format!("{column} IN ({few})"),
        1 => format!("{column} IN ({many})"),
        2 => format!("{column} BETWEEN {} AND {}", value(random, column), value(random, column)),
        3 if column == "user_id" => {
            format!("user_id LIKE '{}%'", one(random, &["", "u", "user", "user0", "user00", "x#"]))
        }
        3 if column == "site" => {
            format!("site LIKE '{}'", one(random, &["h%", "%", "b%", "_iki", "s%p", "x%"]))
        }
        4 => format!("({column} {op} {} OR {column} = {})", value(random, column), value(random, column)),
        5 => format!("{} {op} {column}", value(random, column)),
        6 => format!("NOT ({column} = {})", value(random, column)),
        _ => format!("{column} {op} {}", value(random, column)),
    }
}

/// A query, and whether its rows have an order.
pub(crate) fn statement(random: &mut Rng) -> (bool, String) {
    let mut all: Vec<_> = (0..random.usize(0..4)).map(|_| predicate(random)).collect();
    // Fields further right count once those left of them are fixed.
    if random.bool() {
        all.push(format!("user_id = {}", value(random, "user_id")));
        if random.bool() {
            all.push(format!("site IN ({}, {})", value(random, "site"), value(random, "site")));
        }
    }
    let filter = if all.is_empty() { String::new() } else { format!("WHERE {}", all.join(" AND ")) };
    let orders = [
        "user_id, site, at DESC, seq",
        "user_id DESC, site DESC, at, seq DESC",
        "at DESC, seq, user_id, site",
        "seq DESC",
        "user_id, clicks, seq",
    ];
    match random.u32(0..14) {
        0 => (false, format!("SELECT count(*) FROM events {filter}")),
        1 => {
            (false, format!("SELECT site, count(*), sum(clicks), min(at) FROM events {filter} GROUP BY site"))
        }
        2 | 3 => {
            let order = one(random, &orders);
            (
                true,
                format!(
                    "SELECT user_id, site, at, seq, clicks FROM events {filter} ORDER BY {order} LIMIT {}",
                    random.u32(0..20)
                ),
            )
        }
        4 => (
            false,
            format!("SELECT count(*) FROM (SELECT * FROM events {filter} LIMIT {})", random.u32(0..200)),
        ),
        5 => (
            false,
            format!(
                "SELECT a.user_id, b.at, b.seq FROM events a JOIN events b ON a.user_id = b.user_id AND a.site = b.site AND a.seq = b.seq \
                 WHERE a.kind = 'buy' AND a.user_id < {}",
                value(random, "user_id")
            ),
        ),
        6 => (
            false,
            format!(
                "SELECT user_id, clicks FROM (SELECT * FROM events {filter}) WHERE {}",
                predicate(random)
            ),
        ),
        8 => (
            false,
            format!(
                "SELECT t.s, e.seq FROM (SELECT * FROM events {filter} ORDER BY user_id, site, at DESC, seq LIMIT {}) AS e \
                 JOIN (VALUES ({}, 1), ({}, 2)) AS t(u, s) ON e.user_id = u",
                random.u32(0..200),
                value(random, "user_id"),
                value(random, "user_id")
            ),
        ),
        7 => (
            false,
            format!(
                "SELECT count(*), sum(seq) FROM events JOIN (VALUES ({}, {}), ({}, {})) AS t(u, s) ON user_id = u AND seq < s {filter}",
                value(random, "user_id"),
                random.u32(0..600),
                value(random, "user_id"),
                random.u32(0..600)
            ),
        ),
        // Orders that a scan has, above a repartition.
        9 => (
            true,
            format!(
                "SELECT user_id, site, count(*), sum(seq) FROM events {filter} GROUP BY user_id, site ORDER BY user_id, site"
            ),
        ),
        10 => (
            false,
            format!(
                "SELECT seq, row_number() OVER (PARTITION BY user_id ORDER BY site, at DESC, seq) FROM events {filter}"
            ),
        ),
        11 => (false, format!("SELECT site, at, min(seq), count(*) FROM events {filter} GROUP BY site, at")),
        _ => (false, format!("SELECT * FROM events {filter}")),
    }
}
