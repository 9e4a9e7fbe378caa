use std::time::SystemTime;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::RowKey;
use crate::key::ordered::{escaped, write_int};
use crate::key::{FieldValues, TimeUnit};

/// Fields of most formats, after a tag and around the salt.
#[derive(RowKey)]
#[row_key(tag = "TRADE", allow(point_reads))]
#[salt(range = 20, over(exchange, symbol), after = "exchange", sep = "/")]
struct TradeKey<'a> {
    #[pad(4)]
    exchange: u16,
    #[row_key(escape)]
    symbol: std::borrow::Cow<'a, str>,
    #[row_key(name = "change")]
    delta: i32,
    #[row_key(desc, ts(unit = "millis"))]
    at: SystemTime,
    #[row_key(desc)]
    level: i16,
    #[row_key(desc)]
    open: bool,
    #[row_key(bit_reverse)]
    id: u32,
    #[row_key(desc)]
    #[pad(24)]
    count: u128,
    #[row_key(hash(md5))]
    owner: String,
    blob: [u8; 2],
    #[row_key(with = "letter")]
    grade: u8,
    note: &'a str,
}

mod letter {
    use crate::key::{FieldError, Width};

    pub(super) const WIDTH: Width = Width::Fixed(1);

    pub(super) fn write(value: &u8, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.push(b'A' + value % 26);
        Ok(())
    }

    pub(super) fn read(bytes: &[u8]) -> Result<u8, FieldError> {
        Ok(bytes[0] - b'A')
    }
}

#[derive(RowKey)]
#[row_key(layout = "ordered", tag = "E")]
#[salt(range = 300, over(open, user))]
struct OrderedKey {
    open: bool,
    pair: [u8; 2],
    user: String,
    #[reverse_ts]
    at: u64,
    #[row_key(desc)]
    rank: i32,
    blob: Vec<u8>,
}

#[derive(RowKey)]
#[row_key(tag = "phone")]
#[salt(range = 12, sep = "-", hash = "java")]
struct PhoneKey {
    #[pad(8)]
    date: u32,
}

#[test]
fn text_keys_as_a_table() {
    let lines = [
        "TradeKey: text layout, delimiter `#` (0x23), 126 to 4096 bytes, fingerprint d4be30e8cca3b33e",
        "  tag       constant                   byte 0           5 bytes              `TRADE`",
        "  exchange  u16                        byte 6           4 bytes              decimal, zero padded",
        "  salt      bucket                     byte 11          2 bytes              \
         00 to 19, FarmHash of exchange#symbol, `/` after it",
        "  symbol    std::borrow::Cow<'a, str>  byte 14          up to the delimiter  \
         UTF-8, each byte up to `%` as `%XX`",
        "  change    i32                        after delimiter  11 bytes             \
         `0` and 10 digits; below 0, `-` and the 10 digits of 10^10 + v",
        "  at        SystemTime                 after delimiter  13 bytes             \
         milliseconds since 1970, zero padded, descending as 9999999999999 - v",
        "  level     i16                        after delimiter  6 bytes              \
         `0` and 5 digits; below 0, `-` and the 5 digits of 10^5 + v, descending as -1 - v",
        "  open      bool                       after delimiter  1 byte               \
         `0` or `1`, descending as 1 - v",
        "  id        u32                        after delimiter  10 bytes             \
         decimal, zero padded, bits reversed",
        "  count     u128                       after delimiter  24 bytes             \
         decimal, zero padded, descending as 999999999999999999999999 - v",
        "  owner     String                     after delimiter  32 bytes             MD5 of the field",
        "  blob      [u8; 2]                    after delimiter  4 bytes              hexadecimal",
        "  grade     u8                         after delimiter  1 byte               what `letter` writes",
        "  note      &'a str                    after delimiter  to the end           UTF-8",
    ];
    assert_eq!(TradeKey::SCHEMA.to_string().lines().collect::<Vec<_>>(), lines);
    assert_eq!(
        TradeKey::SCHEMA.template().to_string(),
        "TRADE#<exchange>#<salt 0 to 19>/<symbol>#<change>#<at>#<level>#<open>#<id>#<count>#<owner>#<blob>#<grade>\
         #<note>"
    );
}

