//! The ordered layout, byte for byte: the examples of its definition, and the strictness of decode.

use keyderive::RowKey;
use keyderive::key::OwnedRowKey;
use serde_json::Value;

use crate::unhex;

/// Computed by other implementations; `tests/figures/README.md` names them.
const FIGURES: &str = include_str!("../figures/ordered_code.json");

#[derive(RowKey, Debug, PartialEq)]
#[row_key(layout = "ordered")]
struct One {
    a: String,
}

#[derive(RowKey, Debug, PartialEq)]
#[row_key(layout = "ordered")]
struct Two {
    a: String,
    b: String,
}

#[derive(RowKey, Debug, PartialEq)]
#[row_key(layout = "ordered")]
struct Three {
    a: String,
    b: String,
    c: String,
}

#[derive(RowKey, Debug, PartialEq)]
#[row_key(layout = "ordered")]
struct Number {
    value: i64,
}

#[derive(RowKey, Debug, PartialEq)]
#[row_key(layout = "ordered")]
struct Descending {
    #[row_key(desc)]
    value: i64,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[track_caller]
fn assert_stored<K: OwnedRowKey + PartialEq + std::fmt::Debug>(key: &K, stored: &str) {
    crate::assert_stored(key, unhex(stored));
}

#[test]
fn structs_of_strings() {
    let file: Value = serde_json::from_str(FIGURES).unwrap();
    let vectors = file["bigtable_struct_proto_examples"]["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 7);
    for vector in vectors {
        let stored = vector["row_key_hex"].as_str().unwrap();
        let fields = vector["fields_hex"].as_array().unwrap().iter();
        let fields: Vec<_> =
            fields.map(|field| String::from_utf8(unhex(field.as_str().unwrap())).unwrap()).collect();
        match &fields[..] {
            // A key type has at least one field.
            [] => {}
            [a] => assert_stored(&One { a: a.clone() }, stored),
            [a, b] => assert_stored(&Two { a: a.clone(), b: b.clone() }, stored),
            [a, b, c] => assert_stored(&Three { a: a.clone(), b: b.clone(), c: c.clone() }, stored),
            more => panic!("a vector of {} fields", more.len()),
        }
    }
}

/// The bytes of an integer in a key, with zero bytes escaped.
fn escaped(hex: &str) -> String {
    let pairs = (0..hex.len()).step_by(2).map(|at| &hex[at..at + 2]);
    pairs.map(|pair| if pair == "00" { "00ff" } else { pair }).collect()
}

#[test]
fn integers() {
    let file: Value = serde_json::from_str(FIGURES).unwrap();
    let numbers = file["orderedcode_go"]["int64"].as_array().unwrap();
    assert_eq!(numbers.len(), 70);
    for vector in numbers {
        let value = vector["input"].as_str().unwrap().parse().unwrap();
        assert_stored(&Number { value }, &escaped(vector["inc_hex"].as_str().unwrap()));
        assert_stored(&Descending { value }, &escaped(vector["dec_hex"].as_str().unwrap()));
    }
    for vector in file["beam_java"]["signed_num_increasing"].as_array().unwrap() {
        let value = vector["input"].as_str().unwrap().parse().unwrap();
        assert_stored(&Number { value }, &escaped(vector["hex"].as_str().unwrap()));
    }
}

/// A key of every kind of part, written by hand from the rules.
#[test]
fn a_whole_key() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(layout = "ordered", tag = "EVENT")]
    struct EventKey {
        user: String,
        count: i32,
        #[row_key(desc)]
        rank: u16,
        #[reverse_ts]
        at: u64,
        flag: bool,
        blob: Vec<u8>,
        note: String,
    }

    let key = EventKey {
        user: "a\0b".into(),
        count: -65,
        rank: 64,
        at: (1 << 63) - 1,
        flag: true,
        blob: vec![0, 255],
        note: String::new(),
    };
    let parts = ["4556454e54", "6100ff62", "3fbf", "3fbf", "80", "81", "00ffff"];
    assert_stored(&key, &parts.join("0001"));
    let key = EventKey { blob: Vec::new(), note: "z".into(), ..key };
    assert_stored(&key, &["4556454e54", "6100ff62", "3fbf", "3fbf", "80", "81", "0000", "7a"].join("0001"));
}

#[test]
fn decode_refuses_what_encode_does_not_write() {
    for (key, reason) in [
        ("00", "begins no escape"),
        ("4100", "begins no escape"),
        ("410002", "begins no escape"),
        ("000041", "begins no escape"),
        ("41000142000143000144", "after the last field"),
        ("410001", "must be written as `00 00`"),
        ("41000100014200", "must be written as `00 00`"),
        ("4100010000", "dropped"),
        ("00000001000000010000", "dropped"),
        ("41000142000143", ""),
    ] {
        let decoded = Three::decode(&unhex(key)).map_err(|error| error.to_string());
        match decoded {
            Ok(_) => assert!(reason.is_empty(), "{key} is accepted"),
            Err(text) => assert!(!reason.is_empty() && text.contains(reason), "{key}: {text}"),
        }
    }
    for key in ["", "c000ff", "c0", "8000ff", "ffc08000ff00ff00ff00ff00ff00ff00ff", "3fff"] {
        assert!(Number::decode(&unhex(key)).is_err(), "{key} is accepted");
    }
}

