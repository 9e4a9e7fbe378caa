use crate::RowKey;

#[derive(RowKey)]
#[row_key(tag = "EVENT")]
#[salt(range = 4, over = "user_id,site")]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
    #[pad(6)]
    seq: u32,
    level: i16,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, over = "user_id")]
struct OrderedKey {
    user_id: String,
    #[row_key(desc)]
    rank: u32,
    blob: Vec<u8>,
}

#[derive(RowKey)]
struct PaddedKey {
    #[pad(6)]
    exchange: String,
}

#[test]
fn text_is_declared_as_strings() {
    let schema = EventKey::SCHEMA.row_key_schema().unwrap();
    let column = |name: &str| {
        format!(r#"{{"fieldName":"{name}","type":{{"stringType":{{"encoding":{{"utf8Bytes":{{}}}}}}}}}}"#)
    };
    let columns = ["tag", "salt", "user_id", "site", "at", "seq", "level"].map(column).join(",");
    let expected =
        format!(r#"{{"fields":[{columns}],"encoding":{{"delimitedBytes":{{"delimiter":"Iw=="}}}}}}"#);
    assert_eq!(schema.to_json(), expected);
    assert!(schema.to_yaml().starts_with(
        "fields:\n- fieldName: tag\n  type:\n    stringType:\n      encoding:\n        utf8Bytes: {}\n"
    ));
    assert!(schema.to_yaml().ends_with("encoding:\n  delimitedBytes:\n    delimiter: Iw==\n"));
}

#[test]
fn the_ordered_layout_is_declared_by_type() {
    let json = OrderedKey::SCHEMA.row_key_schema().unwrap().to_json();
    for (name, kind) in [
        ("salt", r#""int64Type":{"encoding":{"orderedCodeBytes":{}}}"#),
        ("user_id", r#""stringType":{"encoding":{"utf8Bytes":{}}}"#),
        ("rank", r#""int64Type":{"encoding":{"orderedCodeBytes":{}}}"#),
        ("blob", r#""bytesType":{"encoding":{"raw":{}}}"#),
    ] {
        assert!(json.contains(&format!(r#"{{"fieldName":"{name}","type":{{{kind}}}}}"#)), "{name}: {json}");
    }
    assert!(json.ends_with(r#""encoding":{"orderedCodeBytes":{}}}"#));
}

#[test]
fn space_padded_strings_cannot_be_declared() {
    let error = PaddedKey::SCHEMA.row_key_schema().unwrap_err();
    assert_eq!(
        error.to_string(),
        "field `exchange` of `PaddedKey` can hold a space (0x20), and a delimited row key schema takes no byte \
         at or below its delimiter `#` (0x23)"
    );
}

#[derive(RowKey)]
#[row_key(tag = "EVENT")]
#[salt(range = 4, after = "user_id")]
struct MiddleKey {
    user_id: String,
    site: String,
}

#[derive(RowKey)]
#[row_key(tag = "EVENT")]
#[salt(range = 4, sep = "-")]
struct SeparatedKey {
    user_id: String,
}

#[derive(RowKey)]
#[salt(range = 4, hash = "java")]
struct JavaKey {
    user_id: String,
}

#[derive(RowKey)]
#[row_key(delimiter = '-')]
#[salt(range = 4, hash = "java")]
struct DashedJavaKey {
    user_id: String,
}

#[test]
fn the_salt_is_declared_where_it_stands_or_not_at_all() {
    let json = MiddleKey::SCHEMA.row_key_schema().unwrap().to_json();
    let places = ["\"tag\"", "\"user_id\"", "\"salt\"", "\"site\""].map(|name| json.find(name).unwrap());
    assert!(places.is_sorted(), "{json}");
    let error = SeparatedKey::SCHEMA.row_key_schema().unwrap_err().to_string();
    assert!(error.contains("the salt of `SeparatedKey` ends with `-`"), "{error}");
    assert!(JavaKey::SCHEMA.row_key_schema().is_ok());
    assert!(JavaKey::SCHEMA.sql().unwrap_err().to_string().contains("String.hashCode"));
    let error = DashedJavaKey::SCHEMA.row_key_schema().unwrap_err().to_string();
    assert!(error.contains("the salt of `DashedJavaKey` can hold `-`"), "{error}");
}

#[test]
fn expressions_over_the_columns() {
    let sql = EventKey::SCHEMA.sql().unwrap();
    assert_eq!(sql.salt(), Some("MOD(MOD(FARM_FINGERPRINT(CONCAT(`user_id`, '#', `site`)), 4) + 4, 4)"));
    assert_eq!(sql.field("user_id"), Some("`user_id`"));
    assert_eq!(sql.field("at"), Some("CAST(NUMERIC '9223372036854775807' - CAST(`at` AS NUMERIC) AS INT64)"));
    assert_eq!(sql.field("seq"), Some("CAST(`seq` AS INT64)"));
    assert_eq!(
        sql.field("level"),
        Some(
            "IF(STARTS_WITH(`level`, '-'), CAST(CAST(SUBSTR(`level`, 2) AS NUMERIC) - NUMERIC '100000' AS INT64), \
             CAST(`level` AS INT64))"
        )
    );
    let sql = OrderedKey::SCHEMA.sql().unwrap();
    assert_eq!(sql.field("rank"), Some("-1 - `rank`"));
    assert!(sql.salt().is_some_and(|salt| salt.contains("REPLACE(CAST(`user_id` AS BYTES)")));
}
#[derive(RowKey)]
#[row_key(delimiter = '\'')]
#[salt(range = 4)]
struct QuotedKey {
    user_id: String,
    site: String,
}

#[derive(RowKey)]
struct NamedKey {
    #[row_key(name = "a\"b")]
    user_id: String,
}

#[test]
fn names_and_delimiters_do_not_end_a_literal() {
    let sql = QuotedKey::SCHEMA.sql().unwrap();
    assert!(sql.salt().unwrap().contains(r"CONCAT(`user_id`, '\x27', `site`)"), "{sql}");
    assert!(NamedKey::SCHEMA.row_key_schema().unwrap_err().to_string().contains("letters, digits and `_`"));
}

#[cfg(feature = "chrono")]
mod times {
    use std::time::SystemTime;

    use chrono::NaiveDate;

    use super::*;

    #[derive(RowKey)]
    struct TextKey {
        user_id: String,
        day: NaiveDate,
        #[row_key(desc)]
        last_day: NaiveDate,
        #[reverse_ts]
        #[row_key(ts(unit = "millis"))]
        at: SystemTime,
        #[row_key(ts(format = "datetime17"))]
        begin: SystemTime,
        hash: [u8; 4],
    }

    #[derive(RowKey)]
    #[row_key(layout = "ordered")]
    struct OrderedKey {
        user_id: String,
        day: NaiveDate,
        #[row_key(desc)]
        last_day: NaiveDate,
        #[reverse_ts]
        at: SystemTime,
        #[row_key(ts(unit = "nanos"))]
        begin: SystemTime,
    }

    #[test]
    fn of_text() {
        let sql = TextKey::SCHEMA.sql().unwrap();
        for (field, expression) in [
            ("day", "PARSE_DATE('%Y%m%d', `day`)"),
            (
                "last_day",
                "PARSE_DATE('%Y%m%d', LPAD(CAST(CAST(NUMERIC '99999999' - CAST(`last_day` AS NUMERIC) AS INT64) \
                 AS STRING), 8, '0'))",
            ),
            ("at", "TIMESTAMP_MILLIS(CAST(NUMERIC '9223372036854775807' - CAST(`at` AS NUMERIC) AS INT64))"),
            (
                "begin",
                "TIMESTAMP_ADD(PARSE_TIMESTAMP('%Y%m%d%H%M%S', SUBSTR(`begin`, 1, 14)), \
                 INTERVAL CAST(SUBSTR(`begin`, 15) AS INT64) MILLISECOND)",
            ),
            ("hash", "FROM_HEX(`hash`)"),
        ] {
            assert_eq!(sql.field(field), Some(expression));
        }
    }

    #[test]
    fn of_the_ordered_layout() {
        let json = OrderedKey::SCHEMA.row_key_schema().unwrap().to_json();
        assert_eq!(
            json.matches(r#"{"int64Type":{"encoding":{"orderedCodeBytes":{}}}}"#).count(),
            4,
            "{json}"
        );
        let sql = OrderedKey::SCHEMA.sql().unwrap();
        for (field, expression) in [
            ("day", "PARSE_DATE('%Y%m%d', LPAD(CAST(`day` AS STRING), 8, '0'))"),
            ("last_day", "PARSE_DATE('%Y%m%d', LPAD(CAST(-1 - `last_day` AS STRING), 8, '0'))"),
            ("at", "TIMESTAMP_MICROS(CAST(NUMERIC '9223372036854775807' - `at` AS INT64))"),
            ("begin", "TIMESTAMP_MICROS(DIV(`begin` - MOD(MOD(`begin`, 1000) + 1000, 1000), 1000))"),
        ] {
            assert_eq!(sql.field(field), Some(expression));
        }
    }
}

#[derive(RowKey)]
struct SpreadKey {
    #[row_key(bit_reverse)]
    id: u32,
}

#[test]
fn what_sql_cannot_undo_is_named() {
    let error = SpreadKey::SCHEMA.sql().unwrap_err().to_string();
    assert!(error.contains("field `id` of `SpreadKey` has its bits reversed"), "{error}");
}
