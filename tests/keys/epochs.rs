//! Salts from a date on: stored bytes, the layout as data, plans in words, splits.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::RowKey;
use keyderive::plan::Plan;

use crate::assert_stored;

const JUNE: u64 = 1_780_272_000;
const DECEMBER: u64 = 1_796_083_200;

fn micros(micros: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros)
}

/// The example of the manual.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user_id", sep = "!", since(at = "2026-06-01T00:00:00Z"))]
#[salt(range = 16, over = "user_id", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    at: SystemTime,
    #[pad(4)]
    seq: u16,
}

fn event(micros: u64) -> EventKey {
    EventKey { user_id: "alice".into(), at: self::micros(micros), seq: 7 }
}

#[test]
fn milliseconds_without_a_salt_and_with_one() {
    #[derive(RowKey, Debug, PartialEq)]
    #[salt(range = 4, over = "user_id", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
    struct Key {
        user_id: String,
        #[row_key(ts(unit = "millis"))]
        at: SystemTime,
    }

    let key = |millis: u64| Key { user_id: "alice".into(), at: micros(millis * 1000) };
    assert_stored(&key(DECEMBER * 1000 - 1000), b"alice#1796083199000");
    assert_stored(&key(DECEMBER * 1000 - 1), b"alice#1796083199999");
    assert_stored(&key(DECEMBER * 1000), b"1!alice#1796083200000");
    // A finer time is rounded down, before the bound too.
    let late = Key { user_id: "alice".into(), at: micros(DECEMBER * 1_000_000 - 1) };
    assert_eq!(late.encode().unwrap(), b"alice#1796083199999");
}

#[test]
fn reversed_times_in_three_epochs() {
    assert_stored(&event(JUNE * 1_000_000 - 1), b"alice#9221591764854775808#0007");
    assert_stored(&event(JUNE * 1_000_000), b"1!alice#9221591764854775807#0007");
    assert_stored(&event(DECEMBER * 1_000_000 - 1), b"1!alice#9221575953654775808#0007");
    assert_stored(&event(DECEMBER * 1_000_000), b"05!alice#9221575953654775807#0007");
    assert_eq!(event(0).salt_bucket().unwrap(), None);
    assert_eq!(event(JUNE * 1_000_000).salt_bucket().unwrap(), Some(1));
    assert_eq!(event(DECEMBER * 1_000_000).salt_bucket().unwrap(), Some(5));
}

#[test]
fn dates_after_digits_of_another_width_than_the_bucket() {
    #[derive(RowKey, Debug, PartialEq)]
    #[salt(range = 8, over = "meter", since(date = "2026-12-01"))]
    struct Key {
        meter: u32,
        date: chrono::NaiveDate,
    }

    let key =
        |month, day| Key { meter: 42, date: chrono::NaiveDate::from_ymd_opt(2026, month, day).unwrap() };
    assert_stored(&key(11, 30), b"0000000042#20261130");
    assert_stored(&key(12, 1), b"4#0000000042#20261201");
}

#[test]
fn calendar_digits_behind_a_tag() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(tag = "BATTERY")]
    #[salt(range = 4, over = "user", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
    struct Key {
        user: String,
        #[row_key(ts(format = "datetime17"))]
        at: SystemTime,
    }

    let key = |millis: u64| Key { user: "Corrie".into(), at: micros(millis * 1000) };
    assert_stored(&key(DECEMBER * 1000 - 1), b"BATTERY#Corrie#20261130235959999");
    assert_stored(&key(DECEMBER * 1000), b"BATTERY#0!Corrie#20261201000000000");
}

#[test]
fn seconds_in_the_ordered_layout() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(layout = "ordered")]
    #[salt(range = 4, over = "user", since(at = "2026-12-01T00:00:00Z"))]
    struct Key {
        user: String,
        #[row_key(ts(unit = "secs"))]
        at: SystemTime,
    }

    let key = |seconds: u64| Key { user: "alice".into(), at: micros(seconds * 1_000_000) };
    assert_stored(&key(DECEMBER - 1), b"alice\x00\x01\xf8\x6b\x0e\x0d\xff");
    assert_stored(&key(DECEMBER), b"\x81\x00\x01alice\x00\x01\xf8\x6b\x0e\x0e\x00\xff");
    assert_eq!(Key::SCHEMA.epochs()[0].stored_since(), b"\xf8\x6b\x0e\x0e\x00\xff");
}

