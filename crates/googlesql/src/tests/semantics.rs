//! Types, NULL, orders and groups, as GoogleSQL and the service have them.

use keyderive_proto::admin::r#type::{self as types, Kind};
use keyderive_proto::data::value;

use super::Database;

fn bytes(value: &'static str) -> (Kind, value::Kind) {
    (Kind::BytesType(types::Bytes::default()), value::Kind::BytesValue(value.into()))
}

fn text(value: &str) -> (Kind, value::Kind) {
    (Kind::StringType(types::String::default()), value::Kind::StringValue(value.to_owned()))
}

fn int(number: i64) -> (Kind, value::Kind) {
    (Kind::Int64Type(types::Int64::default()), value::Kind::IntValue(number))
}

/// Rows with sizes, labels and marks, some of which are missing.
async fn rows() -> Database {
    let database = Database::new();
    database.create("t", &["size", "labels", "mark"], None).await;
    for (key, size, label, has_mark) in [
        ("t1#p1#n#rowA", Some(100i64), Some("a,b"), true),
        ("t1#p1#n#rowB", Some(50), Some("a"), false),
        ("t1#p1#b#rowC", Some(70), None, true),
        ("t2#p1#n#rowD", Some(10), Some(""), false),
        ("t3#p1#m#rowE", None, Some("c"), true),
        ("t3#p1#n#rowF", Some(5), Some("a"), true),
    ] {
        if let Some(size) = size {
            database.set("t", key, "size:bytes", 1, size.to_be_bytes().to_vec()).await;
        }
        if let Some(label) = label {
            database.set("t", key, "labels:labels", 1, label).await;
        }
        if has_mark {
            database.set("t", key, "mark:marker", 1, "1").await;
        }
    }
    database
}

#[tokio::test]
async fn rows_come_in_the_order_of_their_keys() {
    let database = rows().await;
    let all =
        ["t1#p1#b#rowC", "t1#p1#n#rowA", "t1#p1#n#rowB", "t2#p1#n#rowD", "t3#p1#m#rowE", "t3#p1#n#rowF"];
    let reversed: Vec<&str> = all.iter().rev().copied().collect();
    database
        .expect(&[
            ("SELECT _key FROM t", &all),
            ("SELECT _key FROM t WHERE _key >= 't1' AND _key < 't4' ORDER BY _key DESC", &reversed),
            ("SELECT _key FROM t WHERE STARTS_WITH(_key, 't3')", &all[4..]),
            ("SELECT _key FROM t WHERE mark['marker'] IS NULL", &all[2..4]),
            ("SELECT _key FROM t WHERE 't2' <= _key LIMIT 2", &all[3..5]),
            (
                "SELECT _key FROM t WHERE (_key >= 't1' AND _key < 't2') OR (_key >= 't3' AND mark['marker'] IS NOT NULL AND _key < 't4')",
                &["t1#p1#b#rowC", "t1#p1#n#rowA", "t1#p1#n#rowB", "t3#p1#m#rowE", "t3#p1#n#rowF"],
            ),
            ("SELECT _key FROM t WHERE TO_INT64(size['bytes']) > 60", &all[..2]),
            ("SELECT _key FROM t WHERE NOT (TO_INT64(size['bytes']) > 60)", &["t1#p1#n#rowB", "t2#p1#n#rowD", "t3#p1#n#rowF"]),
            ("SELECT _key FROM t WHERE labels['labels'] = 'a'", &["t1#p1#n#rowB", "t3#p1#n#rowF"]),
            ("SELECT _key FROM t WHERE _key NOT IN ('t1#p1#b#rowC', 't2#p1#n#rowD') LIMIT 1 OFFSET 2", &["t3#p1#m#rowE"]),
            ("SELECT _key FROM t WHERE _key = 'nope' OR FALSE", &[]),
            ("SELECT _key FROM t WHERE _key > 't3' AND _key < 't1'", &[]),
            ("SELECT _key FROM t LIMIT 0", &[]),
            // NULL comes first, and last in descending order.
            ("SELECT _key FROM t ORDER BY TO_INT64(size['bytes']) LIMIT 2", &["t3#p1#m#rowE", "t3#p1#n#rowF"]),
            ("SELECT TO_INT64(size['bytes']) AS n FROM t ORDER BY n DESC", &["100", "70", "50", "10", "5", "NULL"]),
            ("SELECT TO_INT64(size['bytes']) FROM t ORDER BY 1 NULLS LAST LIMIT 1", &["5"]),
            ("SELECT k FROM (SELECT _key AS k FROM t WHERE _key < 't2') AS s ORDER BY k DESC LIMIT 1", &["t1#p1#n#rowB"]),
        ])
        .await;
}

