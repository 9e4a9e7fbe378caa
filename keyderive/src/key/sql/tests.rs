use std::cell::Cell;

use proptest::prelude::*;

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
        "field `exchange` of `PaddedKey` can contain a space (0x20), but a delimited row key schema allows no \
         byte at or below its delimiter `#` (0x23); choose a delimiter below a space (0x20) for a new table, or \
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
    assert!(error.contains("the salt of `DashedJavaKey` can contain `-`"), "{error}");
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

/// `true` is stored as 1; descending, as 0 and as the Int64 of -2.
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

/// Evaluates nested `REPLACE`s, the innermost first.
fn evaluate_replace(expression: &str, text: &str) -> String {
    let Some(call) = expression.strip_prefix("REPLACE(").and_then(|call| call.strip_suffix("')")) else {
        return text.to_owned();
    };
    let (inner, pair) = call.split_at(call.rfind(", '%").unwrap());
    let (from, to) = pair.strip_prefix(", '").unwrap().split_once("', '\\x").unwrap();
    let to = char::from(u8::from_str_radix(to, 16).unwrap());
    evaluate_replace(inner, text).replace(from, &to.to_string())
}

#[test]
fn expressions_remove_padding_and_escapes() {
    let sql = TextKey::sql().unwrap();
    assert_eq!(sql.field("exchange"), Some("RTRIM(`exchange`, ' ')"));
    let expression = sql.field("note").unwrap();
    assert!(expression.contains(r"REPLACE(`note`, '%00', '\x00')"), "{expression}");
    for note in ["", "50%", "%23", "%2523", "a b#c\0\t%\"$", "%%25%"] {
        let key = TextKey { exchange: "NYSE".into(), note: note.into() }.to_text().unwrap();
        assert_eq!(evaluate_replace(expression, key.strip_prefix("NYSE  \t").unwrap()), note);
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
        #[row_key(desc, ts(format = "datetime17"))]
        end: SystemTime,
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
            (
                "end",
                "TIMESTAMP_ADD(PARSE_TIMESTAMP('%Y%m%d%H%M%S', SUBSTR(LPAD(CAST(99999999999999999 - CAST(`end` AS INT64) AS \
                 STRING), 17, '0'), 1, 14)), INTERVAL CAST(SUBSTR(LPAD(CAST(99999999999999999 - CAST(`end` AS INT64) AS STRING), \
                 17, '0'), 15) AS INT64) MILLISECOND)",
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
fn errors_name_a_field_above_int64() {
    let error = LateKey::sql().unwrap_err().to_string();
    assert!(error.contains("field `at` of `LateKey` holds numbers above an `INT64` only"), "{error}");
}

#[test]
fn errors_name_a_bit_reversed_field() {
    let error = SpreadKey::SCHEMA.sql().unwrap_err().to_string();
    assert!(error.contains("field `id` of `SpreadKey` has its bits reversed"), "{error}");
}

/// Evaluates an expression over the column `n`, from the left; `None` if SQL would fail.
struct Evaluator<'a> {
    rest: Cell<&'a str>,
    column: &'a str,
}

impl<'a> Evaluator<'a> {
    fn take(&self, word: &str) -> bool {
        let rest = self.rest.get().strip_prefix(word);
        self.rest.set(rest.unwrap_or(self.rest.get()));
        rest.is_some()
    }

    fn expect(&self, word: &str) {
        assert!(self.take(word), "`{word}` does not come next in `{}`", self.rest.get());
    }

    fn literal(&self) -> Option<i64> {
        let rest = self.rest.get();
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '-').unwrap_or(rest.len());
        self.rest.set(&rest[end..]);
        rest[..end].parse().ok()
    }

    fn text(&self) -> &'a str {
        if !self.take("SUBSTR(") {
            self.expect("`n`");
            return self.column;
        }
        self.expect("`n`, ");
        let from = self.literal().unwrap() as usize - 1;
        let len = if self.take(", ") { self.literal().unwrap() as usize } else { self.column.len() - from };
        self.expect(")");
        &self.column[from..from + len]
    }

    fn term(&self) -> Option<i64> {
        if self.take("CAST(") {
            let text = self.text();
            self.expect(" AS INT64)");
            text.parse().ok()
        } else if self.take("IF(STARTS_WITH(`n`, '-'), ") {
            let negative = self.sum();
            self.expect(", ");
            let other = self.sum();
            self.expect(")");
            if self.column.starts_with('-') { negative } else { other }
        } else if self.take("(") {
            let sum = self.sum();
            self.expect(")");
            sum
        } else {
            self.literal()
        }
    }

    fn sum(&self) -> Option<i64> {
        let mut sum = self.product();
        loop {
            let subtracts = self.take(" - ");
            if !subtracts && !self.take(" + ") {
                return sum;
            }
            let next = self.product();
            sum =
                sum.zip(next).and_then(
                    |(sum, next)| {
                        if subtracts { sum.checked_sub(next) } else { sum.checked_add(next) }
                    },
                );
        }
    }

    fn product(&self) -> Option<i64> {
        let mut product = self.term();
        while self.take(" * ") {
            let next = self.term();
            product = product.zip(next).and_then(|(product, next)| product.checked_mul(next));
        }
        product
    }
}

fn evaluate(expression: &str, column: &str) -> Option<i64> {
    let evaluator = Evaluator { rest: Cell::new(expression), column };
    let value = evaluator.sum();
    assert_eq!(evaluator.rest.get(), "", "not read to its end");
    value
}

/// Each expression gives the value that was encoded; it fails for a value that is not an `INT64`.
macro_rules! number_tests {
    ($($test:ident $(#[$attr:meta])* $type:ident;)*) => {$(
        #[test]
        fn $test() {
            #[derive(RowKey)]
            struct Key {
                first: bool,
                $(#[$attr])*
                n: $type,
            }
            let sql = Key::sql().unwrap();
            let expression = sql.field("n").unwrap();
            let near = |anchor: $type| (0..4 as $type).prop_map(move |step| anchor.wrapping_add(step).wrapping_sub(2));
            let values = prop_oneof![
                any::<$type>(),
                near(0),
                near($type::MAX),
                near($type::MIN),
                near(i64::MAX as $type),
                near(999_999_999_999_999_999_u64 as $type),
                near(9_223_372_030_000_000_000_u64 as $type),
            ];
            proptest!(|(n in values)| {
                if let Ok(column) = (Key { first: true, n }).to_text() {
                    let column = column.strip_prefix("1#").unwrap();
                    prop_assert_eq!(evaluate(expression, column), i64::try_from(n).ok(), "{} of {}", expression, column);
                }
            });
        }
    )*};
}

number_tests! {
    of_u32 u32;
    of_u64 u64;
    of_i16 i16;
    of_i32 i32;
    of_i64 i64;
    of_u64_padded #[pad(19)] u64;
    of_u32_descending #[row_key(desc)] u32;
    of_u64_descending #[row_key(desc)] u64;
    of_i32_descending #[row_key(desc)] i32;
    of_i64_descending #[row_key(desc)] i64;
    of_u64_padded_descending #[row_key(desc)] #[pad(19)] u64;
    of_u64_padded_in_20_descending #[row_key(desc)] #[pad(20)] u64;
    of_u64_reversed #[reverse_ts] u64;
    of_i64_reversed #[reverse_ts] i64;
    of_u64_reversed_from_13_digits #[reverse_ts(max = 9999999999999)] u64;
    of_u64_reversed_from_the_greatest #[reverse_ts(max = 18446744073709551615)] u64;
    of_u64_reversed_from_19_digits #[reverse_ts(max = 9999999999999999999)] u64;
}