#[test]
fn ordered_keys_as_a_table() {
    let lines = [
        "OrderedKey: ordered layout, separator 00 01, 20 to 4096 bytes, fingerprint 35522272d1ab8c52",
        "  tag   constant  byte 0           1 byte                         `E`",
        "  salt  bucket    byte 3           1 to 3 bytes                   \
         0 to 299 as an Int64, FarmHash of open | user",
        "  open  bool      after separator  1 byte                         `0` or `1`, ordered Int64",
        "  pair  [u8; 2]   after separator  2 bytes before escaping        bytes as they are",
        "  user  String    after separator  up to the separator            UTF-8",
        "  at    u64       after separator  1 to 10 bytes before escaping  \
         ordered Int64, descending as 9223372036854775807 - v",
        "  rank  i32       after separator  1 to 10 bytes before escaping  \
         ordered Int64, descending as -1 - v",
        "  blob  Vec<u8>   after separator  to the end                     bytes as they are",
    ];
    assert_eq!(OrderedKey::SCHEMA.to_string().lines().collect::<Vec<_>>(), lines);
    assert_eq!(
        OrderedKey::SCHEMA.template().to_string(),
        "E | <salt 0 to 299> | <open> | <pair> | <user> | <at> | <rank> | <blob>"
    );
}

#[test]
fn a_salt_without_a_width_as_a_table() {
    let lines = [
        "PhoneKey: text layout, delimiter `#` (0x23), 16 to 18 bytes, fingerprint e06cc30d31084165",
        "  salt  bucket    byte 0           1 to 3 bytes  \
         -11 to 11, `String.hashCode` of the key without its salt, `-` after it",
        "  tag   constant  after `-`        5 bytes       `phone`",
        "  date  u32       after delimiter  8 bytes       decimal, zero padded",
    ];
    assert_eq!(PhoneKey::SCHEMA.to_string().lines().collect::<Vec<_>>(), lines);
}

#[test]
fn text_keys_as_json() {
    let field = |name: &str,
                 ty: &str,
                 format: Value,
                 order: &str,
                 width: Value,
                 offset: Option<usize>,
                 values: Value| {
        // Digits are the `max` of `reversed_from`.
        let order = match order.starts_with('9') {
            true => json!({ "reversed_from": { "max": order } }),
            false => json!(order),
        };
        json!({
            "name": name, "type": ty, "format": format, "order": order, "width": width, "offset": offset, "values": values,
            "hash_of": null,
        })
    };
    let integer = |min: &str, max: &str| json!({ "integer": { "min": min, "max": max } });
    let text = || json!("text");
    let mut owner = field("owner", "String", json!("md5"), "hashed", json!({ "fixed": 32 }), None, text());
    owner["hash_of"] = json!({ "format": "utf8", "order": "ascending", "width": "delimited" });
    let fixed = |width: usize| json!({ "fixed": width });
    let delimited = || json!("delimited");
    let expected = json!({
        "version": 1,
        "key_type": "TradeKey",
        "format_version": 1,
        "layout": "delimited",
        "delimiter": "#",
        "tag": "TRADE",
        "salt": {
            "range": 20,
            "hash": "farm",
            "place": { "after": "exchange" },
            "sep": "/",
            "over": ["exchange", "symbol"],
        },
        "epochs": [],
        "fields": [
            field("exchange", "u16", json!("decimal"), "ascending", fixed(4), Some(6), integer("0", "65535")),
            field("symbol", "std::borrow::Cow<'a, str>", json!("escaped_utf8"), "ascending", delimited(), Some(14), text()),
            field("change", "i32", json!("signed_decimal"), "ascending", fixed(11), None, integer("-2147483648", "2147483647")),
            field("at", "SystemTime", json!({ "unix_time": "millis" }), "descending", fixed(13), None, json!({ "time": { "exact": false } })),
            field("level", "i16", json!("signed_decimal"), "descending", fixed(6), None, integer("-32768", "32767")),
            field("open", "bool", json!("bool"), "descending", fixed(1), None, json!("bool")),
            field("id", "u32", json!("decimal"), "bit_reversed", fixed(10), None, integer("0", "4294967295")),
            field("count", "u128", json!("decimal"), "999999999999999999999999", fixed(24), None, integer("0", "340282366920938463463374607431768211455")),
            owner,
            field("blob", "[u8; 2]", json!("hex"), "ascending", fixed(4), None, json!("bytes")),
            field("grade", "u8", json!({ "custom": "letter" }), "ascending", fixed(1), None, json!("custom")),
            field("note", "&'a str", json!("utf8"), "ascending", delimited(), None, text()),
        ],
        "fingerprint": "d4be30e8cca3b33e",
        "min_len": 126,
        "max_len": 4096,
        "template": TradeKey::SCHEMA.template().to_string(),
    });
    assert_eq!(serde_json::to_value(TradeKey::SCHEMA).unwrap(), expected);
}

