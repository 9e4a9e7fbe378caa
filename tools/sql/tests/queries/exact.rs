//! What DataFusion answers wrongly, and `Exact` does not.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray,
};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::functions_aggregate::sum::sum;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;
use datafusion::prelude::{SessionConfig, SessionContext, col};
use keyderive::dynamic::TableLayout;
use keyderive_datafusion::{BigtableTable, Exact};

use crate::shared::{Event, EventKey, events, layout, lines, query, rows};

enum Answer {
    Rows(&'static [&'static str]),
    Refused(&'static str),
}
use Answer::{Refused, Rows};

/// Statements, what they mean, and what DataFusion answers. If a release answers rightly, its mend has had its day.
const FAULTS: &[(&str, Answer, &[&str])] = &[
    // Lists, of three-valued logic.
    (
        "SELECT v IN (1, 3) AND v IN (5, 7) FROM t",
        Rows(&["||", "|false|", "|false|"]),
        &["|false|", "|false|", "|false|"],
    ),
    ("SELECT v FROM t WHERE v NOT IN (1) OR v NOT IN (3)", Rows(&["|1|", "|2|"]), &["||", "|1|", "|2|"]),
    ("SELECT v FROM t WHERE NOT (v IN (1, 3) AND v IN (5, 7))", Rows(&["|1|", "|2|"]), &["||", "|1|", "|2|"]),
    (
        "SELECT v FROM t WHERE NOT ((v = 1 OR v = 3) AND (v = 5 OR v = 7))",
        Rows(&["|1|", "|2|"]),
        &["||", "|1|", "|2|"],
    ),
    ("SELECT a FROM t WHERE a IN (1, 2) AND a NOT IN (3, NULL)", Rows(&[]), &["|1|", "|2|"]),
    ("SELECT DISTINCT a FROM t WHERE a IN (1, 2) AND a NOT IN (3, NULL)", Rows(&[]), &["|1|", "|2|"]),
    ("SELECT a FROM t WHERE NOT (a IN (1, NULL) AND a IN (1, 2))", Rows(&["|3|"]), &["|2|", "|3|"]),
    ("SELECT a FROM t WHERE a IN (b, b + 1) AND a IN (c, c + 1)", Rows(&["|1|", "|2|", "|3|"]), &[]),
    (
        "SELECT s FROM t WHERE NOT (s ~ '^(xa|ya)$' AND s ~ '^(za|wa)$')",
        Rows(&["|x|", "|y|"]),
        &["|x|", "|y|", "||"],
    ),
    (
        "SELECT a FROM t WHERE NOT ((s LIKE 'x' OR s LIKE 'q') AND (s LIKE 'z' OR s LIKE 'w'))",
        Rows(&["|1|", "|3|"]),
        &["|1|", "|2|", "|3|"],
    ),
    (
        "SELECT a FROM t WHERE NOT ((v >= 1 AND v <= 1 OR v >= 3 AND v <= 3) AND (v >= 5 AND v <= 5 OR v >= 7 AND v <= 7))",
        Rows(&["|1|", "|3|"]),
        &["|1|", "|2|", "|3|"],
    ),
    (
        "SELECT a FROM t WHERE ((v BETWEEN 1 AND 1 OR v BETWEEN 3 AND 3) AND (v BETWEEN 5 AND 5 OR v BETWEEN 7 AND 7)) IS NULL",
        Rows(&["|2|"]),
        &[],
    ),
    (
        "SELECT a FROM t WHERE NOT (CAST(v AS VARCHAR) IN ('1', '3') AND CAST(v AS VARCHAR) IN ('5', '7'))",
        Rows(&["|1|", "|3|"]),
        &["|1|", "|2|", "|3|"],
    ),
    (
        "SELECT a FROM t WHERE s !~ '^(xa|ya)$' OR s !~ '^(za|wa)$'",
        Rows(&["|1|", "|3|"]),
        &["|1|", "|2|", "|3|"],
    ),
    ("SELECT a FROM t WHERE a NOT IN (1, 2) OR a NOT IN (2, NULL)", Rows(&["|3|"]), &["|1|", "|3|"]),
    ("SELECT a FROM t WHERE (v IN (1, NULL) AND v IN (1, 2)) IS NULL", Rows(&["|2|", "|3|"]), &["|2|"]),
    // Other simplifications.
    (
        "SELECT array_has([1, NULL], c) FROM t",
        Rows(&["|false|", "|false|", "|true|"]),
        &["||", "||", "|true|"],
    ),
    (
        "SELECT array_has([v, 9], 2) FROM t",
        Rows(&["|false|", "|false|", "|true|"]),
        &["||", "|false|", "|true|"],
    ),
    ("SELECT s FROM t WHERE NOT (s ~ '.*')", Rows(&[]), &["||"]),
    ("SELECT v ^ v FROM t", Rows(&["||", "|0|", "|0|"]), &["|0|", "|0|", "|0|"]),
    ("SELECT a ^ 7 ^ a FROM t WHERE v IS NULL", Rows(&["|7|"]), &["|7|"]),
    ("SELECT -c & c FROM t", Rows(&["|1|", "|1|", "|2|"]), &["|0|", "|0|", "|0|"]),
    ("SELECT c | -c FROM t", Rows(&["|-1|", "|-1|", "|-2|"]), &["|-1|", "|-1|", "|-1|"]),
    ("SELECT -(a & 6) FROM t WHERE a = 3", Rows(&["|-2|"]), &["|-1|"]),
    ("SELECT a FROM t WHERE z IN (0.0, 7.0, 8.0, 9.0)", Rows(&["|1|", "|2|"]), &["|2|"]),
    ("SELECT a FROM t WHERE z = 0 OR z = 7 OR z = 8 OR z = 9", Rows(&["|1|", "|2|"]), &["|2|"]),
    ("SELECT count(DISTINCT z), count(DISTINCT a) FROM t", Rows(&["|2|3|"]), &["|3|3|"]),
    // Integers.
    (
        "SELECT 9223372036854775807 + a FROM t",
        Refused("verflow"),
        &["|-9223372036854775806|", "|-9223372036854775807|", "|-9223372036854775808|"],
    ),
    (
        "SELECT sum(CASE WHEN v = 1 THEN 9223372036854775806 ELSE v END) FROM t",
        Refused("a sum is beyond"),
        &["|-9223372036854775808|"],
    ),
    (
        "SELECT arrow_cast(1, 'UInt8') - arrow_cast(2, 'UInt8') FROM t WHERE a = 1",
        Rows(&["|-1|"]),
        &["|255|"],
    ),
    (
        "SELECT -(a - 9223372036854775807 - 2) FROM t WHERE a = 1",
        Refused("verflow"),
        &["|-9223372036854775808|"],
    ),
    // Times.
    ("SELECT a FROM t WHERE extract(year FROM at) < 9999", Rows(&["|1|", "|2|", "|3|"]), &[]),
    (
        "SELECT date_trunc('millisecond', TIMESTAMP '1969-12-31 23:59:59.9999')",
        Rows(&["|1969-12-31T23:59:59.999|"]),
        &["|1970-01-01T00:00:00|"],
    ),
    // Subqueries.
    (
        "SELECT a FROM t WHERE a = ANY (SELECT a FROM t WHERE a < 2)",
        Refused("write `IN (SELECT …)`"),
        &["|1|", "|2|", "|3|"],
    ),
    ("SELECT a FROM t WHERE a > ALL (SELECT a FROM t WHERE a < 2)", Refused("`ALL` is not supported"), &[]),
    (
        "SELECT a FROM t AS o WHERE EXISTS (SELECT 1 FROM t LEFT JOIN (SELECT * FROM t WHERE a = o.a) AS u ON t.a = u.a WHERE u.a IS NULL)",
        Refused("an outer join in a query that reads a column of the outer one"),
        &[],
    ),
    (
        "SELECT a FROM t AS o WHERE 3 NOT IN (SELECT v FROM t WHERE t.a = o.a)",
        Refused("reads a column of the outer one"),
        &["|1|", "|2|", "|3|"],
    ),
    (
        "SELECT a FROM t WHERE a NOT IN (SELECT v FROM t) OR b = 3",
        Refused("`IN` before a query is not supported where NULL and false differ"),
        &["|3|"],
    ),
    (
        "SELECT a FROM t WHERE (a IN (SELECT v FROM t)) IS NULL",
        Refused("`IN` before a query is not supported where NULL and false differ"),
        &[],
    ),
    (
        "SELECT a FROM t AS o WHERE EXISTS (SELECT count(*) FROM t WHERE t.v = o.a)",
        Refused("after EXISTS and IN, an aggregate"),
        &["|1|", "|2|"],
    ),
    (
        "SELECT a FROM t AS o WHERE EXISTS (SELECT 1 FROM t WHERE t.a = o.a OFFSET 1)",
        Refused("a limit"),
        &["|1|", "|2|", "|3|"],
    ),
    (
        "SELECT o.a, n FROM t AS o CROSS JOIN LATERAL (SELECT row_number() OVER (ORDER BY t.a) AS n FROM t WHERE t.a = o.a)",
        Refused("window functions"),
        &["|1|1|", "|2|2|", "|3|3|"],
    ),
    // Joins.
    (
        "SELECT r.a, r.v FROM t AS l RIGHT JOIN t AS r ON l.a = r.a AND l.b = 1 WHERE l.v IS NULL AND r.a > 0",
        Rows(&["|2||", "|3|2|"]),
        &["|2||"],
    ),
    ("SELECT max(a) FROM t FULL JOIN (SELECT 5 AS a) AS u USING (a)", Refused("joins with USING"), &["|3|"]),
];

