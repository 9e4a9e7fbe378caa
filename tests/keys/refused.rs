//! Law 7: a value that a key cannot hold is an error that names the field, the value, the limit and the remedy.

use keyderive::RowKey;

use crate::assert_says;
use crate::keys::{Battery, Event, Name, Names, Quote};

fn event() -> Event {
    Event { user_id: "alice".into(), site: "home".into(), at: 1_426_535_612_156, seq: 42 }
}

fn quote() -> Quote {
    Quote { exchange: "NASDAQ".into(), symbol: "ZXZZT".into(), at: 1_426_535_612_156 }
}

#[track_caller]
fn assert_refused<K: RowKey>(key: &K, field: &str, parts: &[&str]) {
    let error = key.encode().unwrap_err();
    assert_eq!(error.field_name(), Some(field));
    assert_says(&error, &[K::SCHEMA.key_type(), field]);
    assert_says(&error, parts);
    // `unwrap` prints this.
    assert_eq!(format!("{error:?}"), format!("EncodeError({error})"));
}

#[test]
fn bytes_at_and_below_the_delimiter() {
    for (text, byte) in [
        ("al#ice", "`#` (0x23)"),
        ("al ice", "a space (0x20)"),
        // The first of them.
        ("al#i ce", "`#` (0x23)"),
        ("alice\0", "0x00"),
        ("\"alice", "`\"` (0x22)"),
        ("\n", "0x0a"),
    ] {
        let key = Event { user_id: text.into(), ..event() };
        assert_refused(
            &key,
            "user_id",
            &[&format!("{text:?} contains {byte};"), "delimiter `#`", "`#[row_key(escape)]`"],
        );
        // A padded string holds no byte below a space.
        let remedy = key.encode().unwrap_err().to_string();
        assert_eq!(remedy.contains("`#[pad(n)]`"), !text.contains(['\0', '\n']), "{remedy}");
    }
    // The least byte that a delimited field holds is one above the delimiter.
    assert!(Event { user_id: "$".into(), ..event() }.encode().is_ok());
}

#[test]
fn numbers_over_their_digits() {
    let key = Event { seq: 1_000_000, ..event() };
    assert_refused(&key, "seq", &["1000000", "padded to 6 digits", "999999"]);
    assert_refused(&Quote { at: -1, ..quote() }, "at", &["-1 is negative", "stores no sign"]);
}

#[test]
fn times_past_the_maximum() {
    let key = Event { at: u64::MAX, ..event() };
    assert_refused(&key, "at", &["18446744073709551615", "0 to 9223372036854775807"]);
    let key = Battery { user: "Corrie".into(), level: 5, at: 10_000_000_000_000 };
    assert_refused(&key, "at", &["10000000000000", "0 to 9999999999999"]);
    let key = Battery { user: "Corrie".into(), level: 5, at: -1 };
    assert_refused(&key, "at", &["-1", "0 to 9999999999999"]);
}

#[test]
fn padded_strings() {
    let exchange = |exchange: &str| Quote { exchange: exchange.into(), ..quote() };
    assert_refused(&exchange("NASDAQ2"), "exchange", &["\"NASDAQ2\" is 7 bytes", "`#[pad(6)]` holds 6"]);
    assert_refused(&exchange("NYSE "), "exchange", &["\"NYSE \" ends in a space", "trim it"]);
    assert_refused(&exchange("NY\tSE"), "exchange", &["0x09", "pads with spaces"]);
    assert_refused(&exchange("éééé"), "exchange", &["8 bytes"]);
}

#[test]
fn keys_over_4096_bytes_are_refused_both_ways() {
    let names = |len: usize| Names { first: "a".repeat(len), second: String::new(), third: String::new() };
    assert_eq!(names(4094).encode().unwrap().len(), 4096);
    let error = names(4095).encode().unwrap_err();
    assert!(error.is_too_long());
    assert_eq!(
        error.to_string(),
        "the row key of this `Names` is 4097 bytes; Bigtable allows 4096: \
         shorten its strings, or keep them in columns"
    );
    let long = [b"a".repeat(4095), b"##".to_vec()].concat();
    assert!(
        Names::decode(&long)
            .unwrap_err()
            .to_string()
            .ends_with("it is 4097 bytes long; a row key has 1 to 4096")
    );
}

#[test]
fn empty_keys_are_refused_both_ways() {
    let empty = Name { name: String::new() };
    let error = empty.encode().unwrap_err();
    assert!(error.is_empty_key());
    assert_eq!(
        error.to_string(),
        "the row key of this `Name` is empty; Bigtable needs at least 1 byte: give its only field a value, or the key a tag"
    );
    assert!(Name::decode(b"").is_err());
}

#[test]
fn a_wrong_bucket_is_refused() {
    let mut bytes = event().encode().unwrap();
    bytes[0] = b'3';
    let error = Event::decode(&bytes).unwrap_err();
    assert!(error.is_wrong_bucket());
    assert_eq!(error.key(), bytes);
    bytes[0] = b'4';
    assert!(Event::decode(&bytes).unwrap_err().to_string().contains("bucket `4` is not 0 to 3"));
}

/// Fixing a field to such a value is the same error, at every depth; a plan reports the first one.
#[test]
fn scans_for_such_values() {
    let error = Event::scan().user_id("al#ice").site("ho#me").into_plan().unwrap_err();
    assert_eq!(error.field_name(), Some("user_id"));
    let said = error.to_string();
    assert!(said.starts_with("the scan cannot be planned: field `user_id` of `Event`: \"al#ice\""), "{said}");
    let error = Event::scan().user_id("alice").site("home").at(5).seq(1_000_000).explain().unwrap_err();
    assert_eq!(error.field_name(), Some("seq"));
    let long = "a".repeat(5000);
    assert_says(Event::scan().user_id(&long).into_plan().unwrap_err(), &["Bigtable allows 4096"]);
}