/// All names are present, in the order of the documentation.
#[test]
fn ordered_keys_as_json() {
    let expected = concat!(
        r#"{"version":1,"key_type":"OrderedKey","format_version":1,"layout":"ordered_code","delimiter":null,"tag":"E","#,
        r#""salt":{"range":300,"hash":"farm","place":"before_fields","sep":null,"over":["open","user"]},"epochs":[],"fields":["#,
        r#"{"name":"open","type":"bool","format":"bool_int64","order":"ascending","width":{"fixed":1},"values":"bool","hash_of":null,"offset":null},"#,
        r#"{"name":"pair","type":"[u8; 2]","format":"bytes","order":"ascending","width":{"fixed":2},"values":"bytes","hash_of":null,"offset":null},"#,
        r#"{"name":"user","type":"String","format":"utf8","order":"ascending","width":"delimited","values":"text","hash_of":null,"offset":null},"#,
        r#"{"name":"at","type":"u64","format":"int64","order":{"reversed_from":{"max":"9223372036854775807"}},"#,
        r#""width":{"between":[1,10]},"values":{"integer":{"min":"0","max":"18446744073709551615"}},"hash_of":null,"offset":null},"#,
        r#"{"name":"rank","type":"i32","format":"int64","order":"descending","width":{"between":[1,10]},"#,
        r#""values":{"integer":{"min":"-2147483648","max":"2147483647"}},"hash_of":null,"offset":null},"#,
        r#"{"name":"blob","type":"Vec<u8>","format":"bytes","order":"ascending","width":"delimited","values":"bytes","hash_of":null,"offset":null}],"#,
        r#""fingerprint":"35522272d1ab8c52","min_len":20,"max_len":4096,"#,
        r#""template":"E | <salt 0 to 299> | <open> | <pair> | <user> | <at> | <rank> | <blob>"}"#,
    );
    assert_eq!(serde_json::to_string(OrderedKey::SCHEMA).unwrap(), expected);
}

/// Programs in other languages compare the names of formats.
#[test]
fn names_in_json() {
    let name = |value| serde_json::to_string(&value).unwrap();
    let formats = [
        (Format::Decimal, "decimal"),
        (Format::SignedDecimal, "signed_decimal"),
        (Format::Utf8, "utf8"),
        (Format::PaddedUtf8, "padded_utf8"),
        (Format::Int64, "int64"),
        (Format::BoolInt64, "bool_int64"),
        (Format::Bytes, "bytes"),
        (Format::EscapedUtf8, "escaped_utf8"),
        (Format::Hex, "hex"),
        (Format::Bool, "bool"),
        (Format::Md5, "md5"),
        (Format::DateTime17, "datetime17"),
        (Format::Date, "date"),
        (Format::Uuid, "uuid"),
        (Format::UuidSimple, "uuid_simple"),
    ];
    for (format, expected) in formats {
        assert_eq!(name(format), format!("\"{expected}\""));
    }
    let units = [TimeUnit::Secs, TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos];
    let units = units.map(|unit| name(Format::UnixTime(unit)));
    assert_eq!(
        units.join(" "),
        r#"{"unix_time":"secs"} {"unix_time":"millis"} {"unix_time":"micros"} {"unix_time":"nanos"}"#
    );
}

#[derive(crate::KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
    Deleted = 20,
}

#[derive(crate::KeyField, Clone, Debug)]
struct UserId(u16);

