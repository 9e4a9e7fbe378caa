//! Names of the SELECT list and of columns, in the clauses of a query.

use super::Database;

/// Rows of `user` and `seq`, and of a family with a name.
async fn database() -> Database {
    let database = Database::new();
    database.create("t", &["cf"], None).await;
    database.set("t", "a", "cf:name", 1, "x").await;
    database.set("t", "b", "cf:name", 1, "y").await;
    database
}

const ROWS: &str =
    "(SELECT * FROM UNNEST([STRUCT('ada' AS user, 'd' AS seq), ('bob', 'c'), ('ada', 'b')])) AS t";

impl Database {
    /// Checks the rows of queries of `t`, which are written `…`.
    async fn expect_of_rows(&self, queries: &[(&str, &[&str])]) {
        for (text, expected) in queries {
            let text = text.replace("FROM t", &format!("FROM {ROWS}"));
            assert_eq!(self.rows(&text).await, *expected, "{text}");
        }
    }

    async fn expect_error_of_rows(&self, queries: &[(&str, &str)]) {
        for (text, expected) in queries {
            let text = text.replace("FROM t", &format!("FROM {ROWS}"));
            let status = self.run(&text, &[]).await.expect_err(&text);
            assert_eq!(status.code(), tonic::Code::InvalidArgument, "{text}: {status}");
            assert!(status.message().contains(expected), "{text}: {status}");
        }
    }
}

#[tokio::test]
async fn names_of_the_select_list_come_before_columns() {
    let database = database().await;
    database
        .expect_of_rows(&[
            ("SELECT SUBSTR(user, 1, 1) AS user, COUNT(*) AS c FROM t GROUP BY 1 HAVING MAX(user) = 'ada'", &[]),
            ("SELECT SUBSTR(user, 1, 1) AS u, COUNT(*) AS c FROM t GROUP BY 1 HAVING MAX(u) = 'a'", &["\"a\", 2"]),
            (
                "SELECT user, SUBSTR(seq, 1, 1) AS seq FROM t GROUP BY 1, 2 ORDER BY MAX(CONCAT(seq, user))",
                &["\"ada\", \"b\"", "\"bob\", \"c\"", "\"ada\", \"d\""],
            ),
            (
                "SELECT IF(user = 'ada', 'z', 'y') AS user, COUNT(*) AS c FROM t GROUP BY 1 ORDER BY MIN(user)",
                &["\"y\", 1", "\"z\", 2"],
            ),
            (
                "SELECT seq AS user, user AS z, COUNT(*) AS c FROM t GROUP BY 1, 2 HAVING CONCAT(user, '') > 'c'",
                &["\"d\", \"ada\", 1"],
            ),
            (
                "SELECT seq AS user, user AS z FROM t ORDER BY CONCAT(user, '')",
                &["\"b\", \"ada\"", "\"c\", \"bob\"", "\"d\", \"ada\""],
            ),
            ("SELECT t.* REPLACE (CONCAT('z', seq) AS user) FROM t ORDER BY CONCAT(user, '') LIMIT 1", &["\"zb\", \"b\""]),
        ])
        .await;
    database
        .expect_error_of_rows(&[
            (
                "SELECT user, COUNT(*) AS c FROM t GROUP BY 1 HAVING MAX(c) = 1",
                "Aggregations of aggregations",
            ),
            ("SELECT LENGTH(user) AS t, seq FROM t ORDER BY t.seq", "Cannot access field seq"),
        ])
        .await;
}

#[tokio::test]
async fn expressions_of_groups_are_the_same_however_they_are_written() {
    let database = database().await;
    database
        .expect_of_rows(&[
            ("SELECT UPPER(t.user) FROM t GROUP BY UPPER(user) ORDER BY 1", &["\"ADA\"", "\"BOB\""]),
            ("SELECT UPPER(user) FROM t GROUP BY upper(`user`) ORDER BY 1", &["\"ADA\"", "\"BOB\""]),
            ("SELECT UPPER(USER) FROM t GROUP BY UPPER(user) ORDER BY 1", &["\"ADA\"", "\"BOB\""]),
            ("SELECT LENGTH(user) + 1 FROM t GROUP BY (LENGTH(user) + 1)", &["4"]),
            ("SELECT LENGTH(user) + 0x1 FROM t GROUP BY LENGTH((t.user)) + 1", &["4"]),
            (
                "SELECT CONCAT(user, \"x\") FROM t GROUP BY CONCAT(user, 'x') ORDER BY 1 LIMIT 1",
                &["\"adax\""],
            ),
        ])
        .await;
    database
        .expect(&[
            ("SELECT cf[b'name'] FROM t GROUP BY cf['name'] ORDER BY 1", &["x", "y"]),
            ("SELECT t.cf['name'] FROM t GROUP BY CF[('name')] ORDER BY 1", &["x", "y"]),
        ])
        .await;
    database
        .expect_error_of_rows(&[
            ("SELECT UPPER(seq) FROM t GROUP BY UPPER(user)", "neither grouped nor aggregated"),
            ("SELECT CONCAT(user, 'X') FROM t GROUP BY CONCAT(user, 'x')", "neither grouped nor aggregated"),
        ])
        .await;
}

