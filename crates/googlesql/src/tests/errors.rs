//! What is refused, by which code, and what it says.

use tonic::Code;

use super::{Database, Kind, types, value};

async fn table() -> Database {
    let database = Database::new();
    database.create("t", &["f"], None).await;
    database.set("t", "a", "f:q", 1, "abc").await;
    database
}

pub(super) async fn expect(code: Code, queries: &[(&str, &str)]) {
    let database = table().await;
    for (text, message) in queries {
        let status = match database.run(text, &[]).await {
            Ok(answer) => panic!("{text}: {answer:?}"),
            Err(status) => status,
        };
        assert_eq!(status.code(), code, "{text}: {status}");
        assert!(status.message().contains(message), "{text}: {status}");
    }
}

#[tokio::test]
async fn a_wrong_query_is_invalid() {
    expect(
        Code::InvalidArgument,
        &[
            (
                "SELECT 1.5 & 1",
                "No matching signature for operator & for argument types: FLOAT64, FLOAT64 [at 1:14]",
            ),
            ("SELECT 1.5 << 1", "No matching signature for operator <<"),
            ("SELECT 1 >> 'a'", "No matching signature for operator >>"),
            ("SELECT ~TRUE", "No matching signature for operator ~"),
            ("SELEC _key FROM t", "Syntax error"),
            ("SELECT _key FROM nosuchtable", "Table not found: nosuchtable [at 1:18]"),
            ("SELECT _key FROM no-such-table", "Table not found: no-such-table"),
            ("SELECT NOSUCHFN(_key) FROM t", "Function not found: NOSUCHFN [at 1:8]"),
            ("SELECT nosuch['x'] FROM t", "Unrecognized name: nosuch [at 1:8]"),
            ("SELECT _key FROM t WHERE _key = @k", "Query parameter 'k' not found [at 1:33]"),
            (
                "SELECT f.q FROM t",
                "Cannot access field q on a value with type MAP<BYTES, BYTES>; write ['q']",
            ),
            ("SELECT t.nope FROM t", "Name nope not found inside t"),
            ("SELECT _key FROM t WHERE 1", "WHERE clause should return type BOOL, but returns INT64"),
            (
                "SELECT _key FROM t WHERE _key = 1",
                "No matching signature for operator = for argument types: BYTES, INT64",
            ),
            (
                "SELECT _key FROM t WHERE CAST(_key AS STRING) = b'a'",
                "operator = for argument types: STRING, BYTES",
            ),
            ("SELECT f FROM t ORDER BY f", "ORDER BY does not support expressions of type MAP<BYTES, BYTES>"),
            (
                "SELECT COUNT(*) FROM t GROUP BY f",
                "Grouping by expressions of type MAP<BYTES, BYTES> is not allowed",
            ),
            ("SELECT DISTINCT f FROM t", "cannot be used in SELECT DISTINCT"),
            (
                "SELECT _key, COUNT(*) FROM t",
                "references column _key which is neither grouped nor aggregated",
            ),
            ("SELECT _key FROM t WHERE COUNT(*) > 1", "Aggregate function COUNT not allowed here"),
            ("SELECT SUBSTR(_key, 1, 1) AS _key FROM t GROUP BY _key", "Name _key is ambiguous"),
            ("SELECT _key FROM t ORDER BY 2", "ORDER BY column number item is out of range: 2"),
            ("SELECT CAST(_key AS INT64) FROM t", "Invalid cast from BYTES to INT64"),
            ("SELECT STARTS_WITH(_key, 1) FROM t", "function STARTS_WITH for argument types: BYTES, INT64"),
            ("SELECT 'a' + 1", "operator + for argument types: STRING, INT64"),
            ("SELECT * EXCEPT (nope) FROM t", "Column nope in SELECT * EXCEPT or REPLACE does not exist"),
            ("SELECT *", "must have a FROM clause"),
            (
                "SELECT 1 AS a FROM t, UNNEST([1]) AS a, UNNEST([2]) AS a WHERE a = 1",
                "Duplicate table alias a in the same FROM clause",
            ),
            ("SELECT x FROM t, UNNEST(_key) AS x", "Values referenced in UNNEST must be arrays"),
            ("SELECT _key FROM t(latest_n => 2)", "latest_n needs with_history => TRUE"),
            ("SELECT _key FROM t(after => TIMESTAMP_SECONDS(1))", "after needs with_history => TRUE"),
            (
                "SELECT _key FROM t(with_history => TRUE, latest_n => 0)",
                "latest_n must be greater than or equal to 1",
            ),
            (
                "SELECT _key FROM t(with_history => TRUE, as_of => TIMESTAMP_SECONDS(1))",
                "as_of must not come with with_history",
            ),
            ("SELECT _key FROM t(foo => 1)", "Named argument `foo` not found"),
            ("SELECT _key FROM t(TRUE)", "the arguments of a table have names"),
            ("SELECT _key FROM UNPACK((SELECT _key FROM t))", "UNPACK needs a column of versions"),
            ("SELECT TIMESTAMP_SECONDS(0) = 'x'", "Could not cast literal \"x\" to type TIMESTAMP"),
            ("SELECT DATE '2024-02-30'", "Could not cast literal \"2024-02-30\" to type DATE"),
            ("SELECT [1, 'a']", "the elements of an array"),
            ("SELECT CAST(1 AS NOSUCH)", "Type not found: NOSUCH"),
            ("SELECT 99999999999999999999", "Invalid integer literal"),
            ("SELECT _key FROM t LIMIT _key", "Unrecognized name: _key"),
            (r"SELECT '\q'", "Illegal escape sequence"),
            (
                "SELECT EXTRACT(HOUR FROM DATE '2024-01-01')",
                "EXTRACT from DATE does not support the part HOUR",
            ),
            ("SELECT DATE '24-01-02'", "Could not cast literal \"24-01-02\" to type DATE"),
            ("SELECT 1_000", "Missing whitespace between literal and alias [at 1:9]"),
            (
                "SELECT x FROM UNNEST([STRUCT(1 AS x)]) AS s WITH OFFSET WHERE (",
                "Expected: an expression, found: EOF",
            ),
            ("SELECT 1 'one'", "Expected: end of statement, found: '''one'''"),
            ("SELECT 1e309", "Invalid floating point literal: 1e309"),
            ("SELECT _key FROM t WHERE _key = NULL", "Operands of = cannot be literal NULL [at 1:33]"),
            ("SELECT 1 + (NULL)", "Operands of + cannot be literal NULL"),
            ("SELECT 1 + 2 + NULL - 3", "Operands of + cannot be literal NULL"),
            ("SELECT 'a' LIKE NULL", "Operands of LIKE cannot be literal NULL"),
            ("SELECT TRUE AND NOT NULL", "Operands of NOT cannot be literal NULL"),
            ("SELECT 1 = 1 = TRUE", "Syntax error: comparisons do not associate; write (1 = 1) [at 1:8]"),
            ("SELECT 1 < 2 IS TRUE", "comparisons do not associate; write (1 < 2)"),
            ("SELECT 1 IN (1) = TRUE", "comparisons do not associate"),
            ("SELECT 'a' LIKE 'a' = TRUE", "comparisons do not associate"),
            ("SELECT 2 BETWEEN 1 AND 3 = TRUE", "comparisons do not associate"),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_served_is_refused_by_name() {
    expect(
        Code::Unimplemented,
        &[
            ("INSERT INTO t VALUES (1)", "statements other than SELECT"),
            ("UPDATE t SET f = 1 WHERE TRUE ASSERT_ROWS_MODIFIED 1", "statements other than SELECT"),
            ("WITH x AS (SELECT 1) SELECT * FROM x", "the embedded Bigtable's SQL does not support WITH"),
            ("SELECT _key FROM t UNION ALL SELECT _key FROM t", "UNION"),
            ("SELECT a._key FROM t a JOIN t b ON a._key = b._key", "JOIN other than with UNNEST"),
            ("SELECT a._key FROM t a, t b", "JOIN other than with UNNEST"),
            ("SELECT (SELECT 1)", "subqueries in expressions"),
            ("SELECT _key FROM t WHERE _key IN (SELECT _key FROM t)", "subqueries in expressions"),
            ("SELECT JSON_VALUE('{}', '$.a')", "the function JSON_VALUE"),
            ("SELECT ROW_NUMBER() OVER (ORDER BY _key) FROM t", "OVER"),
            ("SELECT HLL_COUNT.MERGE(f['q']) FROM t", "the function HLL_COUNT.MERGE"),
            ("SELECT CAST(f['q'] AS my_proto.foo.bar.Product) FROM t", "of a schema bundle"),
            ("SELECT AS STRUCT 1 AS a", "SELECT AS STRUCT"),
            ("SELECT _key FROM t QUALIFY TRUE", "QUALIFY"),
            ("SELECT ~1 * 2", "`~` before an operand of another operator"),
            ("SELECT 'a' LIKE ALL ('a', 'b')", "LIKE ALL"),
            ("SELECT @@time_zone", "system variables"),
            ("SELECT ARRAY_FILTER([1], e -> e > 0)", "lambda functions"),
            ("FROM UNNEST([1]) AS x |> WHERE x > 0", "pipe syntax"),
            ("SELECT _key FROM t |> WHERE TRUE", "pipe"),
            ("SELECT _key FROM t @{x=1}", "hints"),
            ("SELECT x FROM t, UNNEST([1]) a, t.f x WITH OFFSET", "WITH OFFSET after another array"),
            ("SELECT x FROM UNNEST([1]) x WITH OFFSET JOIN UNNEST([1]) y", "JOIN after WITH OFFSET"),
            ("SELECT STRUCT()", "structs without fields"),
            ("SELECT CAST(NULL AS RANGE<DATE>)", "the type RANGE"),
            ("SELECT SAFE.SUM(x), COUNT(*) FROM UNNEST([1]) AS x", "SAFE.SUM"),
            ("SELECT BIT_AND(DISTINCT x) FROM UNNEST([1]) AS x", "the function BIT_AND"),
            ("SELECT SAFE.COT(0)", "the function COT"),
            ("SELECT LAST_DAY(DATE '2024-02-01', MONTH)", "the function LAST_DAY"),
            ("SELECT ARRAY_LAST_N([1], 1)", "the function ARRAY_LAST_N"),
            ("SELECT [STRUCT(1), STRUCT(1.5)]", "the elements of an array of structs of several types"),
            (
                "SELECT ARRAY<STRUCT<DATE>>[STRUCT('2024-01-01')]",
                "a STRUCT<STRING> where a STRUCT<DATE> is needed",
            ),
            ("SELECT [1] = [1]", "comparisons of ARRAY<INT64>"),
            ("SELECT NULLIF([1], [1])", "comparisons of ARRAY<INT64>"),
            ("SELECT GREATEST([1], [2])", "comparisons of ARRAY<INT64>"),
            ("SELECT STRUCT(1) IN (STRUCT(1))", "comparisons of STRUCT<INT64>"),
            ("SELECT STRUCT(1) IN UNNEST([STRUCT(1)])", "comparisons of STRUCT<INT64>"),
            ("SELECT [x] FROM UNNEST([1]) AS x ORDER BY 1", "comparisons of ARRAY<INT64>"),
            ("SELECT CAST(['1'] AS ARRAY<INT64>)", "casts from ARRAY<STRING> to ARRAY<INT64>"),
            ("SELECT [STRUCT(1 AS a)].a", "the field a of the elements of an array"),
            ("SELECT DATE '2024-01-02' - DATE '2024-01-01'", "the difference of two values of DATE"),
            ("SELECT _key FROM t ORDER BY (SELECT COUNT(*) FROM t)", "subqueries in expressions"),
            ("SELECT 'a' 'b'", "literals that follow each other"),
            ("SELECT 'it''s'", r"write a quote in a literal as \'"),
            ("SELECT FORMAT_TIMESTAMP('%J', TIMESTAMP_SECONDS(0))", "the format element `%J`"),
            (r"SELECT REGEXP_CONTAINS('a', r'\pL')", "Unicode classes in regular expressions"),
            (
                r"SELECT SAFE.REGEXP_CONTAINS('a', x) FROM UNNEST([r'\pL']) AS x",
                "Unicode classes in regular expressions",
            ),
            ("SELECT SAFE.FORMAT_TIMESTAMP('%J', TIMESTAMP_SECONDS(0))", "the format element `%J`"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_value_that_cannot_be_computed_fails_the_query() {
    expect(
        Code::OutOfRange,
        &[
            ("SELECT SPLIT(_key, '#')[9] AS x FROM t", "Array index 9 is out of bounds"),
            ("SELECT 1 / 0", "division by zero: 1 / 0"),
            ("SELECT DIV(1, 0)", "division by zero: DIV"),
            ("SELECT 9223372036854775807 + 1", "int64 overflow: 9223372036854775807 + 1"),
            ("SELECT SUM(x) AS s FROM UNNEST([9223372036854775807, 1]) AS x", "SUM() aggregation overflow"),
            ("SELECT SUM(x) FROM UNNEST([1e308, 1e308]) AS x", "SUM() aggregation overflow"),
            ("SELECT CAST('yes' AS BOOL)", "Bad bool value: yes"),
            ("SELECT CAST(' true' AS BOOL)", "Bad bool value:  true"),
            ("SELECT CAST('1' AS BOOL)", "Bad bool value: 1"),
            ("SELECT ROUND(1.7e308, -308)", "Floating point overflow: ROUND"),
            ("SELECT ROUND(CAST(3.4028234e38 AS FLOAT32), -35)", "Floating point overflow: ROUND"),
            ("SELECT TIMESTAMP_TRUNC(TIMESTAMP '0001-01-03', WEEK)", "Timestamp is out of supported range"),
            ("SELECT TIMESTAMP(DATE '0001-01-01', '+05:00')", "Timestamp is out of supported range"),
            ("SELECT PARSE_TIMESTAMP('%Y', '0001', '+05:00')", "Timestamp is out of supported range"),
            (r"SELECT CAST(b'\xff' AS STRING)", "Invalid cast of bytes to UTF8 string"),
            ("SELECT CAST('x' AS INT64)", "Bad int64 value: x"),
            ("SELECT _key FROM t LIMIT -1", "Limit requires non-negative count and offset"),
            ("SELECT REGEXP_CONTAINS('a', '(')", "Cannot parse regular expression"),
            (r"SELECT REGEXP_CONTAINS('a', r'(a)\1')", r"RE2 has no escape `\1`"),
            (r"SELECT REGEXP_CONTAINS('-', '[a--b]')", "invalid character class range"),
            (
                r"SELECT REGEXP_REPLACE('a', 'a', r'\1')",
                r"it has the group \1, and the regular expression has 0 groups",
            ),
            (
                r"SELECT REGEXP_REPLACE('b', 'a', r'\x')",
                "a backslash precedes neither a digit nor a backslash",
            ),
            (r"SELECT REGEXP_REPLACE('b', 'a', '\\')", "it ends with a backslash"),
            ("SELECT EUCLIDEAN_DISTANCE([1e300], [0.0])", "double overflow"),
            ("SELECT COSINE_DISTANCE([1e300], [1.0])", "double overflow"),
            ("SELECT REGEXP_EXTRACT('a', 'a', 0)", "the position of REGEXP_EXTRACT must be positive"),
            ("SELECT REGEXP_EXTRACT('a', 'a', 1, 0)", "the occurrence of REGEXP_EXTRACT must be positive"),
            ("SELECT REPEAT('ab', 10000000)", "exceeds max allowed output size"),
            ("SELECT TIMESTAMP('2022/01/10-13:14:00')", "Invalid timestamp"),
        ],
    )
    .await;
    expect(
        Code::InvalidArgument,
        &[("SELECT TO_INT64(f['q']) FROM t", "incorrect value size. expected: 8 bytes, actual: 3 bytes")],
    )
    .await;
}

/// A wrong value is no change of the table, for which a client would prepare the query again.
#[tokio::test]
async fn a_wrong_value_of_a_parameter_is_invalid() {
    let database = table().await;
    let (int64, bool) = (Kind::Int64Type(types::Int64::default()), Kind::BoolType(types::Bool {}));
    let (int, text) = (value::Kind::IntValue(0), value::Kind::StringValue("x".to_owned()));
    for (arguments, of, value, message) in [
        ("with_history => TRUE, latest_n => @p", &int64, int, "latest_n must be greater than"),
        ("with_history => TRUE, latest_n => @p", &int64, text, "INT64"),
        ("with_history => @p", &bool, value::Kind::BoolValue(true), "with_history takes TRUE or FALSE"),
        (
            "with_history => TRUE, after => NULL",
            &bool,
            value::Kind::BoolValue(true),
            "`after` of a table is NULL",
        ),
        (
            "as_of => CAST(NULL AS TIMESTAMP)",
            &bool,
            value::Kind::BoolValue(true),
            "`as_of` of a table is NULL",
        ),
    ] {
        let query = format!("SELECT f FROM t({arguments})");
        let status = database.run(&query, &[("p", of.clone(), value)]).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().contains(message), "{status}");
    }
}

/// As in Google's reference, only the whole sum has to be in range.
#[tokio::test]
async fn a_partial_sum_may_be_out_of_range() {
    let max = i64::MAX;
    table()
        .await
        .expect(&[
            (&format!("SELECT SUM(x) FROM UNNEST([{max}, 1, -1]) AS x")[..], &["9223372036854775807"]),
            (
                &format!("SELECT SUM(x) FROM UNNEST([-1, {max}, {max}, -{max}]) AS x"),
                &["9223372036854775806"],
            ),
        ])
        .await;
}

/// The parser tries what it does not understand twice, at each level of what it is inside of.
#[tokio::test]
async fn no_query_takes_the_parser_long() {
    let database = table().await;
    let begun = std::time::Instant::now();
    for level in
        ["CAST(", "NOT (", "CEIL(", "SUBSTRING(", "ARRAY[", "CASE WHEN ", "(SELECT ", "NOT ", "INTERVAL "]
    {
        for count in [4, 12, 16, 40] {
            let text = format!("SELECT {}1", level.repeat(count));
            let status = database.run(&text, &[]).await.unwrap_err();
            let is_expected = matches!(status.code(), Code::InvalidArgument | Code::Unimplemented);
            assert!(is_expected, "{text}: {status}");
        }
        let status = database.run(&format!("SELECT 1 FROM {}t", "(SELECT 1 FROM ".repeat(40)), &[]).await;
        assert_eq!(status.unwrap_err().code(), Code::Unimplemented);
    }
    let nested = |before: &str, after: &str| format!("SELECT {}1{}", before.repeat(14), after.repeat(14));
    for text in [nested("CAST(", " AS INT64)"), nested("CEIL(", ")"), nested("(", ")"), nested("ABS(", ")")] {
        assert_eq!(database.run(&text, &[]).await.unwrap().rows.len(), 1, "{text}");
    }
    println!("{:.1?}", begun.elapsed());
}

#[tokio::test]
async fn no_query_is_too_deep_for_the_stack() {
    let database = table().await;
    let many = format!("{}1", "[1], ".repeat(900));
    for (text, expected) in [
        (format!("SELECT {}1", "1+".repeat(3_900)), Some("3901")),
        (format!("SELECT _key FROM t WHERE {}FALSE", "_key = 'a' OR ".repeat(1_500)), Some("a")),
        (format!("SELECT {}1{}", "(".repeat(2_000), ")".repeat(2_000)), None),
        (format!("SELECT {}1{}", "[".repeat(2_000), "]".repeat(2_000)), None),
        (format!("SELECT {}1{}", "ARRAY<INT64>[".repeat(1_300), "]".repeat(1_300)), None),
        (format!("SELECT {}1{}", "STRUCT<a INT64>(".repeat(1_000), ")".repeat(1_000)), None),
        (format!("SELECT {}1{}", "(1, ".repeat(1_300), ")".repeat(1_300)), None),
        (format!("SELECT {}1", "ARRAY<INT64>[1], ".repeat(900)), Some(&many)),
        (format!("SELECT {}TRUE", "NOT ".repeat(4_000)), None),
        (format!("SELECT {}1", "- ".repeat(3_900)), None),
        (format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(1_000), ")".repeat(1_000)), None),
    ] {
        let answer = database.run(&text, &[]).await;
        match expected {
            Some(expected) => assert_eq!(answer.unwrap().rows, [expected]),
            None => assert_eq!(answer.unwrap_err().code(), Code::Unimplemented, "{}", &text[..40]),
        }
    }
}
