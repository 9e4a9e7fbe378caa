//! What queries hold in memory: at most what their engine allows, however hostile they are.

use std::sync::Arc;

use keyderive::Client;
use keyderive::embedded::Bigtable;
use keyderive::query::QueryRow;
use keyderive_googlesql::Engine;
use keyderive_tests::amount;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const LIMIT: usize = 4 << 20;

/// What a process takes beside the values of one query: its text as a tree, a table, and a batch of the answer, which grows to twice a MiB
/// while its old memory is still held.
const BESIDE: usize = 4 << 20;

fn client() -> Client {
    Bigtable::in_memory().with_query_engine(Arc::new(Engine::default().memory_limit(LIMIT))).client()
}

/// Runs a query, and returns the most bytes that it held, and what it came to.
async fn run(client: &Client, query: &str) -> (usize, Result<usize, String>) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let rows = client.query(query).fetch::<QueryRow>().await;
    (
        MEMORY.peak_usage().saturating_sub(before),
        rows.map(|rows| rows.len()).map_err(|error| error.to_string()),
    )
}

/// Nests a text in itself, `depth` times.
fn nested(depth: usize, from: &str, level: impl Fn(&str) -> String) -> String {
    (0..depth).fold(from.to_owned(), |inner, _| level(&inner))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn queries_hold_what_their_engine_allows() {
    let client = client();
    let digits = "UNNEST([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])";
    let many = [digits; 9].join(", ");
    for (query, says) in [
        // Columns that double.
        (
            nested(14, "SELECT REPEAT('abc', 1000) AS x", |inner| {
                format!("SELECT CONCAT(x, x) AS x FROM ({inner})")
            }),
            "limit of its engine",
        ),
        (
            nested(14, "SELECT 'abc' AS x", |inner| format!("SELECT x AS x, x AS y, 1 AS z FROM ({inner})")),
            "",
        ),
        (nested(14, "SELECT 1 AS x", |inner| format!("SELECT *, * FROM ({inner})")), "10000 columns"),
        (
            nested(14, "SELECT 1 AS x", |inner| format!("SELECT STRUCT(x AS x, x AS y) AS x FROM ({inner})")),
            "10000 columns",
        ),
        (
            nested(14, "SELECT [1] AS x", |inner| format!("SELECT ARRAY_CONCAT(x, x) AS x FROM ({inner})")),
            "limit of its engine",
        ),
        (
            nested(10, "REPEAT('a', 1000000)", |inner| format!("CONCAT({inner}, 'b', REPEAT('a', 1000000))"))
                .replacen("CONCAT", "SELECT CONCAT", 1),
            "limit of its engine",
        ),
        // Values that wait for others.
        (
            format!(
                "SELECT {}",
                nested(7, "'x'", |inner| format!(
                    "CONCAT(REPEAT('a', 1000000), CAST(REPEAT('b', 1000000) = {inner} AS STRING))"
                ))
            ),
            "limit of its engine",
        ),
        ("SELECT SPLIT(REPEAT('a', 1000000), '')".to_owned(), "limit of its engine"),
        // Rows that are kept.
        (format!("SELECT a, REPEAT('b', 1000) FROM UNNEST([1]) AS a, {many}"), "limit of its engine"),
        (format!("SELECT a FROM UNNEST([1]) AS a, {many} ORDER BY a LIMIT 1"), "limit of its engine"),
        (
            format!(
                "SELECT DISTINCT CONCAT(CAST(a AS STRING), CAST(b AS STRING), CAST(c AS STRING), CAST(d AS STRING), CAST(e AS STRING), CAST(f AS STRING)) FROM {digits} AS a, {digits} AS b, {digits} AS c, {digits} AS d, {digits} AS e, {digits} AS f"
            ),
            "limit of its engine",
        ),
        (format!("SELECT ARRAY_LENGTH(ARRAY_AGG(a)) FROM UNNEST([1]) AS a, {many}"), "limit of its engine"),
        (format!("SELECT LENGTH(STRING_AGG('abc')) FROM {many}"), "limit of its engine"),
        (
            format!(
                "SELECT COUNT(DISTINCT CONCAT(CAST(a AS STRING), REPEAT('b', 1000), CAST(b AS STRING), CAST(c AS STRING), CAST(d AS STRING), CAST(e AS STRING))) FROM {digits} AS a, {digits} AS b, {digits} AS c, {digits} AS d, {digits} AS e"
            ),
            "limit of its engine",
        ),
    ] {
        let (held, result) = run(&client, &query).await;
        match (&result, says) {
            (Ok(_), "") => {}
            (Err(error), says) if !says.is_empty() => assert!(error.contains(says), "{query:.200}: {error}"),
            _ => panic!("{query:.200}: {result:?}"),
        }
        assert!(held < LIMIT + BESIDE, "{query:.200}: {held} bytes, {result:?}");
    }

    let count = amount("KEYDERIVE_NESTINGS", "random nestings of functions", 60, 10_000);
    let (mut answered, mut most) = (0, 0);
    for seed in 0..count {
        let query = Random(fastrand::Rng::with_seed(seed)).query();
        let (held, result) = run(&client, &query).await;
        // The client, in this process, holds the answer, too.
        let bound = if result.is_ok() { 2 * LIMIT } else { LIMIT };
        assert!(held < bound + BESIDE, "seed {seed}: {held} bytes, {result:?}: {query:.300}");
        if let Err(error) = &result {
            let is_expected = [
                "limit of its engine",
                "10000 columns",
                "exceeds max allowed output size",
                "inside of each other",
            ];
            assert!(
                is_expected.iter().any(|part| error.contains(part)),
                "seed {seed}: {error}: {query:.300}"
            );
        }
        answered += usize::from(result.is_ok());
        most = most.max(held);
    }
    println!("{answered} of {count} nestings were answered, and held {most} bytes at most");
    assert!(answered as u64 > count / 10 && (answered as u64) < count, "{answered}");
}

/// Queries whose values grow.
struct Random(fastrand::Rng);

impl Random {
    fn query(&mut self) -> String {
        let depth = self.0.usize(1..12);
        let relation = self.relation(depth);
        format!("SELECT * FROM ({relation})")
    }

    fn relation(&mut self, depth: usize) -> String {
        if depth == 0 {
            return "SELECT 'abcdefgh' AS x".to_owned();
        }
        let inner = self.relation(depth - 1);
        let depth = self.0.usize(0..4);
        let text = self.text(depth);
        match self.0.u8(0..6) {
            0 => format!("SELECT x FROM ({inner}), UNNEST({}) AS y ORDER BY x", self.array(depth)),
            1 => format!("SELECT STRING_AGG({text}) AS x FROM ({inner})"),
            2 => format!("SELECT DISTINCT {text} AS x FROM ({inner})"),
            3 => format!("SELECT {text} AS x FROM ({inner}) GROUP BY 1"),
            _ => format!("SELECT {text} AS x FROM ({inner})"),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 {
            return ["x", "x", "'a'", "''"][self.0.usize(0..4)].to_owned();
        }
        let text = |random: &mut Self| random.text(depth - 1);
        match self.0.u8(0..10) {
            0..3 => format!("CONCAT({}, {}, {})", text(self), text(self), text(self)),
            3 => format!("REPEAT({}, {})", text(self), self.0.u32(0..100)),
            4 => format!("REPLACE({}, 'a', {})", text(self), text(self)),
            5 => format!("TO_HEX(CAST({} AS BYTES))", text(self)),
            6 => format!("ARRAY_TO_STRING({}, {})", self.array(depth - 1), text(self)),
            7 => format!("REGEXP_REPLACE({}, '.', 'ab')", text(self)),
            8 => format!("IF({} = {}, {}, {})", text(self), text(self), text(self), text(self)),
            _ => format!("REVERSE(UPPER({}))", text(self)),
        }
    }

    fn array(&mut self, depth: usize) -> String {
        match self.0.u8(0..3) {
            0 => format!("SPLIT({}, '')", self.text(depth)),
            1 if depth > 0 => format!("ARRAY_CONCAT({}, {})", self.array(depth - 1), self.array(depth - 1)),
            _ => format!("[{}, {}]", self.text(depth), self.text(depth)),
        }
    }
}