/// What formats, widths and orders do not say.
#[test]
fn values_of_fields() {
    #[derive(RowKey)]
    struct ManyKey {
        kind: Kind,
        user: UserId,
        #[pad(4)]
        short: i64,
        letter: char,
        #[row_key(ts(unit = "secs", exact))]
        at: SystemTime,
        #[row_key(ts(unit = "secs"))]
        about: SystemTime,
        #[row_key(uuid(v4))]
        random: uuid::Uuid,
        any: uuid::Uuid,
        day: chrono::NaiveDate,
        #[row_key(hash(md5))]
        hashed: UserId,
    }

    let values: Vec<_> = ManyKey::SCHEMA.fields().iter().map(Field::values).collect();
    let user = FieldValues::Integer { min: 0, max: 65_535 };
    let expected = [
        FieldValues::Codes(&[(1, "Created"), (20, "Deleted")]),
        user,
        FieldValues::Integer { min: i64::MIN.into(), max: i64::MAX as u128 },
        FieldValues::Char,
        FieldValues::Time { exact: true },
        FieldValues::Time { exact: false },
        FieldValues::Uuid { version: Some(4) },
        FieldValues::Uuid { version: None },
        FieldValues::Date,
        user,
    ];
    assert_eq!(values, expected);
    let json = serde_json::to_value(ManyKey::SCHEMA).unwrap();
    let of = |at: usize| &json["fields"][at]["values"];
    let codes = json!({ "codes": [{ "code": "1", "name": "Created" }, { "code": "20", "name": "Deleted" }] });
    assert_eq!(*of(0), codes);
    assert_eq!((of(3), of(6)), (&json!("char"), &json!({ "uuid": { "version": 4 } })));
    let hashed = ManyKey::SCHEMA.fields()[9].hash_of().unwrap();
    assert_eq!((hashed.format(), hashed.width()), (Format::Decimal, Width::Fixed(5)));

    /// The same bytes, other values.
    #[derive(RowKey)]
    struct OtherKey {
        #[row_key(name = "kind")]
        #[pad(2)]
        kind: u8,
        user: u16,
        #[pad(4)]
        short: u64,
        letter: String,
        #[row_key(ts(unit = "secs"))]
        at: SystemTime,
        #[row_key(ts(unit = "secs"))]
        about: SystemTime,
        random: uuid::Uuid,
        any: uuid::Uuid,
        day: chrono::NaiveDate,
        #[row_key(hash(md5))]
        hashed: String,
    }
    assert_eq!(ManyKey::SCHEMA.fingerprint(), OtherKey::SCHEMA.fingerprint());
}

/// The names of Rust types are shown, but are no part of the fingerprint.
#[test]
fn rust_types_are_not_the_layout() {
    #[derive(RowKey)]
    struct UserKey {
        name: String,
        at: u64,
    }

    mod lent {
        #[derive(crate::RowKey)]
        pub(super) struct UserKey<'a> {
            name: &'a str,
            at: core::primitive::u64,
        }
    }

    let types =
        |schema: &KeySchema| schema.fields().iter().map(Field::rust_type).collect::<Vec<_>>().join(" ");
    let (owned, lent) = (UserKey::SCHEMA, lent::UserKey::SCHEMA);
    assert_eq!([types(owned), types(lent)], ["String u64", "&'a str core::primitive::u64"]);
    assert_eq!(owned.fingerprint(), lent.fingerprint());
    assert_ne!(owned, lent);
}

#[test]
fn offsets_end_where_widths_vary() {
    let offsets =
        |schema: &KeySchema| (0..schema.fields().len() + 1).map(|at| schema.offset(at)).collect::<Vec<_>>();
    #[derive(RowKey)]
    #[row_key(tag = "T")]
    #[salt(range = 12)]
    struct FixedKey {
        level: u8,
        change: i8,
        name: String,
        id: u8,
    }
    assert_eq!(offsets(FixedKey::SCHEMA), [Some(5), Some(9), Some(14), None, None]);
    assert_eq!(offsets(PhoneKey::SCHEMA), [None, None]);

    /// A `bool` has no zero byte, so no escape; other fields of a fixed width may have one.
    #[derive(RowKey)]
    #[row_key(layout = "ordered", tag = "T")]
    #[salt(range = 64)]
    struct OrderedFixedKey {
        open: bool,
        pair: [u8; 2],
        id: u8,
    }
    assert_eq!(offsets(OrderedFixedKey::SCHEMA), [Some(6), Some(9), None, None]);
}