/// Three rows; in the second, `v` and `s` are NULL.
fn fill(context: &SessionContext) {
    let at = TimestampNanosecondArray::from(vec![0, -1, 1_000_000_000_000_000_000]);
    let ints = |values: [i64; 3]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let columns: [(&str, ArrayRef, bool); 7] = [
        ("z", Arc::new(Float64Array::from(vec![-0.0, 0.0, 1.0])), false),
        ("a", ints([1, 2, 3]), false),
        ("b", ints([1, 1, 3]), false),
        ("c", ints([1, 2, 3]), false),
        ("v", Arc::new(Int64Array::from(vec![Some(1), None, Some(2)])), true),
        ("s", Arc::new(StringArray::from(vec![Some("x"), None, Some("y")])), true),
        ("at", Arc::new(at), false),
    ];
    context.register_batch("t", RecordBatch::try_from_iter_with_nullable(columns).unwrap()).unwrap();
}

async fn plain(context: &SessionContext, sql: &str) -> Result<Vec<String>> {
    Ok(lines(&context.sql(sql).await?.collect().await?, false))
}

#[tokio::test]
async fn what_datafusion_answers_wrongly_is_exact_or_refused() {
    let (exact, context) = (Exact::new(SessionConfig::new()), SessionContext::new());
    fill(exact.context());
    fill(&context);
    for (sql, answer, of_datafusion) in FAULTS {
        let ours = query(&exact, sql).await;
        match (answer, ours) {
            (Rows(expected), Ok(rows)) => assert_eq!(lines(&rows, false), sorted(expected), "{sql}"),
            (Refused(says), Err(error)) => assert!(error.to_string().contains(says), "{sql}: {error}"),
            (_, ours) => panic!("{sql}: {ours:?}"),
        }
        // By the context, too.
        match (answer, plain(exact.context(), sql).await) {
            (Rows(expected), Ok(rows)) => assert_eq!(rows, sorted(expected), "{sql}"),
            (Refused(_), Err(_)) => {}
            (_, ours) => panic!("{sql}: {ours:?}"),
        }
        assert_eq!(plain(&context, sql).await.unwrap(), sorted(of_datafusion), "DataFusion: {sql}");
    }
}