#[test]
fn numbers_over_an_int64_are_refused() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(layout = "ordered")]
    struct Id {
        id: u64,
    }

    assert!(Id { id: 1 << 63 }.encode().unwrap_err().to_string().contains("9223372036854775807"));
    assert!(Id::scan().id(1 << 63).into_plan().is_err());
    assert!(Id::scan().id_range(1 << 63..).into_plan().unwrap().is_empty());
}

/// Rows with fixed first fields begin at the key that drops empty fields, and end after all keys that continue it.
#[test]
fn ranges_of_fixed_fields() {
    let range = |plan: keyderive::plan::Plan<Three>| {
        let [request] = &plan.requests()[..] else { panic!("one request") };
        let ([], [range]) = (request.keys(), request.ranges()) else { panic!("one range") };
        (hex(range.start()), hex(range.end().unwrap_or_default()))
    };
    let scan = Three::scan;
    for (plan, start, end) in [
        (scan().a("A").into_plan(), "41", "410002"),
        (scan().a("A").b("").into_plan(), "41", "41000100000002"),
        (scan().a("").b("").into_plan(), "0000", "0000000100000002"),
        (scan().a("A").b_range("B"..="C").into_plan(), "41000142", "410001430002"),
        (scan().a("A").b_range("".."C").into_plan(), "41", "41000143"),
        (scan().a("A").b_prefix("B").into_plan(), "41000142", "41000143"),
        (scan().a_prefix("\0").into_plan(), "00ff", "01"),
        (scan().a_range(..="").into_plan(), "", "00000002"),
    ] {
        assert_eq!(range(plan.unwrap()), (start.to_owned(), end.to_owned()));
    }
}

/// Times count from 1970 in either direction, dates are the number `YYYYMMDD`, UUIDs and hashes their 16 bytes.
#[test]
fn times_dates_and_uuids() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(layout = "ordered")]
    struct VisitKey {
        #[row_key(uuid(v4))]
        id: uuid::Uuid,
        day: chrono::NaiveDate,
        #[row_key(desc)]
        last_day: chrono::NaiveDate,
        #[row_key(ts(unit = "secs"))]
        before: std::time::SystemTime,
        #[row_key(ts(unit = "secs"))]
        #[reverse_ts(max = 64)]
        at: jiff::Timestamp,
        #[row_key(desc)]
        last: jiff::Timestamp,
    }

    let day = |day| chrono::NaiveDate::from_ymd_opt(1, 1, day).unwrap();
    let key = VisitKey {
        id: uuid::Uuid::from_bytes([0, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 255]),
        day: day(1),
        last_day: day(1),
        before: std::time::UNIX_EPOCH - std::time::Duration::from_secs(65),
        at: jiff::Timestamp::UNIX_EPOCH,
        last: jiff::Timestamp::from_microsecond(64).unwrap(),
    };
    // 10101 is 0x2775, three bytes with the length.
    let parts = ["00ff010203040546078809".to_owned() + "0a0b0c0d0eff", "e02775".into(), "1fd88a".into()];
    let times = ["3fbf", "c040", "3fbf"];
    assert_stored(&key, &[parts.join("0001"), times.join("0001")].join("0001"));
}

/// The 16 bytes of the MD5 of what the layout writes for the field.
#[test]
fn hashed_fields() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(layout = "ordered", allow(point_reads))]
    struct HashedKey {
        #[row_key(hash(md5))]
        user: String,
        count: i64,
    }

    let key = HashedKey { user: "20150301124501003".into(), count: 64 };
    let bytes = key.encode().unwrap();
    assert_eq!(hex(&bytes), "5cbed828691915bd3ab68145f00b489d0001c040");
    assert_eq!(HashedKey::decode(&bytes).unwrap().as_bytes(), bytes);
    assert!(HashedKey::decode(&bytes[1..]).is_err());
}

/// Even if all its bytes happen to be UTF-8.
#[test]
fn an_ordered_key_is_not_text() {
    let error = One { a: "alice".to_owned() }.to_text().unwrap_err().to_string();
    assert_eq!(
        error,
        "the row key of this `One` is not text: the ordered layout is binary; use `encode` and `decode`"
    );
}

/// A zero byte is written as two, so a `&str` that holds one could not be read back.
#[test]
fn a_zero_byte_cannot_be_borrowed() {
    #[derive(RowKey)]
    #[row_key(layout = "ordered")]
    struct Lent<'a> {
        name: &'a str,
        id: u32,
    }
    let error = Lent { name: "a\0b", id: 7 }.encode().unwrap_err().to_string();
    assert!(error.contains("holds a zero byte") && error.contains("`Cow<str>`"), "{error}");
    let stored = Lent { name: "a\u{1}b", id: 7 }.encode().unwrap();
    assert_eq!(Lent::decode(&stored).unwrap().name, "a\u{1}b");
}