/// A decode error shows the key and the field at fault: as text, also in hexadecimal if the text has escapes.
#[test]
fn keys_that_are_not_of_the_type() {
    for (key, parts) in [
        ("1#alice#home#9223370610319163651#00004x", &["field `seq`", "00004x"][..]),
        ("1#alice#home#9223370610319163651#0000042", &["after the last field"]),
        ("1#alice#home#9223370610319163651", &["field `at`", "the key ends after it"]),
        ("1#alice#home", &["field `site`", "end of the key"]),
        ("1#alice#ho me#9223370610319163651#000042", &["field `site`", "a space (0x20)"]),
        ("alice", &["a bucket from 0 to 3"]),
        ("1alice", &["a bucket from 0 to 3"]),
        ("\u{1}", &["`\\x01`", "hex 01"]),
    ] {
        let error = Event::decode(key.as_bytes()).unwrap_err();
        assert_says(&error, &["`Event`"]);
        assert_says(&error, parts);
    }
    let error = Battery::decode(b"METRIC-0001-Corrie-000005-0000000000000").unwrap_err();
    assert!(error.is_other_tag());
    assert!(error.to_string().contains("the tag `BATTERY`"));
}

/// The strings of a key are checked together first; the error still names the field.
#[test]
fn strings_that_are_not_utf_8() {
    for (key, field, fault) in [
        (&b"1#al\xffce#home#9223370610319163651#000042"[..], "field `user_id`", "not UTF-8 from byte 2 "),
        (b"1#alice#hom\xc3#9223370610319163651#000042", "field `site`", "not UTF-8 from byte 3 "),
        (b"1#alice#\xa9home#9223370610319163651#000042", "field `site`", "not UTF-8 from byte 0 "),
        (b"1#alice#home#9223370610319163651#00004\xff", "field `seq`", "decimal digits"),
        (b"1#alice#home#\xff223370610319163651#000042", "field `at`", "19 digits"),
    ] {
        assert_says(Event::decode(key).unwrap_err(), &[field, fault]);
    }
}

#[derive(RowKey)]
#[salt(range = 100, hash = "java")]
struct Sampled {
    site: String,
    name: String,
}

#[derive(RowKey)]
#[salt(range = 400)]
#[row_key(layout = "ordered")]
struct OrderedPair {
    site: String,
    name: String,
}

/// A list is rejected exactly if one of its values is. Close to the limit, this depends on the bucket of each value, and
/// in the ordered layout on the dropped fields at the end.
#[test]
fn lists_at_the_greatest_length() {
    let (mut taken, mut refused) = (0, 0);
    let mut same = |list: bool, each: &[bool]| {
        assert_eq!(list, each.iter().all(|taken| *taken), "{each:?}");
        taken += usize::from(list);
        refused += usize::from(!list && each.contains(&true));
    };
    for len in 4080..=4096 {
        let sites: Vec<_> = ('a'..='z').map(|site| site.to_string().repeat(len)).collect();
        for sites in sites.windows(3).chain([&sites[..]]) {
            let each: Vec<_> =
                sites.iter().map(|site| Sampled::scan().site(site).name("").into_plan().is_ok()).collect();
            same(Sampled::scan().site_any_of(sites).name("").into_plan().is_ok(), &each);
            let each: Vec<_> = sites
                .iter()
                .map(|site| OrderedPair::scan().site(site).name("x").into_plan().is_ok())
                .collect();
            same(OrderedPair::scan().site_any_of(sites).name("x").into_plan().is_ok(), &each);
            let names = ["", "x"];
            let each: Vec<_> = names
                .iter()
                .map(|name| OrderedPair::scan().site(&sites[0]).name(name).into_plan().is_ok())
                .collect();
            same(OrderedPair::scan().site(&sites[0]).name_any_of(names).into_plan().is_ok(), &each);
        }
    }
    assert!(taken > 100 && refused > 10, "{taken} {refused}");
}

/// In the ordered layout a bucket takes one to three bytes, so of two values of one length a key may hold one alone.
#[test]
fn lists_in_the_ordered_layout_with_buckets_of_several_lengths() {
    let is_planned = |sites: &[String]| OrderedPair::scan().site_any_of(sites).name("x").into_plan().is_ok();
    let mut lengths = 0;
    for len in 4084..=4094 {
        let sites = (0..1000).map(|number| format!("{number:0len$}"));
        let (held, refused): (Vec<_>, Vec<_>) =
            sites.partition(|site| OrderedPair::scan().site(site).name("x").into_plan().is_ok());
        let (Some(held), Some(refused)) = (held.first(), refused.first()) else { continue };
        assert!(is_planned(std::slice::from_ref(held)), "{len} bytes");
        assert!(!is_planned(&[held.clone(), refused.clone()]), "{len} bytes");
        lengths += 1;
    }
    assert_eq!(lengths, 2);
}

/// The fields that are not fixed need room, too.
#[test]
fn fixed_fields_that_leave_no_room_are_refused() {
    #[derive(RowKey)]
    struct Padded {
        name: String,
        #[pad(4)]
        _day: u32,
        #[pad(4)]
        _hour: u32,
    }
    let plan = |len: usize| Padded::scan().name(&"x".repeat(len)).into_plan();
    assert!(plan(4086).is_ok());
    assert!(plan(4087).unwrap_err().to_string().contains("4096"));
}