#[tokio::test]
async fn aggregates_after_the_select_list_need_groups() {
    let database = database().await;
    database
        .expect_error_of_rows(&[
            ("SELECT user FROM t HAVING user = 'ada'", "The HAVING clause requires GROUP BY"),
            ("SELECT 1 FROM t HAVING COUNT(*) > 1", "The HAVING clause requires GROUP BY"),
            ("SELECT 1 FROM t ORDER BY COUNT(*)", "The ORDER BY clause only allows aggregation"),
        ])
        .await;
}

#[tokio::test]
async fn a_name_of_two_columns_is_ambiguous() {
    let database = database().await;
    database
        .expect_error_of_rows(&[
            ("SELECT user AS a, 'x' AS a, COUNT(*) FROM t GROUP BY a", "Column name a is ambiguous"),
            (
                "SELECT user AS a, 'x' AS A, COUNT(*) FROM t GROUP BY 1 HAVING a = 'ada'",
                "Column name a is ambiguous",
            ),
            ("SELECT user AS a, 'x' AS a FROM t ORDER BY UPPER(a)", "Column name a is ambiguous"),
            ("SELECT a FROM (SELECT user AS a, seq AS A FROM t)", "Column name a is ambiguous"),
        ])
        .await;
}

#[tokio::test]
async fn literals_are_neither_groups_nor_orders() {
    let database = database().await;
    database
        .expect_error_of_rows(&[
            ("SELECT user FROM t ORDER BY 'x'", "Cannot ORDER BY literal values"),
            ("SELECT user FROM t ORDER BY NULL", "Cannot ORDER BY literal values"),
            ("SELECT user FROM t ORDER BY (1.5)", "Cannot ORDER BY literal values"),
            ("SELECT user FROM t ORDER BY -1", "out of range"),
            ("SELECT user FROM t ORDER BY 0x2", "out of range"),
            ("SELECT 'c' FROM t GROUP BY 'c'", "Cannot GROUP BY literal values"),
            ("SELECT COUNT(*) FROM t GROUP BY NULL", "Cannot GROUP BY literal values"),
            ("SELECT user FROM t GROUP BY 2", "out of SELECT list range"),
        ])
        .await;
    database
        .expect_of_rows(&[
            ("SELECT user FROM t GROUP BY (0x1) ORDER BY (1)", &["\"ada\"", "\"bob\""]),
            ("SELECT COUNT(*) FROM t GROUP BY DATE '2024-01-01'", &["3"]),
        ])
        .await;
}

#[tokio::test]
async fn a_star_without_columns_is_an_error() {
    let database = database().await;
    let message = "SELECT * expands to zero columns after applying EXCEPT";
    database
        .expect_error_of_rows(&[
            ("SELECT * EXCEPT (user, seq) FROM t", message),
            ("SELECT user, t.* EXCEPT (user, seq) FROM t", message),
        ])
        .await;
}

#[tokio::test]
async fn a_name_is_of_one_relation() {
    let database = database().await;
    database
        .expect_error_of_rows(&[
            ("SELECT 1 FROM t, UNNEST([2]) AS T", "Duplicate table alias T in the same FROM clause"),
            ("SELECT 1 FROM UNNEST([1]) AS x, UNNEST([2]) AS x", "Duplicate table alias x"),
            ("SELECT 1 FROM UNNEST([1]) AS x WITH OFFSET AS x", "Duplicate table alias x"),
            (
                "SELECT 1 FROM UNNEST([1]) WITH OFFSET, UNNEST([2]) WITH OFFSET",
                "Duplicate table alias offset",
            ),
        ])
        .await;
}

