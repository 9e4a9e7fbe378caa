//! Published bugs of handwritten ranges and salts: one test for each report.

use std::ops::Bound;

use keyderive::RowKey;
use keyderive::key::fingerprint64;
use keyderive::plan::{KeyRange, Plan, Request};

use crate::keys::Event;
use crate::stored::asks_for;

/// A string salted by itself.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 100, over = "key")]
struct Verbatim {
    key: String,
    part: String,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
struct Login {
    kind: String,
    #[reverse_ts]
    at: u64,
    id: String,
}

/// Those of the keys that `plan` reads.
fn asked<K>(plan: &Plan<K>, keys: &[Vec<u8>]) -> Vec<String> {
    let requests = plan.requests();
    let asked = keys.iter().filter(|key| asks_for(&requests, key));
    asked.map(|key| String::from_utf8_lossy(key).into_owned()).collect()
}

fn login(kind: &str, at: u64, id: &str) -> Vec<u8> {
    Login { kind: kind.into(), at, id: id.into() }.encode().unwrap()
}

/// A scan from `salt:key` and not from `salt:key:` returned the rows of `10:1234` for `10:123`, where both were in one
/// bucket: <https://github.com/gbif/occurrence/issues/292>, <https://github.com/gbif/pipelines/issues/775>.
#[test]
fn rows_of_a_longer_value_are_not_returned_for_a_shorter_one() {
    let key = |key: &str| Verbatim { key: key.into(), part: "567".into() }.encode().unwrap();
    let bucket = |key: &str| fingerprint64(key.as_bytes()).cast_signed().rem_euclid(100);
    let longer = (0..).map(|end| format!("123{end}")).find(|longer| bucket(longer) == bucket("123")).unwrap();
    let (short, long) = (key("123"), key(&longer));
    assert_eq!(short[..6], long[..6], "both begin with the salt and 123");
    let plan = Verbatim::scan().key("123").into_plan().unwrap();
    assert_eq!(asked(&plan, &[short.clone(), long]), [String::from_utf8(short).unwrap()]);
}

/// An end made from text did nothing for bytes over 127: <https://github.com/googleapis/java-bigtable-hbase/issues/2509>.
///
/// The next string of `phone#` is `phonf#` in Ruby, between which lie the rows of `phone$`:
/// <https://github.com/googleapis/google-cloud-ruby/issues/18270>.
///
/// `chr(ord(last) + 1)` has no answer for the greatest byte:
/// <https://github.com/googleapis/google-cloud-node/issues/1790>, <https://github.com/googleapis/python-bigtable/issues/24>,
/// <https://github.com/apache/beam/issues/20495>, <https://github.com/googleapis/google-cloud-cpp/issues/1926>.
#[test]
fn the_end_of_a_prefix_is_the_next_bytes() {
    let cases: [(&[u8], Option<&[u8]>); 9] = [
        (&[0x80], Some(&[0x81])),
        ("é".as_bytes(), Some(&[0xc3, 0xaa])),
        (&[0x7f], Some(&[0x80])),
        (b"phone#", Some(b"phone$")),
        (&[0x01, 0xff], Some(&[0x02])),
        (&[0x01, 0xff, 0xff], Some(&[0x02])),
        (&[0xff], None),
        (&[0xff, 0xff], None),
        (&[], None),
    ];
    for (prefix, end) in cases {
        assert_eq!(KeyRange::prefix(prefix).end(), end, "{}", prefix.escape_ascii());
    }
    assert!(!KeyRange::prefix(b"phone#").contains(b"phoned#1"));
    let plan = Login::scan().kind_prefix("é").into_plan().unwrap();
    assert_eq!(asked(&plan, &[login("é", 1, ""), login("éa", 1, ""), login("ê", 1, "")]).len(), 2);
}

/// `get_end_key_for_prefix` of `bigtable_rs` 0.4.2 ends `01 ff` at `02 00`, so that the row `02` is returned too:
/// <https://github.com/liufuyang/bigtable_rs>.
#[test]
fn a_row_right_after_a_prefix_is_not_in_it() {
    let range = KeyRange::prefix(&[0x01, 0xff]);
    assert!(range.contains(&[0x01, 0xff]) && range.contains(&[0x01, 0xff, 0xff]));
    assert!(!range.contains(&[0x02]));
}

/// Calls of `bigtable_rs` take one range, but users need many: <https://github.com/liufuyang/bigtable_rs/issues/97>.
#[test]
fn many_ranges_are_one_request() {
    let plan = Login::scan().kind_any_of(["login", "logout", "reset"]).at_range(5..=7).into_plan().unwrap();
    let [request] = &plan.requests()[..] else { panic!("{plan:?} is not one request") };
    assert_eq!(request.ranges().len(), 3);
}

/// A prefix together with a start was treated as the prefix alone: <https://github.com/googleapis/nodejs-bigtable/issues/278>.
#[test]
fn a_fixed_field_and_a_range_hold_together() {
    let plan = Login::scan().kind("login").at_range(5..).into_plan().unwrap();
    let keys =
        [login("login", 4, "a"), login("login", 5, "a"), login("login", 6, "a"), login("logout", 6, "a")];
    assert_eq!(asked(&plan, &keys).len(), 2);
}

/// An inclusive end at the first part of a key left out longer keys that begin with it:
/// <https://github.com/googleapis/java-bigtable/pull/445>.
#[test]
fn a_closed_end_has_all_rows_of_its_value() {
    let plan = Login::scan().kind("login").at_range(3..=5).into_plan().unwrap();
    let keys = [3, 5].map(|at| login("login", at, "uuid"));
    assert_eq!(asked(&plan, &keys).len(), 2);
    assert_eq!(asked(&plan, &[login("login", 2, "uuid"), login("login", 6, "")]), [""; 0]);
}

/// A range from a key with a limit of one returned the next row, so that a signature that was nowhere was found in an
/// old block: <https://github.com/solana-labs/solana/pull/11999>.
#[test]
fn a_whole_key_is_a_point_read_and_no_range() {
    let plan = Login::scan().kind("login").at(5).id("x").into_plan().unwrap();
    assert!(plan.is_point_read());
    let [request] = &plan.requests()[..] else { panic!("{plan:?} is not one request") };
    assert_eq!((request.keys(), request.ranges()), (&[login("login", 5, "x")][..], &[][..]));
    // The next key is another row.
    assert!(!request.asks_for(&login("login", 5, "xa")));
    assert!(!request.asks_for(&login("login", 4, "x")));
}

/// Several whole keys are several rows, and not the range between them: the same report.
#[test]
fn several_whole_keys_are_point_reads() {
    let plan = Login::scan().kind("login").at_any_of([5, 9]).id("x").into_plan().unwrap();
    let [request] = &plan.requests()[..] else { panic!("{plan:?} is not one request") };
    assert_eq!(request.keys(), [login("login", 9, "x"), login("login", 5, "x")]);
    assert_eq!(request.ranges(), []);
}

/// Everything after a time was `uaid#02:{ts}z`, of which the `z` stands for all that can follow; without it the message
/// at that time was read again: `fetch_timestamp_messages` in <https://github.com/mozilla-services/autopush-rs/pull/577>.
#[test]
fn everything_after_a_time_leaves_out_all_rows_of_that_time() {
    #[derive(RowKey)]
    struct Message {
        uaid: String,
        at: u64,
        channel: String,
    }
    let key = |at, channel: &str| Message { uaid: "u".into(), at, channel: channel.into() }.encode().unwrap();
    let after = (Bound::Excluded(7), Bound::Unbounded);
    let plan = Message::scan().uaid("u").at_range(after).into_plan().unwrap();
    let at_7 = [key(7, ""), key(7, "00ff"), key(7, "zz"), key(7, "~\u{10ffff}")];
    assert_eq!(asked(&plan, &at_7), [""; 0]);
    assert_eq!(asked(&plan, &[key(8, ""), key(u64::MAX, "zz")]).len(), 2);
}

/// A range returns all rows, so that rows of another kind within it were filtered by a regular expression, until the
/// keys were changed: <https://github.com/mozilla-services/autopush-rs/pull/564>,
/// <https://github.com/mozilla-services/autopush-rs/pull/364>.
#[test]
fn rows_of_another_kind_are_out_of_range() {
    #[derive(RowKey)]
    #[row_key(tag = "message")]
    struct Message {
        uaid: String,
        at: u64,
    }
    #[derive(RowKey)]
    #[row_key(tag = "meta")]
    struct Meta {
        uaid: String,
        chid: String,
    }
    let message = Message { uaid: "u".into(), at: 7 }.encode().unwrap();
    let meta = Meta { uaid: "u".into(), chid: "c".into() }.encode().unwrap();
    for plan in [Message::scan().into_plan().unwrap(), Message::scan().uaid("u").into_plan().unwrap()] {
        assert_eq!(asked(&plan, &[message.clone(), meta.clone()]), ["message#u#00000000000000000007"]);
    }
}

/// A prefix as a filter read the whole table: <https://github.com/googleapis/java-bigtable-hbase/issues/1087>,
/// <https://github.com/googleapis/nodejs-bigtable/pull/1024>.
#[test]
fn a_prefix_is_a_range_and_no_full_scan() {
    let plan = Login::scan().kind_prefix("log").into_plan().unwrap();
    assert_eq!(plan.requests()[0].ranges(), [KeyRange::prefix(b"log")]);
}

/// The last bucket was not scanned where a range was open at its end, since the empty stop key came before all others:
/// <https://issues.apache.org/jira/browse/PHOENIX-7580>, <https://github.com/apache/phoenix/pull/2109>.
#[test]
fn the_last_bucket_is_scanned_to_its_end() {
    let greatest = Event { user_id: "\u{10ffff}".into(), site: "\u{10ffff}".into(), at: 0, seq: 999_999 };
    for plan in [
        Event::scan().into_plan().unwrap(),
        Event::scan().user_id_range("a"..).into_plan().unwrap(),
        Event::scan().user_id_range("a".."\u{10ffff}\u{10ffff}").into_plan().unwrap(),
    ] {
        let requests = plan.requests();
        assert_eq!(requests.iter().filter_map(Request::bucket).collect::<Vec<_>>(), [0, 1, 2, 3]);
        for bucket in b'0'..b'4' {
            let mut key = greatest.encode().unwrap();
            key[0] = bucket;
            assert!(asks_for(&requests, &key), "bucket {bucket}");
        }
    }
}

/// An empty stop key is the end of the table, an empty start key its beginning: the same report.
#[test]
fn an_absent_end_is_not_an_empty_one() {
    let open = KeyRange::new("a", None);
    assert!(!open.is_empty() && open.contains(b"b") && open.contains(&[0xff; 4096]));
    let none = KeyRange::new("a", Some(Vec::new()));
    assert!(none.is_empty() && !none.contains(b"b") && !none.contains(b""));
    assert_eq!(
        open.intersection(&KeyRange::new("", Some(b"c".to_vec()))),
        KeyRange::new("a", Some(b"c".to_vec()))
    );
    assert_eq!(open.intersection(&KeyRange::new("b", None)), KeyRange::new("b", None));
    assert!(open.intersection(&none).is_empty());
}

/// An inverted range is empty, not all rows and not an error: the same report.
#[test]
#[allow(clippy::reversed_empty_ranges)] // They are the case under test.
fn a_reversed_range_sends_nothing() {
    for plan in [
        Login::scan().kind_range("b".."a").into_plan().unwrap(),
        Login::scan().kind("login").at_range(7..3).into_plan().unwrap(),
        Login::scan().kind_any_of(["login", "reset"]).at_range(7..=6).into_plan().unwrap(),
        Login::scan().kind_any_of([""; 0]).at_range(3..7).into_plan().unwrap(),
    ] {
        assert!(plan.is_empty());
        assert_eq!(plan.requests(), []);
    }
}

/// Wrong rows where a field of variable length stood in a salted key:
/// <https://issues.apache.org/jira/browse/PHOENIX-5262>.
#[test]
fn fields_of_variable_length_do_not_run_into_the_next() {
    let key = |user_id: &str, site: &str| {
        Event { user_id: user_id.into(), site: site.into(), at: 7, seq: 0 }.encode().unwrap()
    };
    let plan = Event::scan().user_id("a").site("bc").into_plan().unwrap();
    let keys = [key("a", "bc"), key("ab", "c"), key("a", "b"), key("", "abc"), key("a", "bcc")];
    assert_eq!(asked(&plan, &keys), [String::from_utf8(keys[0].clone()).unwrap()]);
}

/// Wrong results for the rows in reversed order, and for those in the order of the whole key:
/// <https://issues.apache.org/jira/browse/PHOENIX-3014>, <https://issues.apache.org/jira/browse/PHOENIX-2125>.
/// The law `requests_merge_into_logical_order` shows that a plan claims no order that its rows lack.
#[test]
fn a_range_of_a_reversed_field_bounds_its_values() {
    let plan = Login::scan().kind("login").at_range(3..5).into_plan().unwrap();
    let keys = [2, 3, 4, 5].map(|at| login("login", at, "x"));
    assert_eq!(asked(&plan, &keys), [1, 2].map(|at: usize| String::from_utf8(keys[at].clone()).unwrap()));
}

/// The hash that is the least number has no absolute value: <https://issues.apache.org/jira/browse/PHOENIX-1472>. This
/// is a text with that hash in Java.
#[test]
fn the_least_hash_has_a_bucket() {
    #[derive(RowKey)]
    #[salt(range = 3, sep = "-", hash = "java")]
    struct Java {
        name: String,
    }
    assert_eq!(i32::MIN % 3, -2);
    let key = Java { name: "polygenelubricants".into() }.encode().unwrap();
    assert_eq!(key, b"-2-polygenelubricants");
    assert!(asks_for(&Java::scan().into_plan().unwrap().requests(), &key));
    assert!(asks_for(&Java::scan().name("polygenelubricants").into_plan().unwrap().requests(), &key));
}

/// Data and index of different bucket counts were mixed up: <https://issues.apache.org/jira/browse/PHOENIX-7239>,
/// <https://issues.apache.org/jira/browse/PHOENIX-7409>, <https://issues.apache.org/jira/browse/PHOENIX-6854>.
#[test]
fn a_plan_of_another_bucket_count_is_refused() {
    #[derive(RowKey)]
    #[salt(range = 4)]
    struct Four {
        _name: String,
    }
    #[derive(RowKey)]
    #[salt(range = 5)]
    struct Five {
        _name: String,
    }
    let plan = serde_json::to_string(&Four::scan().into_plan().unwrap()).unwrap();
    assert!(serde_json::from_str::<Plan<Four>>(&plan).is_ok());
    assert!(serde_json::from_str::<Plan<Five>>(&plan).is_err());
}

/// One read path forgot the salt: <https://github.com/OpenTSDB/opentsdb/issues/568>,
/// <https://github.com/OpenTSDB/opentsdb/issues/585>, <https://github.com/OpenTSDB/opentsdb/pull/639>.
#[test]
fn a_row_is_where_every_way_of_reading_looks() {
    let key = Event { user_id: "alice".into(), site: "home".into(), at: 7, seq: 1 };
    let encoded = key.encode().unwrap();
    let scan = || Event::scan().user_id("alice");
    for plan in [
        Event::scan().into_plan(),
        Event::scan().user_id_prefix("al").into_plan(),
        Event::scan().user_id_any_of(["alice", "bob"]).into_plan(),
        scan().into_plan(),
        scan().site_any_of(["home", "shop"]).into_plan(),
        scan().site("home").at_range(7..8).into_plan(),
        scan().site("home").at(7).seq(1).into_plan(),
    ] {
        assert!(asks_for(&plan.unwrap().requests(), &encoded));
    }
}

/// Salted and still hot, or too small to split, since the table was one tablet at first:
/// <https://github.com/OpenTSDB/opentsdb/issues/991>, <https://github.com/cortexproject/cortex/pull/1275>.
#[test]
fn each_bucket_of_a_full_scan_begins_at_a_split() {
    let requests = Event::scan().into_plan().unwrap().requests();
    let starts = requests.iter().flat_map(Request::ranges).map(|range| range.start().to_vec());
    assert_eq!(starts.skip(1).collect::<Vec<_>>(), Event::SCHEMA.bucket_splits());
}