#[test]
fn buckets_of_as_many_digits_are_shared() {
    #[derive(RowKey, Debug, PartialEq)]
    #[salt(range = 4, over = "host")]
    #[salt(range = 8, over = "host", since(at = 1796083200))]
    struct Key {
        host: String,
        #[pad(10)]
        at: u64,
    }

    let key = |host: &str, at| Key { host: host.into(), at };
    assert_stored(&key("alice", DECEMBER - 1), b"1#alice#1796083199");
    assert_stored(&key("bob", DECEMBER - 1), b"1#bob#1796083199");
    assert_stored(&key("alice", DECEMBER), b"5#alice#1796083200");
    assert_stored(&key("bob", DECEMBER), b"1#bob#1796083200");

    // One stream reads the bucket of both salts.
    let plan: Plan<Key> = Key::scan().host("bob").into_plan().unwrap();
    assert_eq!(plan.requests().len(), 1);
    assert!(plan.explain().to_string().contains("\n  1 of 4, 8    [1#bob#, 1#bob$)"), "{}", plan.explain());
}

#[test]
fn borrowed_and_hashed_fields() {
    #[derive(RowKey, Debug, PartialEq)]
    #[row_key(salt(range = 4, over(user), sep = "!", since(at = 1_796_083_200)))]
    struct Borrowed<'a> {
        user: &'a str,
        #[pad(10)]
        at: u64,
    }

    #[derive(RowKey)]
    #[row_key(allow(point_reads))]
    #[salt(range = 4, over = "user", since(at = 1796083200))]
    struct Hashed {
        #[row_key(hash(md5))]
        user: String,
        #[pad(10)]
        at: u64,
    }

    for (at, stored) in [(DECEMBER - 1, "alice#1796083199"), (DECEMBER, "1!alice#1796083200")] {
        let key = Borrowed { user: "alice", at };
        assert_eq!(key.to_text().unwrap(), stored);
        assert_eq!(Borrowed::decode(stored.as_bytes()).unwrap(), key);
        assert_eq!(
            Borrowed::scan().user("alice").at(at).into_plan().unwrap().requests()[0].keys(),
            [stored.as_bytes()]
        );
    }
    let hash = "6384e2b2184bcbf58eccf10ca7a6563c";
    let salted = format!("{}#", Hashed::SCHEMA.epochs()[0].salt().bucket(hash.as_bytes()));
    for (at, salt) in [(DECEMBER - 1, ""), (DECEMBER, salted.as_str())] {
        let key = Hashed { user: "alice".into(), at };
        let stored = key.to_text().unwrap();
        assert_eq!(stored, format!("{salt}{hash}#{at}"));
        assert_eq!(Hashed::decode(stored.as_bytes()).unwrap().as_bytes(), stored.as_bytes());
        assert_eq!(
            Hashed::scan().user("alice").at(at).into_plan().unwrap().requests()[0].keys(),
            [stored.as_bytes()]
        );
    }
}

#[test]
fn a_key_in_the_layout_of_another_epoch_is_not_decoded() {
    let error = EventKey::decode(b"alice#9221591764854775807#0007").unwrap_err();
    assert_eq!(
        error.to_string(),
        "row key `alice#9221591764854775807#0007` does not decode as `EventKey`: it has no salt before its fields: a bucket \
         from 0 to 3, zero padded, followed by `!`, which keys have since 2026-06-01T00:00:00Z; a program that does not \
         know this salt wrote it"
    );
    for key in [
        &b"1!alice#9221591764854775808#0007"[..],
        b"05!alice#9221575953654775808#0007",
        b"5!alice#9221575953654775807#0007",
        b"1!alice#9221575953654775807#0007",
        b"alice#9221575953654775807#0007",
        b"04!alice#9221575953654775807#0007",
        b"0007",
        b"#0007",
        b"9221575953654775807#0007",
    ] {
        EventKey::decode(key).unwrap_err();
    }
}