fn sorted(lines: &[&str]) -> Vec<String> {
    let mut lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
    lines.sort();
    lines
}

/// Only the text shows these, so that `sql` of the context answers.
#[tokio::test]
async fn what_the_text_alone_shows_is_refused_by_exact_alone() {
    let exact = Exact::new(SessionConfig::new());
    fill(exact.context());
    for (sql, says, of_datafusion) in [
        ("SELECT b FROM t EXCEPT ALL SELECT 1", "`EXCEPT ALL`", &["|3|"][..]),
        ("SELECT b FROM t INTERSECT ALL SELECT 1", "`INTERSECT ALL`", &["|1|", "|1|"]),
        ("SELECT a FROM t TABLESAMPLE (0)", "not sampled", &["|1|", "|2|", "|3|"]),
        ("SELECT a FROM t WHERE s IS DISTINCT FROM 'x' AND a = 2", "in parentheses", &[]),
        ("SELECT 18446744073709551616 = 18446744073709551617", "is beyond 64 bits", &["|true|"]),
        ("SELECT 1e400", "is beyond FLOAT64", &["|inf|"]),
    ] {
        let error = exact.sql(sql).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
        match plain(exact.context(), sql).await {
            Ok(rows) => assert_eq!(rows, sorted(of_datafusion), "DataFusion: {sql}"),
            // Boolean operands of text.
            Err(error) => assert!(sql.contains("IS DISTINCT FROM"), "{sql}: {error}"),
        }
    }
    for (sql, says) in [
        (format!("SELECT 1{}", " + 1".repeat(20_000)), "more than 200 operators"),
        (format!("SELECT s{} FROM t", " || s".repeat(195)), ""),
        (format!("SELECT {}1{}", "(1 + ".repeat(20), ")".repeat(20)), ""),
        (format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(3_000)), "more than 200 operators"),
        (format!("SELECT a FROM t WHERE a = 0{}", " OR a = 1".repeat(190)), ""),
        (format!("VALUES (-1){}", ", (-1)".repeat(20_000)), ""),
        (format!("SELECT CASE{} END FROM t", " WHEN a = 1 THEN a + 1".repeat(300)), ""),
    ] {
        match exact.sql(&sql).await {
            Ok(frame) => assert!(says.is_empty() && frame.collect().await.is_ok(), "{}", &sql[..40]),
            Err(error) => {
                assert!(!says.is_empty() && error.to_string().contains(says), "{}: {error}", &sql[..40]);
            }
        }
    }
    let error = exact.sql("SELECT 1; SELECT 2").await.unwrap_err().to_string();
    assert!(error.contains("runs one statement, and the text has 2"), "{error}");
}