#[tokio::test]
async fn a_family_without_cells_is_an_empty_map() {
    let database = rows().await;
    database
        .expect(&[
            (
                "SELECT _key, labels IS NULL AS n, ARRAY_LENGTH(MAP_KEYS(labels)) AS k, size['nope'] FROM t WHERE _key = 't1#p1#b#rowC'",
                &["t1#p1#b#rowC, false, 0, NULL"],
            ),
            ("SELECT * EXCEPT (size, mark) FROM t LIMIT 1", &["t1#p1#b#rowC, {}"]),
            ("SELECT * REPLACE (TO_INT64(size['bytes']) AS size) FROM t LIMIT 1", &["t1#p1#b#rowC, {}, {marker: 1}, 70"]),
            ("SELECT x.mark['marker'], x._KEY FROM t AS x LIMIT 1", &["1, t1#p1#b#rowC"]),
            (r"SELECT a.`x\`y`, a.`x\`y` + 0x10 FROM (SELECT 1 AS `x\`y` FROM t LIMIT 1) AS a", &["1, 17"]),
        ])
        .await;
    let answer = database
        .run("SELECT _key, 1+1, SPLIT(_key, '#')[0], labels['x'], FROM t LIMIT 1", &[])
        .await
        .unwrap();
    assert_eq!(answer.columns, ["_key BYTES", "INT64", "BYTES", "BYTES"]);
    assert_eq!(answer.rows, ["t1#p1#b#rowC, 2, t1, NULL"]);
}

#[tokio::test]
async fn groups() {
    let database = rows().await;
    database
        .expect(&[
            ("SELECT COUNT(*) AS n FROM t", &["6"]),
            ("SELECT COUNT(*) AS n, SUM(TO_INT64(size['bytes'])) AS s, MAX(_key) FROM t WHERE _key = 'nope'", &["0, NULL, NULL"]),
            ("SELECT _key, COUNT(*) AS n FROM t WHERE _key = 'nope' GROUP BY _key", &[]),
            ("SELECT SPLIT(_key, '#')[0] AS t, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1", &["t1, 3", "t2, 1", "t3, 2"]),
            ("SELECT SPLIT(_key, '#')[0] AS t, SUM(TO_INT64(size['bytes'])) AS s FROM t GROUP BY t ORDER BY s DESC", &["t1, 220", "t2, 10", "t3, 5"]),
            ("SELECT SPLIT(_key, '#')[0] AS t FROM t GROUP BY t HAVING COUNT(*) > 1 ORDER BY COUNT(*)", &["t3", "t1"]),
            ("SELECT COUNT(size['bytes']), COUNT(DISTINCT labels['labels']), COUNTIF(mark['marker'] = '1') FROM t", &["5, 4, 4"]),
            ("SELECT AVG(TO_INT64(size['bytes'])), MIN(TO_INT64(size['bytes'])), MAX(labels['labels']) FROM t", &["47.0, 5, c"]),
            ("SELECT STRING_AGG(CAST(labels['labels'] AS STRING), '|'), ARRAY_AGG(labels['labels'] IGNORE NULLS) FROM t WHERE _key < 't2'", &["\"a,b|a\", [a,b, a]"]),
            ("SELECT LOGICAL_AND(mark['marker'] = '1'), LOGICAL_OR(_key > 't3') FROM t", &["true, true"]),
            ("SELECT SPLIT(labels['labels'], b',') AS a, COUNT(*) AS n FROM t GROUP BY a", &["NULL, 1", "[a, b], 1", "[a], 2", "[], 1", "[c], 1"]),
            ("SELECT DISTINCT SPLIT(_key, '#')[2] AS p FROM t ORDER BY p", &["b", "m", "n"]),
            ("SELECT x, COUNT(*) AS n FROM t, UNNEST(SPLIT(labels['labels'], ',')) AS x GROUP BY x ORDER BY n DESC, x LIMIT 1", &["a, 3"]),
            ("SELECT COUNT(*) + 1 AS n, SUM(1) FROM t HAVING COUNT(*) > 5", &["7, 6"]),
            ("SELECT t._key AS _key, COUNT(*) AS n FROM t GROUP BY _key HAVING n = 1 ORDER BY n + 1, _key LIMIT 1", &["t1#p1#b#rowC, 1"]),
            (
                "SELECT tenant, label, COUNT(*) AS n, SUM(CASE WHEN label = '$' THEN bytes ELSE 0 END) AS bytes,
                 FROM (SELECT SPLIT(_key, '#')[0] AS tenant, TO_INT64(size['bytes']) AS bytes,
                     ARRAY_CONCAT(['$'], COALESCE(SPLIT(CAST(labels['labels'] AS STRING)), [])) AS labels, FROM t) AS expand,
                 UNNEST(expand.labels) AS label
                 GROUP BY tenant, label ORDER BY tenant, label LIMIT 3",
                &["t1, \"$\", 3, 220", "t1, \"a\", 2, 0", "t1, \"b\", 1, 0"],
            ),
        ])
        .await;
}

#[tokio::test]
async fn arrays_are_unnested_in_their_order() {
    let database = rows().await;
    let one = "FROM t, UNNEST";
    for (rest, expected) in [
        ("([3, 1, 2]) AS x WHERE _key = 't1#p1#b#rowC'", &["3", "1", "2"][..]),
        ("(['a', NULL]) AS x WHERE _key = 't1#p1#b#rowC'", &["\"a\"", "NULL"]),
        ("(CAST(NULL AS ARRAY<INT64>)) AS x", &[]),
    ] {
        assert_eq!(database.rows(&format!("SELECT x {one}{rest}")).await, expected, "{rest}");
    }
    database
        .expect(&[
            ("SELECT x, o FROM t CROSS JOIN UNNEST(['a', 'b']) AS x WITH OFFSET AS o WHERE _key = 't1#p1#b#rowC'", &["\"a\", 0", "\"b\", 1"]),
            ("SELECT x FROM t LEFT JOIN UNNEST(SPLIT(labels['labels'], ',')) AS x WHERE _key < 't1#p1#n#rowB'", &["NULL", "a", "b"]),
            ("SELECT x FROM UNNEST([1, 2]) AS x ORDER BY x DESC", &["2", "1"]),
        ])
        .await;
}