/// What looks like a bucket is called one, and no number of more digits than a bucket has.
#[test]
fn a_number_in_place_of_a_salt_is_named() {
    let said = |number: &str| {
        let key = format!("{number}!alice#9221575953654775807#0007");
        EventKey::decode(key.as_bytes()).unwrap_err().to_string()
    };
    let text = said("12345");
    assert!(text.contains("`12345`"), "{text}");
    let text = said("123456");
    assert!(text.contains("it has no salt before its fields"), "{text}");
}

#[derive(RowKey)]
#[salt(range = 1000, over = "user", sep = "!")]
#[salt(range = 10, over = "user", sep = "!", since(at = "2026-06-01T00:00:00Z"))]
#[salt(range = 4096, over = "user", sep = "!", since(at = "2026-12-01T00:00:00Z"))]
struct LongKey {
    user: String,
    #[row_key(ts(unit = "secs"))]
    at: SystemTime,
}

/// In the second epoch alone, a user of so many bytes is in a key.
#[test]
fn a_plan_needs_one_epoch_that_has_room() {
    const ROOM: usize = 4096 - "0!".len() - "#1780272000".len();
    let user = |len: usize| "x".repeat(len);
    let key = |len, at| LongKey { user: user(len), at: micros(at * 1_000_000) };
    assert_eq!(key(ROOM, JUNE).encode().unwrap().len(), 4096);
    assert!(key(ROOM, JUNE - 1).encode().is_err() && key(ROOM, DECEMBER).encode().is_err());

    assert!(LongKey::scan().user(&user(ROOM)).into_plan().is_ok());
    let error = LongKey::scan().user(&user(ROOM + 1)).into_plan().unwrap_err();
    assert!(error.to_string().contains("4096"), "{error}");
    let at = |epochs: &[u64]| {
        let times = epochs.iter().map(|at| micros(at * 1_000_000));
        LongKey::scan().user(&user(ROOM)).at_any_of(times.collect::<Vec<_>>()).into_plan().is_ok()
    };
    assert!(at(&[JUNE, JUNE + 1]));
    assert!(!at(&[JUNE, JUNE + 1, DECEMBER]));
}