#[test]
fn the_greatest_length() {
    let len = |schema: &KeySchema| (schema.min_len(), schema.max_len());
    assert_eq!(len(TradeKey::SCHEMA), (126, 4096));
    // `-11-phone#` and 8 digits.
    assert_eq!(len(PhoneKey::SCHEMA), (16, 18));

    #[derive(RowKey)]
    struct FixedKey {
        level: u8,
        id: u64,
    }
    assert_eq!(len(FixedKey::SCHEMA), (24, 24));
}

/// All parts are bounded below Bigtable's limit.
#[derive(RowKey, Debug)]
#[row_key(layout = "ordered", tag = "T")]
struct BoundedKey {
    open: bool,
    pair: [u8; 2],
    number: i64,
}

/// Bytes and numbers with zero bytes in them.
fn bounded_key() -> impl Strategy<Value = BoundedKey> {
    let byte = prop_oneof![Just(0), any::<u8>()];
    let power = (0..64_u32).prop_map(|bit| 1_i64 << bit);
    let number = prop_oneof![any::<i64>(), power.clone(), power.prop_map(|power| !power)];
    (any::<bool>(), [byte.clone(), byte], number).prop_map(|(open, pair, number)| BoundedKey {
        open,
        pair,
        number,
    })
}

proptest! {
    #[test]
    fn lengths_of_ordered_keys(key in bounded_key()) {
        let len = key.encode().unwrap().len();
        prop_assert!((BoundedKey::SCHEMA.min_len()..=BoundedKey::SCHEMA.max_len()).contains(&len), "{}", len);
    }
}

/// An empty key is rejected, so a key of one string has a byte at least.
#[test]
fn the_shortest_key_is_not_empty() {
    #[derive(RowKey)]
    struct NameKey {
        name: String,
    }

    assert!(NameKey { name: String::new() }.encode().is_err());
    assert_eq!(NameKey { name: "a".into() }.encode().unwrap().len(), NameKey::SCHEMA.min_len());
    assert!(NameKey::SCHEMA.to_string().contains("1 to 4096 bytes"), "{}", NameKey::SCHEMA);
}

#[test]
fn the_shortest_and_the_longest_ordered_key() {
    let len = |pair, number| BoundedKey { open: true, pair, number }.encode().unwrap().len();
    assert_eq!(BoundedKey::SCHEMA.min_len(), len([1; 2], 0));
    assert_eq!(BoundedKey::SCHEMA.max_len(), len([0; 2], i64::MIN));
}

fn escaped_int(value: i64) -> (usize, usize) {
    let mut raw = Vec::new();
    write_int(value, &mut raw);
    (raw.len(), escaped(&raw).len())
}

/// The bound is the greatest length of all numbers, for each length before escaping.
#[test]
fn numbers_with_zero_bytes() {
    let powers = (0..63).map(|bit| 1_i64 << bit).flat_map(|power| [power, power - 1]);
    let longest = powers.chain([i64::MAX]).flat_map(|number| [number, !number]).map(escaped_int).fold(
        [0; 11],
        |mut longest, (len, escaped)| {
            longest[len] = longest[len].max(escaped);
            longest
        },
    );
    assert_eq!(longest[1..], [1, 3, 5, 7, 9, 11, 13, 15, 17, 18]);
    for (len, longest) in longest.into_iter().enumerate().skip(1) {
        assert_eq!(max_escaped_int_len(len), longest, "{len}");
    }
}

#[test]
fn ordered_salts_of_every_range() {
    for range in 2..=4096_u16 {
        let schema = KeySchema::new("Key", b'#', None, Some(Salt::new(range, &[])), &[]);
        let schema = schema.with_layout(KeyEncoding::OrderedCode);
        let salt = schema.salt().unwrap();
        let longest = salt.buckets().map(|bucket| escaped_int(bucket.into()).1).max().unwrap();
        assert_eq!(schema.salt_len_bounds(), LenBounds { min: 1, max: longest }, "{range}");
    }
}