#[tokio::test]
async fn what_names_could_mean_is_refused_by_name() {
    let database = database().await;
    for (query, what) in [
        ("SELECT DISTINCT _key AS u FROM t ORDER BY UPPER(_key)", "in ORDER BY of SELECT DISTINCT"),
        ("SELECT CONCAT(_key, 'x') FROM t GROUP BY CONCAT(_key, b'x')", "literals of other types"),
        ("SELECT 1 / LENGTH(_key) FROM t GROUP BY 1.0 / LENGTH(_key)", "literals of other types"),
        ("SELECT * EXCEPT (cf) FROM t GROUP BY 1", "numbers in GROUP BY with *"),
        ("SELECT * FROM t JOIN t", "JOIN"),
        ("SELECT * FROM t, t AS u", "JOIN"),
    ] {
        let status = database.run(query, &[]).await.expect_err(query);
        assert_eq!(status.code(), tonic::Code::Unimplemented, "{query}: {status}");
        assert!(status.message().contains(what), "{query}: {status}");
    }
}

#[tokio::test]
async fn a_part_of_an_expression_is_no_group() {
    let database = database().await;
    let message = "references column user which is neither grouped nor aggregated";
    database
        .expect_error_of_rows(&[
            ("SELECT UPPER(user) || 'x' FROM t GROUP BY UPPER(user)", message),
            ("SELECT 1 FROM t GROUP BY UPPER(user) HAVING UPPER(user) = 'ADA'", message),
            ("SELECT 1 FROM t GROUP BY UPPER(user) ORDER BY UPPER(user) || 'x'", message),
        ])
        .await;
    let structs = "(SELECT STRUCT(STRUCT('ada' AS a) AS inner) AS s)";
    database
        .expect_of_rows(&[
            ("SELECT COUNT(*) FROM t GROUP BY UPPER(user) ORDER BY UPPER(t.user)", &["2", "1"]),
            ("SELECT UPPER(user) AS u FROM t GROUP BY UPPER(user) HAVING u || 'x' = 'ADAx'", &["\"ADA\""]),
            (&format!("SELECT UPPER(s.inner.a) FROM {structs} GROUP BY s.inner.a"), &["\"ADA\""]),
            (&format!("SELECT UPPER(s.inner.a) FROM {structs} GROUP BY s.inner"), &["\"ADA\""]),
        ])
        .await;
}

#[tokio::test]
async fn names_of_relations_come_before_columns() {
    let database = database().await;
    let rows = ROWS.trim_end_matches("t").to_owned();
    database
        .expect(&[
            (&format!("SELECT user.seq FROM {rows} user LIMIT 1"), &["\"d\""]),
            (&format!("SELECT user FROM {ROWS}, UNNEST([1]) AS user LIMIT 1"), &["1"]),
            (
                &format!("SELECT t.user, seq FROM {ROWS}, UNNEST([1]) WITH OFFSET AS seq LIMIT 1"),
                &["\"ada\", 0"],
            ),
        ])
        .await;
    let arrays = "(SELECT [1, 2] AS a) AS x";
    let answer = database.run(&format!("SELECT a, x.a FROM {arrays}, x.a"), &[]).await.unwrap();
    assert_eq!(answer.columns, ["a INT64", "a ARRAY<INT64>"]);
    assert_eq!(answer.rows, ["1, [1, 2]", "2, [1, 2]"]);
    let status = database.run(&format!("SELECT user FROM {rows} user"), &[]).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unimplemented, "{status}");
    assert!(status.message().contains("the name `user` of a relation as a value"), "{status}");
}

#[tokio::test]
async fn a_star_may_be_of_groups() {
    let database = database().await;
    database
        .expect_of_rows(&[
            (
                "SELECT *, COUNT(*) AS c FROM t GROUP BY user, seq HAVING user = 'ada' ORDER BY MAX(seq), user",
                &["\"ada\", \"b\", 1", "\"ada\", \"d\", 1"],
            ),
            ("SELECT t.* EXCEPT (seq) FROM t GROUP BY t.user ORDER BY user", &["\"ada\"", "\"bob\""]),
        ])
        .await;
    database
        .expect_error_of_rows(&[
            ("SELECT * FROM t GROUP BY user", "column seq which is neither grouped nor aggregated"),
            (
                "SELECT user AS t FROM t GROUP BY t.user",
                "Cannot GROUP BY field references from SELECT list alias t",
            ),
        ])
        .await;
}

#[tokio::test]
async fn distinct_rows_have_the_order_of_an_expression() {
    let database = database().await;
    database
        .expect_of_rows(&[
            ("SELECT DISTINCT user AS u FROM t ORDER BY REVERSE(u)", &["\"ada\"", "\"bob\""]),
            ("SELECT DISTINCT user AS u FROM t ORDER BY UPPER(u) DESC", &["\"bob\"", "\"ada\""]),
            (
                "SELECT DISTINCT LENGTH(user) AS user, seq FROM t ORDER BY -user, CONCAT(seq, 'x')",
                &["3, \"b\"", "3, \"c\"", "3, \"d\""],
            ),
        ])
        .await;
}