#[test]
fn a_plan_in_words() {
    let words = |plan: &keyderive::plan::Explain| {
        let text = plan.to_string();
        text[text.find("\n  epochs").unwrap()..].to_owned()
    };
    assert_eq!(
        words(&EventKey::scan().user_id("alice").explain().unwrap()),
        "
  epochs       no salt; 4 since 2026-06-01T00:00:00Z; 16 since 2026-12-01T00:00:00Z
  order        by at, greatest first; then seq; merged from 3 streams
  no salt      [alice#, alice$)
  1 of 4       [1!alice#, 1!alice$)
  5 of 16      [05!alice#, 05!alice$)"
    );
    let (june, december) = (micros(JUNE * 1_000_000), micros(DECEMBER * 1_000_000));
    assert_eq!(
        words(&EventKey::scan().user_id("alice").at_range(june..december).explain().unwrap()),
        "
  epochs       4 since 2026-06-01T00:00:00Z; 2 more excluded by at
  order        by at, greatest first; then seq
  1 of 4       [1!alice#9221575953654775808, 1!alice#9221591764854775808)"
    );
    assert_eq!(
        words(&EventKey::scan().user_id("alice").at_range(..june).explain().unwrap()),
        "
  epochs       no salt; 2 more excluded by at
  order        by at, greatest first; then seq
  no salt      [alice#9221591764854775808, alice$)"
    );
    assert_eq!(
        words(&EventKey::scan().user_id("alice").at(december).seq(7).explain().unwrap()),
        "
  epochs       16 since 2026-12-01T00:00:00Z; 2 more excluded by at
  5 of 16      05!alice#9221575953654775807#0007"
    );
    assert_eq!(
        words(&EventKey::scan().user_id_prefix("1").explain().unwrap()).lines().nth(3).unwrap(),
        "  no salt      [1, 1!)"
    );
}

/// The keys without a salt are read around all buckets, each row by one request.
#[test]
fn keys_without_a_salt_are_read_around_the_buckets() {
    let plan: Plan<EventKey> = EventKey::scan().user_id_range("0".."2").into_plan().unwrap();
    let requests = plan.requests();
    let unsalted = &requests[0];
    assert_eq!(unsalted.bucket(), None);
    let text: Vec<_> = unsalted.ranges().iter().map(ToString::to_string).collect();
    assert_eq!(text.len(), 1 + 2 + 16, "{text:?}");
    assert_eq!(text[..4], [r"[0, 0!)", "[0\", 00!)", "[00\", 01!)", "[01\", 02!)"]);
    assert_eq!(text[text.len() - 1], "[15\", 2)");
}

#[test]
fn splits_are_at_all_buckets() {
    let splits: Vec<_> = EventKey::SCHEMA
        .bucket_splits()
        .iter()
        .map(|split| String::from_utf8_lossy(split).into_owned())
        .collect();
    assert_eq!(splits.len(), 4 + 16);
    assert_eq!(splits[..3], ["0!", "00!", "01!"]);
    assert!(splits.is_sorted());
}

#[test]
fn the_layout_as_data() {
    let schema = EventKey::SCHEMA;
    assert_eq!(schema.template().to_string(), "[<salt by at>!]<user_id>#<at>#<seq>");
    assert_eq!((schema.min_len(), schema.salt()), (25, None));
    assert_eq!(schema.offset(0), None);
    let json = serde_json::to_value(schema).unwrap();
    assert_eq!(json["salt"], serde_json::Value::Null);
    assert_eq!(
        json["epochs"],
        serde_json::json!([
            {
                "field": "at", "since": "2026-06-01T00:00:00Z", "stored": "39323231353931373634383534373735383037",
                "salt": {"range": 4, "hash": "farm", "place": "before_fields", "sep": "!", "over": ["user_id"]},
            },
            {
                "field": "at", "since": "2026-12-01T00:00:00Z", "stored": "39323231353735393533363534373735383037",
                "salt": {"range": 16, "hash": "farm", "place": "before_fields", "sep": "!", "over": ["user_id"]},
            },
        ])
    );
    assert_eq!(
        schema.to_string().lines().nth(1).unwrap(),
        "  salt     bucket      byte 0           0 to 2 bytes         by `at`: none; since 2026-06-01T00:00:00Z: 0 to 3, \
         FarmHash of user_id, `!` after it; since 2026-12-01T00:00:00Z: 00 to 15, FarmHash of user_id, `!` after it"
    );
    for error in [schema.row_key_schema().map(drop).unwrap_err(), schema.sql().map(drop).unwrap_err()] {
        assert!(error.to_string().contains("2026-06-01T00:00:00Z"), "{error}");
    }
}

/// The input of the hash that `FORMAT.md` lists.
#[test]
fn fingerprints_are_those_of_the_format() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut part = |bytes: &[u8]| {
        for byte in bytes.iter().chain([&0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let number = |number: u64| number.to_be_bytes();
    part(b"keyderive key format 1");
    part(b"text");
    part(b"#");
    for (stored, range) in [(b"9221591764854775807", 4), (b"9221575953654775807", 16)] {
        part(b"since");
        part(&number(1));
        part(stored);
        part(b"salt");
        part(&number(range));
        part(b"sep");
        part(b"!");
        part(&number(0));
    }
    for text in
        ["field", "user_id", "utf-8", "delimited", "ascending", "field", "at", "unix microseconds", "fixed"]
    {
        part(text.as_bytes());
    }
    part(&number(19));
    part(b"reversed from");
    part(&number(i64::MAX.unsigned_abs()));
    for text in ["field", "seq", "decimal", "fixed"] {
        part(text.as_bytes());
    }
    part(&number(4));
    part(b"ascending");
    assert_eq!(EventKey::fingerprint().to_string(), format!("{hash:016x}"));
}