/// A condition is the same in a query, in what is inserted and in what is copied.
#[tokio::test]
async fn statements_that_write_are_exact() {
    let client = events(&rows(12)).await;
    client.table::<EventKey, Event>("copy").create_if_absent().await.unwrap();
    let exact = Exact::new(SessionConfig::new());
    let register = |name: &str, layout: TableLayout| {
        exact.context().register_table(name, Arc::new(exact.table(&client, &layout).unwrap())).unwrap();
    };
    register("events", layout());
    register("copy", TableLayout::of::<EventKey, Event>("copy"));
    let condition =
        "seq IN (1, 2) AND seq NOT IN (3, NULL) OR NOT (clicks IN (1000, 1001) AND clicks IN (1002, 1003))";
    let expected = rows(12).iter().filter(|(_, row)| row.clicks.is_some()).count();
    assert!((1..12).contains(&expected));
    let written =
        query(&exact, &format!("INSERT INTO copy SELECT * FROM events WHERE {condition}")).await.unwrap();
    assert_eq!(lines(&written, true), [format!("|{expected}|")]);
    let file = format!("{}/exact.arrow", env!("CARGO_TARGET_TMPDIR"));
    let copied =
        query(&exact, &format!("COPY (SELECT seq FROM events WHERE {condition}) TO '{file}'")).await.unwrap();
    assert_eq!(lines(&copied, true), [format!("|{expected}|")]);
    for (sql, says) in [
        ("COPY (SELECT kind FROM events) TO 'x.csv'", "csv would have one form for '' and NULL: write"),
        ("COPY (SELECT amount FROM events) TO 'x.json'", "json has no NaN"),
        ("COPY (SELECT [amount] AS list FROM events) TO 'x.json'", "json has no NaN"),
        (
            "COPY (SELECT arrow_cast([amount], 'FixedSizeList(1, Float64)') AS list FROM events) TO 'x.json'",
            "json has no NaN",
        ),
        ("COPY (SELECT CAST(kind AS BYTEA) AS kind FROM events) TO 'x.csv'", "csv would have one form"),
        ("INSERT INTO copy VALUES ('a', 'x', 1, 1, 'buy', '1e400', 3)", "'1e400' is beyond FLOAT64"),
        (
            "INSERT INTO copy SELECT user_id, site, at, seq, kind, kind || '1e400', 3 FROM events",
            "Cannot cast",
        ),
        (
            "INSERT INTO copy SELECT user_id, site, at, seq, kind, substr(kind, 1, 0) || '1e400', 3 FROM events",
            "`1e400` would be `inf`",
        ),
        (
            "INSERT INTO copy SELECT 'a', 'x', 1, 2, 'buy', CAST('-1e400' AS DOUBLE), 3",
            "'-1e400' is beyond FLOAT64",
        ),
        ("SELECT * FROM events WHERE amount < '1e400'", "'1e400' is beyond FLOAT64"),
    ] {
        let error = query(&exact, sql).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
}

/// What DataFusion writes.
#[tokio::test]
async fn datafusion_cuts_what_is_written() {
    let (exact, context) = (Exact::new(SessionConfig::new()), SessionContext::new());
    let file = format!("{}/cut.csv", env!("CARGO_TARGET_TMPDIR"));
    let copy = format!("COPY (SELECT * FROM (VALUES (''), (NULL)) AS t (a)) TO '{file}'");
    for sql in ["CREATE TABLE whole (n INT)", "CREATE TABLE times (at TIMESTAMP(0))"] {
        plain(exact.context(), sql).await.unwrap();
        plain(&context, sql).await.unwrap();
    }
    for (sql, says) in [
        ("INSERT INTO whole SELECT 1.7", "and `1.7` would be `1`"),
        ("INSERT INTO times SELECT '9999-12-31 23:59:59.5'", "would be `9999-12-31T23:59:59`"),
        (&*copy, "one form for '' and NULL"),
    ] {
        let error = plain(exact.context(), sql).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
        plain(&context, sql).await.unwrap();
    }
    assert_eq!(plain(&context, "SELECT * FROM whole").await.unwrap(), ["|1|"]);
    assert_eq!(plain(&context, "SELECT * FROM times").await.unwrap(), ["|9999-12-31T23:59:59|"]);
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), ["a", "\"\"", "\"\""]);
}