#[tokio::test]
async fn like_and_between_are_of_bytes() {
    let database = Database::new();
    database.create("t", &["f"], None).await;
    for suffix in ["", "a", "b", "ax", "_x", "é", "€", "\\", "%"] {
        database.set("t", &format!("like#{suffix}"), "f:q", 1, "1").await;
    }
    let shown = |suffix: &str| format!("like#{suffix}").as_bytes().escape_ascii().to_string();
    for (condition, expected) in [
        (r"_key LIKE 'like#_'", &["%", r"\", "a", "b"][..]),
        (r"_key LIKE b'like#__'", &["_x", "ax", "é"]),
        (r"_key LIKE 'like#___'", &["€"]),
        (r"_key LIKE '%like#_x'", &["_x", "ax"]),
        (r"_key LIKE 'like#\\_x'", &["_x"]),
        (r"_key LIKE r'like#\_x'", &["_x"]),
        (r"_key LIKE 'like#\\\\'", &[r"\"]),
        (r"_key LIKE 'like#\\%'", &["%"]),
        (r"_key LIKE 'like#\\a'", &["a"]),
        (r"_key LIKE 'LIKE#a'", &[]),
        (r"_key LIKE CAST(NULL AS BYTES)", &[]),
        (r"STARTS_WITH(_key, 'like#\u20ac') AND CAST(_key AS STRING) LIKE 'like#_'", &["€"]),
        (r"_key BETWEEN b'like#a' AND 'like#b'", &["a", "ax", "b"]),
        (r"_key BETWEEN 'like#b' AND 'like#a'", &[]),
        (r"_key BETWEEN NULL AND 'like#b'", &[]),
        // FALSE by the other bound, and NULL without it.
        (r"NOT (_key BETWEEN NULL AND 'a')", &["", "%", r"\", "_x", "a", "ax", "b", "é", "€"]),
        (r"_key NOT BETWEEN 'm' AND NULL AND _key < 'like#a'", &["", "%", r"\", "_x"]),
        (r"NOT (_key BETWEEN NULL AND 'z')", &[]),
        (r"1 NOT BETWEEN 2 AND NULL AND _key = 'like#a'", &["a"]),
        (r"_key NOT BETWEEN 'like#' AND 'like#z'", &["é", "€"]),
    ] {
        let keys = database.rows(&format!("SELECT _key FROM t WHERE {condition}")).await;
        assert_eq!(keys, expected.iter().map(|suffix| shown(suffix)).collect::<Vec<_>>(), "{condition}");
    }
    for pattern in [r"'like#\\'", r"b'like#\\'"] {
        let status =
            database.run(&format!("SELECT _key FROM t WHERE _key LIKE {pattern}"), &[]).await.unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::OutOfRange, "LIKE pattern ends with a backslash")
        );
    }
}

#[tokio::test]
async fn numbers_are_exact_or_an_error() {
    let database = Database::new();
    database
        .expect(&[
            ("SELECT ROUND(123456.0, -5), ROUND(-250000.0, -5), TRUNC(199999.0, -5), ROUND(2.5), ROUND(1.25, 1)", &["100000.0, -300000.0, 100000.0, 3.0, 1.3"]),
            ("SELECT SAFE_DIVIDE(1e308, 1e-10), SAFE_DIVIDE(1, 0), SAFE_DIVIDE(CAST('inf' AS FLOAT64), 2), IEEE_DIVIDE(1, 0)", &["NULL, NULL, inf, inf"]),
            ("SELECT LOG(CAST('inf' AS FLOAT64), 0.5), LOG(8, 2), LOG(CAST('-inf' AS FLOAT64), 2), LOG(2, CAST('inf' AS FLOAT64))", &["-inf, 3.0, NaN, NaN"]),
            ("SELECT TRUNC(1.6e308, -308), ROUND(1.6e308, -309), TRUNC(5e-324, 323), ROUND(1.1125369292536007e-308, 308)", &["1e308, 0.0, 0.0, 1e-308"]),
            ("SELECT IS_NAN(CAST('nan' AS FLOAT64)), IS_NAN(1), IS_INF(CAST('-inf' AS FLOAT32)), IS_INF(NULL)", &["true, false, true, NULL"]),
            ("SELECT LN(CAST('-inf' AS FLOAT64)), LOG10(CAST('-inf' AS FLOAT64)), LOG(2, CAST('-inf' AS FLOAT64))", &["NaN, NaN, NaN"]),
            // Of what is not finite there is no error.
            ("SELECT LOG(CAST('inf' AS FLOAT64), 1), LOG(CAST('inf' AS FLOAT64), -1), LOG(CAST('nan' AS FLOAT64), 0)", &["inf, NaN, NaN"]),
            // By the exact value, which is below the half.
            ("SELECT ROUND(2.675, 2), ROUND(1.15, 1), ROUND(0.125, 2), ROUND(-2.5), TRUNC(2.3, 1), TRUNC(0.7, 1)", &["2.67, 1.1, 0.13, -3.0, 2.2, 0.6"]),
            ("SELECT ROUND(9.995e2, 0), ROUND(-99.96, 1), TRUNC(-0.04, 1) = 0, ROUND(1234.5, -2), ROUND(5, -1), ROUND(4.9, -1)", &["1000.0, -100.0, true, 1200.0, 10.0, 0.0"]),
            // Once rounded, and not twice.
            ("SELECT CAST(CAST(18014399583223809 AS FLOAT32) AS INT64), CAST('1.000000059604644775390626' AS FLOAT32) > 1", &["18014400656965632, true"]),
            ("SELECT FROM_BASE64('YQ'), FROM_BASE64('Y Q\\n=='), FROM_BASE64('YR=='), SAFE.FROM_BASE64('YQ='), SAFE.FROM_BASE64('====')", &["a, a, a, NULL, NULL"]),
            ("SELECT REGEXP_EXTRACT('abc', 'x*', 4), REGEXP_EXTRACT('bb', 'a*', 1, 3), REGEXP_EXTRACT('', 'x*'), REGEXP_EXTRACT('abab', 'b', 3, 1)", &["NULL, NULL, \"\", \"b\""]),
            ("SELECT IEEE_DIVIDE(1, EUCLIDEAN_DISTANCE(ARRAY<FLOAT64>[], ARRAY<FLOAT64>[]))", &["inf"]),
            ("SELECT SAFE_CAST('\\t0x1f' AS INT64), SAFE_CAST('\u{a0}5' AS INT64), CAST(' 0x1f ' AS INT64), CAST('\\t5\\n' AS INT64)", &["NULL, NULL, 31, 5"]),
            ("SELECT SAFE_CAST(3.4028235e38 AS FLOAT32), STRPOS('ab\u{e9}cd', 'c'), STRPOS('abc', ''), STRPOS('abc', 'x')", &["NULL, 4, 1, 0"]),
            ("SELECT SQRT(CAST('inf' AS FLOAT64)), SQRT(CAST('nan' AS FLOAT64)), LN(CAST('inf' AS FLOAT64))", &["inf, NaN, inf"]),
            // Shifts bind looser than sums and tighter than `&`, then come `^`, `|` and comparisons.
            ("SELECT 1 << 2 + 1, 1 | 6 & 3 << 1, 7 ^ 1 | 8 ^ 8 & 8, 1 < 2 >> 1, 1 << 3 >> 1", &["8, 7, 6, false, 4"]),
            ("SELECT ~-1 + 1, -(~1), b'a' | 'b', 1 << 9223372036854775807, b'ab' << 9223372036854775807, b'ab' >> 9", &["1, 2, c, 0, \\x00\\x00, \\x000"]),
            ("SELECT ARRAY<STRUCT<a ARRAY<INT64>>>[STRUCT([1 << 1])][0].a[0] >> 1", &["1"]),
            ("SELECT ARRAY_INCLUDES([CAST('nan' AS FLOAT64), 1.0], CAST('nan' AS FLOAT64)), ARRAY_INCLUDES([1.0, NULL], 1.0)", &["false, true"]),
        ])
        .await;
    let answer = database
        .run("SELECT FLOOR(x), CEIL(x), ROUND(x), TRUNC(x, 1), ABS(x), IEEE_DIVIDE(x, x), SQRT(x), x + x FROM UNNEST([CAST(1.5 AS FLOAT32)]) AS x", &[])
        .await
        .unwrap();
    assert_eq!(answer.columns[..6], ["FLOAT32"; 6]);
    assert_eq!(answer.columns[6..], ["FLOAT64"; 2]);
    for query in ["SQRT(CAST('-inf' AS FLOAT64))", "LN(0)", "LOG(2, -1)", "LOG10(-1)", "POW(-1, 0.5)"] {
        let status = database.run(&format!("SELECT {query}"), &[]).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::OutOfRange, "{query}");
        assert!(
            status.message().starts_with("Floating point error in function: "),
            "{query}: {}",
            status.message()
        );
    }
}

#[tokio::test]
async fn the_type_of_an_array_or_a_struct_decides_over_its_values() {
    let database = Database::new();
    database
        .expect_values(&[
            ("ARRAY<INT64>[1, 2], ARRAY<FLOAT64>[1, 2.5][0], ARRAY<BYTES>['a', NULL], ARRAY<DATE>['2024-02-29']", "[1, 2], 1.0, [a, NULL], [2024-2-29]"),
            ("ARRAY<STRUCT<a INT64, b ARRAY<FLOAT64>>>[(STRUCT(1 AS x, [2.5] AS y))], ARRAY<INT64>[ARRAY<INT64>[3, 4][1]]", "[(1, [2.5])], [4]"),
            ("STRUCT<a FLOAT64, BYTES>(1, 'x'), STRUCT<a INT64>(7).a, CAST(STRUCT(1 AS b) AS STRUCT<a INT64>).a", "(1.0, x), 7, 1"),
            ("(1, 'a'), (1, STRUCT(2 AS b))", "(1, \"a\"), (1, (2))"),
            ("IF(TRUE, [1, 2], [1.5]), ARRAY_CONCAT([1, NULL], [1.5]), 'x' IN UNNEST([])", "[1.0, 2.0], [1.0, NULL, 1.5], false"),
        ])
        .await;
    for (query, message) in [
        ("ARRAY<INT64>['1']", "an expression of type STRING does not coerce to INT64 [at 1:21]"),
        ("STRUCT<a INT64>(1, 2)", "another number of values than its type"),
        ("ARRAY<ARRAY<INT64>>[]", "Arrays of arrays are not supported"),
    ] {
        let status = database.run(&format!("SELECT {query}"), &[]).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{query}");
        assert!(status.message().contains(message), "{query}: {status}");
    }
}

#[tokio::test]
async fn fields_of_unnested_structs_are_columns() {
    let database = Database::new();
    let array = "[STRUCT(1 AS a, 'x' AS b), STRUCT(2, 'y')]";
    database
        .expect(&[
            (&format!("SELECT * FROM UNNEST({array})"), &["1, \"x\"", "2, \"y\""]),
            (
                &format!("SELECT * FROM UNNEST({array}) AS s WITH OFFSET AS o"),
                &["1, \"x\", 0", "2, \"y\", 1"],
            ),
            (
                &format!("SELECT s.*, a, s.b, s FROM UNNEST({array}) AS s WHERE a > 1"),
                &["2, \"y\", 2, \"y\", (2, \"y\")"],
            ),
            (
                &format!("SELECT t.b FROM (SELECT * FROM UNNEST({array})) AS t ORDER BY a DESC"),
                &["\"y\"", "\"x\""],
            ),
            (&format!("SELECT a, a.a FROM UNNEST({array}) AS a"), &["(1, \"x\"), 1", "(2, \"y\"), 2"]),
            (&format!("SELECT s.a, b, COUNT(*) FROM UNNEST({array}) AS s, UNNEST([7, 8]) GROUP BY a, s.b"), &["1, \"x\", 2", "2, \"y\", 2"]),
            (&format!("SELECT s.a, s.b FROM UNNEST({array}) AS s GROUP BY s HAVING s.a > 1"), &["2, \"y\""]),
            (&format!("SELECT * FROM UNNEST([1, 2]) AS x LEFT JOIN UNNEST(IF(x = 1, {array}, [])) WHERE a IS NULL"), &["2, NULL, NULL"]),
            (&format!("SELECT COUNT(*), SUM(a) FROM UNNEST({array}), UNNEST([1, 2])"), &["4, 6"]),
        ])
        .await;
    let answer = database.run(&format!("SELECT * FROM UNNEST({array}) AS s"), &[]).await.unwrap();
    assert_eq!(answer.columns, ["a INT64", "b STRING"]);
}

#[tokio::test]
async fn parameters_have_their_types() {
    let database = rows().await;
    let run =
        async |text: &str, (of, value): (Kind, value::Kind)| database.run(text, &[("p", of, value)]).await;
    let keys = async |text: &str, parameter| {
        run(&format!("SELECT _key FROM t WHERE {text}"), parameter).await.unwrap().rows
    };
    assert_eq!(keys("_key = @p", bytes("t1#p1#n#rowA")).await, ["t1#p1#n#rowA"]);
    assert_eq!(keys("_key = @P", bytes("t1#p1#n#rowA")).await, ["t1#p1#n#rowA"]);
    assert_eq!(keys("CAST(_key AS STRING) = @p", text("t1#p1#n#rowA")).await, ["t1#p1#n#rowA"]);
    assert_eq!(keys("_key LIKE @p", bytes("t1%A")).await, ["t1#p1#n#rowA"]);
    assert_eq!(keys("TRUE LIMIT @p", int(1)).await, ["t1#p1#b#rowC"]);
    let list = types::Array {
        element_type: Some(Box::new(keyderive_proto::admin::Type { kind: Some(bytes("").0) })),
    };
    let values = ["t2#p1#n#rowD", "x"]
        .map(|key| keyderive_proto::data::Value { r#type: None, kind: Some(bytes(key).1) });
    let list = (
        Kind::ArrayType(Box::new(list)),
        value::Kind::ArrayValue(keyderive_proto::data::ArrayValue { values: values.into() }),
    );
    assert_eq!(keys("_key IN UNNEST(@p)", list).await, ["t2#p1#n#rowD"]);
    let at = |seconds| {
        let time = keyderive_proto::values::Timestamp { seconds, nanos: 0 };
        (Kind::TimestampType(types::Timestamp::default()), value::Kind::TimestampValue(time))
    };
    assert_eq!(run("SELECT COUNT(*) FROM t(as_of => @p)", at(1)).await.unwrap().rows, ["6"]);
    assert_eq!(run("SELECT COUNT(*) FROM t(as_of => @p)", at(0)).await.unwrap().rows, ["0"]);
    assert_eq!(run("SELECT @p + 1, @p IS NULL", int(41)).await.unwrap().rows, ["42, false"]);
    for (query, parameter, message) in [
        (
            "SELECT _key FROM t WHERE _key = @p",
            text("a"),
            "No matching signature for operator = for argument types: BYTES, STRING",
        ),
        ("SELECT @q", int(1), "Query parameter 'q' not found"),
        ("SELECT _key FROM t LIMIT @p", text("1"), "LIMIT and OFFSET take a literal or a parameter of INT64"),
    ] {
        let status = run(query, parameter).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert!(status.message().starts_with(message), "{status}");
    }
}

#[tokio::test]
async fn values_of_expressions() {
    let database = Database::new();
    database
        .expect_values(&[
            // Three-valued logic.
            ("NULL AND FALSE, NULL OR TRUE, NULL AND TRUE, NOT CAST(NULL AS BOOL)", "false, true, NULL, NULL"),
            ("1 IN (2, NULL), 1 IN (1, NULL), NULL IN (1), 1 NOT IN (2)", "NULL, true, NULL, true"),
            ("1 = NULLIF(1, 1), NULL IS NULL, 1 IS NOT NULL, (1 = NULLIF(1, 1)) IS TRUE, (1 = 2) IS FALSE", "NULL, true, true, false, true"),
            // Numbers.
            ("1 + 2 * 3, 7 / 2, DIV(7, 2), MOD(-7, 2), -5, 2 - 3 - 4", "7, 3.5, 3, -1, -5, -5"),
            ("1 < 1.5, 1.5 + 1, CAST(2.5 AS INT64), CAST(-2.5 AS INT64), ROUND(2.345, 2)", "true, 2.5, 3, -3, 2.35"),
            ("CAST(1 AS FLOAT64), CAST('0x1F' AS INT64), CAST(' 12 ' AS INT64), SAFE_CAST('x' AS INT64)", "1.0, 31, 12, NULL"),
            ("CAST(1.0 AS STRING), CAST(1e20 AS STRING), CAST(0.1 AS STRING)", "\"1\", \"1e+20\", \"0.1\""),
            ("CAST(-0.0 AS STRING), CAST(CAST('-nan' AS FLOAT64) AS STRING), CAST(CAST('-inf' AS FLOAT64) AS STRING)", "\"0\", \"nan\", \"-inf\""),
            ("CAST(1e14 AS STRING), CAST(1e15 AS STRING), CAST(0.0001 AS STRING), CAST(0.00001 AS STRING)", "\"100000000000000\", \"1e+15\", \"0.0001\", \"1e-05\""),
            // As many digits as `%.17g` of C has, if 15 are too few.
            ("CAST(1 / 3 AS STRING), CAST(0.1 + 0.2 AS STRING), CAST(-1234567890123456.0 AS STRING)", "\"0.33333333333333331\", \"0.30000000000000004\", \"-1234567890123456\""),
            ("CAST(CAST(0.1 AS FLOAT32) AS STRING), CAST(CAST(1e6 AS FLOAT32) AS STRING), CAST(CAST(16777217.0 AS FLOAT32) AS STRING)", "\"0.1\", \"1e+06\", \"16777216\""),
            ("CAST('TRUE' AS BOOL), CAST('False' AS BOOL), SAFE_CAST('t' AS BOOL)", "true, false, NULL"),
            ("ROUND(123.0, -400), TRUNC(123.0, -400), ROUND(-155.0, -1), ROUND(1.5, 400), TRUNC(-1.59, 1)", "0.0, 0.0, -160.0, 1.5, -1.5"),
            ("SAFE_DIVIDE(1, 0), GREATEST(1, 3, 2), LEAST(1, NULL), ABS(-3), SIGN(-2.5)", "NULL, 3, NULL, 3, -1.0"),
            ("-9223372036854775808, SQRT(4), POW(2, 10), FLOOR(1.5), CEIL(1.5)", "-9223372036854775808, 2.0, 1024.0, 1.0, 2.0"),
            // Texts and bytes.
            ("'a' || 'b', b'a' || 'b', CONCAT('a', 'b', 'c'), 'a' < 'b'", "\"ab\", ab, \"abc\", true"),
            ("SUBSTR('apple', 2), SUBSTR('apple', 2, 2), SUBSTR('apple', -2), SUBSTR(b'apple', 0, 2)", "\"pple\", \"pp\", \"le\", ap"),
            ("LENGTH('é'), LENGTH(b'\\xc3\\xa9'), BYTE_LENGTH('é'), UPPER('é'), REVERSE('ab')", "1, 2, 2, \"É\", \"ba\""),
            ("SPLIT('a,b'), SPLIT(b'a##b', b'#'), SPLIT('', ','), SPLIT('ab', '')", "[\"a\", \"b\"], [a, , b], [\"\"], [\"a\", \"b\"]"),
            ("SPLIT('', ''), ARRAY_LENGTH(SPLIT(b'', b''))", "[\"\"], 1"),
            ("TRIM('  a '), LTRIM('xxa', 'x'), RTRIM('a#', '#'), REPLACE('aXa', 'a', 'b')", "\"a\", \"a\", \"a\", \"bXb\""),
            ("LPAD('7', 3, '0'), RPAD('ab', 1), STRPOS('banana', 'nan'), LEFT('abc', 2), RIGHT('abc', 2)", "\"007\", \"a\", 3, \"ab\", \"bc\""),
            ("STARTS_WITH('abc', 'ab'), ENDS_WITH(b'abc', 'c'), TO_HEX(b'\\xff\\x00'), FROM_HEX('ff0')", "true, true, \"ff00\", \\x0f\\xf0"),
            ("REGEXP_CONTAINS('a1', r'\\d'), REGEXP_EXTRACT('key=7', r'=(\\d)'), REGEXP_REPLACE('abc', 'b(.)', r'<\\1>')", "true, \"7\", \"a<c>\""),
            (r"TO_FLOAT32(b'\x3f\xc0\x00\x00'), TO_VECTOR64(b'\x3f\xf0\x00\x00\x00\x00\x00\x00'), TO_VECTOR32(b'')", "1.5, [1.0], []"),
            (r"SAFE_CONVERT_BYTES_TO_STRING(b'a\xe2\x82(')", "\"a\u{fffd}\u{fffd}(\""),
            ("FARM_FINGERPRINT('1footrue'), FARM_FINGERPRINT(b'1footrue')", "-1541654101129638711, -1541654101129638711"),
            // Conditions.
            ("IF(TRUE, 1, 2.5), IFNULL(NULL, 'x'), COALESCE(NULL, b'z', 'y'), NULLIF(1, 1), NULLIF(1, 2)", "1.0, \"x\", z, NULL, 1"),
            ("CASE WHEN NULL THEN 1 END, CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "NULL, \"b\""),
            // Arrays and structs.
            ("[1, 2][0], [1, 2][OFFSET(1)], [1, 2][ORDINAL(1)], [1][SAFE_OFFSET(5)], ['a'][SAFE_ORDINAL(0)]", "1, 2, 1, NULL, NULL"),
            ("[], [1, 2.5], ARRAY_LENGTH([NULL]), ARRAY_CONCAT([1], [], [2]), ARRAY_REVERSE([1, 2])", "[], [1.0, 2.5], 1, [1, 2], [2, 1]"),
            ("STRUCT(1 AS a, 'x' AS b), STRUCT(1 AS a, 'x' AS b).b, 2 IN UNNEST([1, 2])", "(1, \"x\"), \"x\", true"),
            // Times.
            ("TIMESTAMP '2024-02-29 12:00:00+02', DATE '2024-02-29', DATE(2024, 2, 29)", "@1709200800, 2024-2-29, 2024-2-29"),
            ("TIMESTAMP_ADD(TIMESTAMP_SECONDS(0), INTERVAL 90 MINUTE), TIMESTAMP_SUB(TIMESTAMP_SECONDS(0), INTERVAL 1 DAY)", "@5400, @-86400"),
            ("DATE_ADD(DATE '2024-01-31', INTERVAL 1 MONTH), DATE_DIFF(DATE '2024-03-01', DATE '2024-02-01', DAY)", "2024-2-29, 29"),
            ("TIMESTAMP_DIFF(TIMESTAMP_SECONDS(90), TIMESTAMP_SECONDS(0), MINUTE), UNIX_MILLIS(TIMESTAMP_MICROS(1500))", "1, 1"),
            ("EXTRACT(YEAR FROM DATE '2024-02-29'), EXTRACT(DAYOFWEEK FROM TIMESTAMP_SECONDS(0)), EXTRACT(DATE FROM TIMESTAMP_SECONDS(0))", "2024, 5, 1970-1-1"),
            ("DATE_TRUNC(DATE '2024-02-29', MONTH), TIMESTAMP_TRUNC(TIMESTAMP_SECONDS(100), MINUTE)", "2024-2-1, @60"),
            ("DATE '2024-02-28' + 2, 1 + DATE '2024-02-28', DATE '2024-03-01' - 1", "2024-3-1, 2024-2-29, 2024-2-29"),
            ("TIMESTAMP_FROM_UNIX_SECONDS(1), TIMESTAMP_FROM_UNIX_MILLIS(TIMESTAMP_SECONDS(2)), TIMESTAMP_FROM_UNIX_MICROS(3000000)", "@1, @2, @3"),
            ("CURRENT_DATE('+00') = CURRENT_DATE(), CURRENT_DATE(CAST(NULL AS STRING))", "true, NULL"),
            ("STRING(TIMESTAMP_MILLIS(1500)), FORMAT_DATE('%d/%m/%y', DATE '2024-02-29'), CAST(TIMESTAMP_SECONDS(0) AS DATE)", "\"1970-01-01 00:00:01.500+00\", \"29/02/24\", 1970-1-1"),
            ("FORMAT_TIMESTAMP('%A %e %B %j %I%p %E3S', TIMESTAMP_MILLIS(1500)), PARSE_DATE('%F', '2024-02-29')", "\"Thursday  1 January 001 12AM 01.500\", 2024-2-29"),
            ("SAFE.SUBSTR('a', 1, -1), SAFE.TO_INT64(b'x'), b'a' IN UNNEST(['a', 'b'])", "NULL, NULL, true"),
        ])
        .await;
}

#[tokio::test]
async fn regular_expressions_are_those_of_re2() {
    Database::new()
        .expect_values(&[
            // The classes of Perl are ASCII, and the rest matches characters.
            (r"REGEXP_CONTAINS('é1', r'^.\d$'), REGEXP_CONTAINS('é', r'^\S$'), REGEXP_CONTAINS('é', r'^[\W]$')", "true, true, true"),
            (r"REGEXP_CONTAINS('٣', r'\d'), REGEXP_CONTAINS('é', r'\w'), REGEXP_CONTAINS('aé', r'^a\bé$')", "false, false, true"),
            (r"REGEXP_CONTAINS('É', '(?i)é'), REGEXP_CONTAINS('éA', '(?i)^.a$')", "true, true"),
            (r"REGEXP_REPLACE('aé1', r'[^a]\d', ''), REGEXP_EXTRACT('xé9', r'(?P<n>.\d)')", r#""a", "é9""#),
            (r"REGEXP_CONTAINS('€', r'^\x{20ac}$'), REGEXP_CONTAINS('é', r'^[\x{e0}-\x{ef}]$'), REGEXP_CONTAINS('é', r'^\351$')", "true, true, true"),
            // BYTES match byte for byte.
            (r"REGEXP_CONTAINS(b'é', '^.$'), REGEXP_CONTAINS(b'é', '^..$'), REGEXP_CONTAINS(b'\xff', b'^\xff$')", "false, true, true"),
            (r"REGEXP_REPLACE(b'a\xff', b'\xff', b'\\0\\0')", r"a\xff\xff"),
            // RE2 has no operators in classes.
            ("REGEXP_CONTAINS('&', '[a&&b]'), REGEXP_CONTAINS('~', '[a~~b]'), REGEXP_CONTAINS('a', '[a&&b]'), REGEXP_CONTAINS('[', '[a[]')", "true, true, true, true"),
            // Empty matches are between characters, and none follows another match.
            ("REGEXP_REPLACE('éa', 'x*', '-'), REGEXP_REPLACE('éa', 'a*', '-'), REGEXP_REPLACE('', '^', '-')", r#""-é-a-", "-é-", "-""#),
            (r"REGEXP_EXTRACT('a1b22', r'\d+', 3), REGEXP_EXTRACT('a1b22', r'\d', 1, 3), REGEXP_SUBSTR(b'éa', b'.', 3), REGEXP_EXTRACT('a', 'a', 3)", r#""22", "2", a, NULL"#),
            ("SAFE.REGEXP_CONTAINS('a', '('), SAFE.REGEXP_REPLACE('a', '(', ''), SAFE.REGEXP_EXTRACT('a', 'a', 0)", "NULL, NULL, NULL"),
            (r"REGEXP_REPLACE('ab$1', r'(a)(x)?', r'\2\1\0\\')", r#""aa\\b$1""#),
        ])
        .await;
}

/// A NaN is the least and the greatest of its numbers, wherever it comes.
#[tokio::test]
async fn extremes_of_nan_are_nan() {
    let database = Database::new();
    let nan = "CAST('nan' AS FLOAT64)";
    for list in [format!("{nan}, 1.0, 2.0"), format!("1.0, {nan}, 2.0"), format!("2.0, 1.0, {nan}")] {
        database
            .expect(&[
                (&format!("SELECT GREATEST({list}), LEAST({list})"), &["NaN, NaN"]),
                (&format!("SELECT MAX(x), MIN(x) FROM UNNEST([{list}, NULL]) AS x"), &["NaN, NaN"]),
            ])
            .await;
    }
    database
        .expect(&[
            ("SELECT MAX(x), MIN(x) FROM UNNEST([2, NULL, 3, 1]) AS x", &["3, 1"]),
            ("SELECT MAX(x), MIN(x) FROM UNNEST(['b', 'c', 'a']) AS x", &["\"c\", \"a\""]),
        ])
        .await;
}

#[tokio::test]
async fn the_time_is_that_of_the_server() {
    let database = Database::new();
    database.bigtable.set_time(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400));
    database.expect_values(&[("CURRENT_TIMESTAMP(), CURRENT_DATE()", "@86400, 1970-1-2")]).await;
}

/// Conditions read some intervals of a table, and all rows of a subquery: the result is the same.
#[tokio::test]
async fn a_condition_that_seeks_loses_no_row() {
    let database = Database::new();
    database.create("t", &["f"], None).await;
    const KEYS: [&str; 8] = ["a", "a%", "aa", "ab", "b", "ba", "c", "ca"];
    for key in KEYS {
        database.set("t", key, "f:q", 1, key).await;
    }
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let condition = condition(&mut random, 3);
        let seeking = database.rows(&format!("SELECT _key FROM t WHERE {condition}")).await;
        let scanning = database.rows(&format!("SELECT _key FROM (SELECT * FROM t) WHERE {condition}")).await;
        assert_eq!(seeking, scanning, "{condition}");
    }
}

fn condition(random: &mut fastrand::Rng, depth: usize) -> String {
    let key = ["a", "a%", "aa", "ab", "b", "ba", "c", "d", ""][random.usize(..9)];
    let operator = ["=", "<", "<=", ">", ">=", "!="][random.usize(..6)];
    match random.usize(..if depth == 0 { 7 } else { 10 }) {
        0 | 1 => format!("_key {operator} '{key}'"),
        2 => format!("'{key}' {operator} _key"),
        3 => format!("_key IN ('{key}', 'b', NULL)"),
        4 => format!("STARTS_WITH(_key, '{key}')"),
        5 => format!("_key LIKE '{key}{}'", ["", "%", "_", "\\\\%"][random.usize(..4)]),
        6 => ["f['q'] > 'aa'", "CAST(NULL AS BOOL)", "TRUE", "_key BETWEEN 'a' AND 'b'"][random.usize(..4)]
            .to_owned(),
        7 => format!("NOT ({})", condition(random, depth - 1)),
        join => {
            let word = if join == 8 { "AND" } else { "OR" };
            format!("({}) {word} ({})", condition(random, depth - 1), condition(random, depth - 1))
        }
    }
}
