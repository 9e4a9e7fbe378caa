//! What `explain()` says, word by word.

use keyderive::RowKey;
use keyderive::plan::{Explain, KeyRange};

use crate::keys::{Event, OrderedNames, Trade};

#[track_caller]
fn assert_says(explain: &Explain, expected: &str) {
    assert_eq!(explain.to_string(), expected);
}

#[test]
fn a_point_read() {
    assert_says(
        &Event::scan().user_id("alice").site("home").at(7).seq(1).explain().unwrap(),
        r#"point read of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id = "alice", site = "home", at = 7, seq = 1
  buckets      bucket 1 of 0 to 3: the salt is over user_id, site, fixed
  requests     1
               1#alice#home#9223372036854775800#000001
               hex 3123616c69636523686f6d65233932323333373230333638353437373538303023303030303031"#,
    );
}

#[test]
fn lists_in_some_of_the_buckets() {
    assert_says(
        &Event::scan().user_id_any_of(["alice", "bob"]).site("home").at_range(5..).explain().unwrap(),
        r#"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id in ["alice", "bob"], site = "home", at in 5..
  buckets      buckets 0, 1 of 0 to 3: the salt is over user_id, site, fixed to several values
  order        by user_id; then at, greatest first; then seq; merged from 2 streams
  requests     2
               [0#bob#home#, 0#bob#home#9223372036854775803)
               hex [3023626f6223686f6d6523, 3023626f6223686f6d652339323233333732303336383534373735383033)
               [1#alice#home#, 1#alice#home#9223372036854775803)
               hex [3123616c69636523686f6d6523, 3123616c69636523686f6d652339323233333732303336383534373735383033)"#,
    );
}

#[test]
fn lists_of_whole_keys() {
    let scan = OrderedNames::scan().first("a").second_any_of((0..10).map(|_| "b").chain(["c"])).third("");
    assert_says(
        &scan.explain().unwrap(),
        r#"point reads of OrderedNames
  key          N# | <first> | <second> | <third>
  constraints  first = "a", second in ["b", "b", "b", "b", "b", "b", "b", "b" and 3 more], third = ""
  buckets      the key type has no salt
  order        by second
  requests     1
               N#\x00\x01a\x00\x01b
               hex 4e23000161000162
               N#\x00\x01a\x00\x01c
               hex 4e23000161000163"#,
    );
}

#[test]
fn a_salt_behind_fields_that_are_fixed() {
    assert_says(
        &Trade::scan().exchange(7).symbol_any_of(["a", "b"]).at_range(..=9).explain().unwrap(),
        r#"scan of Trade
  key          TRADE-<exchange>-<symbol>-<salt 0 to 2>/<at>-<id>
  constraints  exchange = 7, symbol in ["a", "b"], at in ..=9
  buckets      all 3: the salt is over symbol, at; not fixed: at
  order        by symbol; then at, greatest first; then id; merged from 3 streams
  requests     3
               [TRADE-07-a-0/90, TRADE-07-a-00)
               hex [54524144452d30372d612d302f3930, 54524144452d30372d612d3030)
               [TRADE-07-b-0/90, TRADE-07-b-00)
               hex [54524144452d30372d622d302f3930, 54524144452d30372d622d3030)
               [TRADE-07-a-1/90, TRADE-07-a-10)
               hex [54524144452d30372d612d312f3930, 54524144452d30372d612d3130)
               [TRADE-07-b-1/90, TRADE-07-b-10)
               hex [54524144452d30372d622d312f3930, 54524144452d30372d622d3130)
               [TRADE-07-a-2/90, TRADE-07-a-20)
               hex [54524144452d30372d612d322f3930, 54524144452d30372d612d3230)
               [TRADE-07-b-2/90, TRADE-07-b-20)
               hex [54524144452d30372d622d322f3930, 54524144452d30372d622d3230)"#,
    );
}

#[test]
fn a_salt_behind_fields_that_are_not_fixed() {
    assert_says(
        &Trade::scan().exchange_any_of([7, 9]).symbol_prefix("a").explain().unwrap(),
        r#"scan of Trade
  key          TRADE-<exchange>-<symbol>-<salt 0 to 2>/<at>-<id>
  constraints  exchange in [7, 9], symbol begins with "a"
  buckets      all 3, in one request: the salt stands behind exchange, symbol; not fixed: symbol
  order        as stored, by row key, not by field: the salt stands behind exchange, symbol; not fixed: symbol
  requests     1
               [TRADE-07-a, TRADE-07-b)
               hex [54524144452d30372d61, 54524144452d30372d62)
               [TRADE-09-a, TRADE-09-b)
               hex [54524144452d30392d61, 54524144452d30392d62)"#,
    );
}

#[test]
fn an_empty_list() {
    assert_says(
        &Event::scan().user_id_any_of([]).site("home").explain().unwrap(),
        r#"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id in [], site = "home"
  buckets      none: a field has an empty list of values
  reads        nothing: no row key can satisfy the constraints; no request is sent"#,
    );
}

#[test]
fn all_rows() {
    assert_says(
        &Event::scan().explain().unwrap(),
        r##"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  none: every row of the key type
  buckets      all 4: the salt is over user_id, site; not fixed: user_id, site
  order        by user_id; then site; then at, greatest first; then seq; merged from 4 streams
  requests     4
               [0#, 0$)
               hex [3023, 3024)
               [1#, 1$)
               hex [3123, 3124)
               [2#, 2$)
               hex [3223, 3224)
               [3#, 3$)
               hex [3323, 3324)"##,
    );
}

#[test]
fn a_part_of_a_scan() {
    let part = Event::scan().into_plan().unwrap().within(&KeyRange::new("1#m", Some(b"2#".to_vec())));
    assert_says(
        &part.explain(),
        r##"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  none: every row of the key type
  buckets      bucket 1 of 0 to 3: no other one has stored keys in this part of the scan
  within       [1#m, 2#), the stored keys of this part of a scan
  order        by user_id; then site; then at, greatest first; then seq
  requests     1
               [1#m, 1$)
               hex [31236d, 3124)"##,
    );
}

#[test]
fn more_requests_than_are_shown() {
    #[derive(RowKey)]
    #[salt(range = 20)]
    struct Wide {
        id: u64,
    }
    let text = Wide::scan().id_any_of(0..200).explain().unwrap().to_string();
    for part in [
        "point reads of Wide",
        "id in [0, 1, 2, 3, 4, 5, 6, 7 and 192 more]",
        "20 buckets of 0 to 19: the salt is over id, fixed to several values",
        "by id; merged from 20 streams",
        "requests     20\n",
        "and 6 more in this request",
        "and 12 more requests",
    ] {
        assert!(text.contains(part), "{text}\ndoes not say {part:?}");
    }
}

/// As data it has the same parts, under names.
#[test]
fn as_data() {
    let explain = Event::scan().user_id_any_of(["alice", "bob"]).explain().unwrap();
    let data = serde_json::to_value(&explain).unwrap();
    let text = explain.to_string();
    for part in ["key", "buckets", "order"] {
        let words = data[part].as_str().unwrap();
        assert!(text.contains(words), "{text}\ndoes not say {words:?}");
    }
    assert_eq!(data["key_type"], "Event");
    assert_eq!(data["reads"], "scan");
    assert_eq!(data["constraints"], serde_json::json!([["user_id", "in [\"alice\", \"bob\"]"]]));
    assert_eq!(data["limit"], serde_json::Value::Null);
    assert_eq!(data["has_more_requests"], false);
    let plan = Event::scan().user_id_any_of(["alice", "bob"]).into_plan().unwrap();
    assert_eq!(data["request_count"], plan.requests().len());
    assert_eq!(data["requests"], serde_json::to_value(plan.requests()).unwrap());
}
