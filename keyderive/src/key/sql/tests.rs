mod numbers;

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
         at or below its delimiter `#` (0x23); choose a delimiter below a space (0x20) for a new table, or \
         `layout = \"ordered\"`"
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
    assert_eq!(sql.field("at"), Some("9223372036854775807 - CAST(`at` AS INT64)"));
    assert_eq!(sql.field("seq"), Some("CAST(`seq` AS INT64)"));
    assert_eq!(
        sql.field("level"),
        Some(
            "IF(STARTS_WITH(`level`, '-'), CAST(SUBSTR(`level`, 2) AS INT64) - 100000, CAST(`level` AS INT64))"
        )
    );
    let sql = OrderedKey::SCHEMA.sql().unwrap();
    assert_eq!(sql.field("rank"), Some("-1 - `rank`"));
    assert!(sql.salt().is_some_and(|salt| salt.contains("REPLACE(CAST(`user_id` AS BYTES)")));
}

#[derive(RowKey)]
struct FlagKey {
    open: bool,
    #[row_key(desc)]
    ok: bool,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct OrderedFlagKey {
    open: bool,
    #[row_key(desc)]
    ok: bool,
}

/// As they are stored: `true` as 1, with the greatest first as 0 and as the Int64 of -2.
#[test]
fn flags_are_bool_in_each_layout() {
    let sql = FlagKey::sql().unwrap();
    assert_eq!(FlagKey { open: true, ok: true }.encode().unwrap(), b"1#0");
    assert_eq!((sql.field("open"), sql.field("ok")), (Some("`open` = '1'"), Some("`ok` = '0'")));
    let sql = OrderedFlagKey::sql().unwrap();
    assert_eq!(OrderedFlagKey { open: true, ok: true }.encode().unwrap(), b"\x81\x00\x01\x7e");
    assert_eq!((sql.field("open"), sql.field("ok")), (Some("`open` = 1"), Some("`ok` = -2")));
}

#[derive(RowKey)]
#[row_key(delimiter = '\t')]
struct TextKey {
    #[pad(6)]
    exchange: String,
    #[row_key(escape)]
    note: String,
}

/// Runs the innermost of nested `REPLACE`s first, as SQL does.
fn replaced(expression: &str, text: &str) -> String {
    let Some(call) = expression.strip_prefix("REPLACE(").and_then(|call| call.strip_suffix("')")) else {
        return text.to_owned();
    };
    let (inner, pair) = call.split_at(call.rfind(", '%").unwrap());
    let (from, to) = pair.strip_prefix(", '").unwrap().split_once("', '\\x").unwrap();
    let to = char::from(u8::from_str_radix(to, 16).unwrap());
    replaced(inner, text).replace(from, &to.to_string())
}

#[test]
fn text_is_without_padding_and_escapes() {
    let sql = TextKey::sql().unwrap();
    assert_eq!(sql.field("exchange"), Some("RTRIM(`exchange`, ' ')"));
    let expression = sql.field("note").unwrap();
    assert!(expression.contains(r"REPLACE(`note`, '%00', '\x00')"), "{expression}");
    for note in ["", "50%", "%23", "%2523", "a b#c\0\t%\"$", "%%25%"] {
        let key = TextKey { exchange: "NYSE".into(), note: note.into() }.to_text().unwrap();
        assert_eq!(replaced(expression, key.strip_prefix("NYSE  \t").unwrap()), note);
    }
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, over(blob, salt))]
struct BlobKey {
    blob: Vec<u8>,
    salt: String,
}

#[test]
fn bytes_are_compared_with_bytes() {
    let sql = BlobKey::sql().unwrap();
    let salt = sql.salt().unwrap();
    assert!(salt.contains(r"IF(`blob` = b'', b'\x00\x00', REPLACE(`blob`, b'\x00', b'\x00\xff'))"), "{salt}");
    assert!(salt.contains(r"IF(CAST(`salt` AS BYTES) = b'', "), "{salt}");
}

#[test]
fn the_bucket_has_the_name_of_its_column() {
    let json = BlobKey::row_key_schema().unwrap().to_json();
    assert!(json.starts_with(r#"{"fields":[{"fieldName":"salt_","#), "{json}");
    let sql = BlobKey::sql().unwrap().to_string();
    assert_eq!(sql.matches(" AS salt_,\n").count(), 1, "{sql}");
    assert_eq!(sql.matches(" AS `salt`").count(), 1, "{sql}");
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
                "PARSE_DATE('%Y%m%d', LPAD(CAST(99999999 - CAST(`last_day` AS INT64) AS STRING), 8, '0'))",
            ),
            ("at", "TIMESTAMP_MILLIS(9223372036854775807 - CAST(`at` AS INT64))"),
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
            ("at", "TIMESTAMP_MICROS(9223372036854775807 - `at`)"),
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

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct LateKey {
    user_id: String,
    #[reverse_ts(max = 18446744073709551615)]
    at: u64,
}

#[test]
fn what_is_never_a_number_of_sql_is_named() {
    let error = LateKey::sql().unwrap_err().to_string();
    assert!(error.contains("field `at` of `LateKey` holds numbers above an `INT64` only"), "{error}");
}

#[test]
fn what_sql_cannot_undo_is_named() {
    let error = SpreadKey::SCHEMA.sql().unwrap_err().to_string();
    assert!(error.contains("field `id` of `SpreadKey` has its bits reversed"), "{error}");
}