#[derive(Debug)]
struct OfUser;

impl AnalyzerRule for OfUser {
    fn name(&self) -> &str {
        "of_user"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan)
    }
}

#[tokio::test]
async fn a_session_is_made_exact_in_place() {
    let context = SessionContext::new();
    fill(&context);
    context.add_analyzer_rule(Arc::new(OfUser));
    let id = context.session_id();
    let exact = Exact::add(&context);
    let again = Exact::add(exact.context());
    let names = || {
        let state = context.state();
        state.analyzer().rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<_>>()
    };
    let plain_state = SessionContext::new().state();
    let before: Vec<_> = plain_state.analyzer().rules.iter().map(|rule| rule.name().to_owned()).collect();
    assert_eq!(names(), [vec!["keyderive_exact".to_owned()], before, vec!["of_user".to_owned()]].concat());
    assert_eq!(context.session_id(), id);
    assert_eq!(context.state().session_id(), id);
    let sql = "SELECT v FROM t WHERE v NOT IN (1) OR v NOT IN (3)";
    assert_eq!(plain(&context, sql).await.unwrap(), ["|1|", "|2|"]);
    assert_eq!(lines(&query(&again, sql).await.unwrap(), false), ["|1|", "|2|"]);
    // A data frame names DataFusion's function.
    let most = context.sql("SELECT 9223372036854775807 AS n UNION ALL SELECT 1").await.unwrap();
    let error = most.aggregate(vec![], vec![sum(col("n"))]).unwrap().collect().await.unwrap_err();
    assert!(error.to_string().contains("a sum is beyond"), "{error}");
}

#[tokio::test]
async fn a_table_that_is_carried_to_another_session_is_refused() {
    let client = events(&rows(4)).await;
    let carried = || Arc::new(Exact::new(SessionConfig::new()).table(&client, &layout()).unwrap());
    let other = SessionContext::new();
    other.register_table("events", carried()).unwrap();
    let insert = "INSERT INTO events VALUES ('a', 'x', 1, 1, 'buy', 2.5, 3)";
    for sql in ["SELECT * FROM events", "SELECT count(*) FROM events WHERE seq = 1", insert] {
        let error = plain(&other, sql).await.unwrap_err().to_string();
        assert!(error.contains("call `Exact::add` with it"), "{sql}: {error}");
    }
    // By name.
    let accepted = SessionContext::new();
    let table = BigtableTable::with_answers_of_datafusion(&client, &layout()).unwrap();
    accepted.register_table("events", Arc::new(table)).unwrap();
    assert_eq!(plain(&accepted, "SELECT count(*) FROM events").await.unwrap(), ["|4|"]);
    let exact = Exact::add(&other);
    assert_eq!(lines(&query(&exact, "SELECT count(*) FROM events").await.unwrap(), true), ["|4|"]);
}
