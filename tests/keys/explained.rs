//! The text of `explain()`, word by word.

use keyderive::RowKey;
use keyderive::plan::{Explain, KeyRange, Request};

use crate::assert_says;
use crate::keys::{Event, OrderedNames, Trade};

#[track_caller]
fn assert_is(explain: &Explain, expected: &str) {
    assert_eq!(explain.to_string(), expected);
}

#[test]
fn a_point_read() {
    assert_is(
        &Event::scan().user_id("alice").site("home").at(7).seq(1).explain().unwrap(),
        r#"point read of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id = "alice", site = "home", at = 7, seq = 1
  buckets      bucket 1 of 0 to 3: the salt is over user_id, site, fixed
  requests     1
               1#alice#home#9223372036854775800#000001"#,
    );
}

#[test]
fn lists_in_some_of_the_buckets() {
    assert_is(
        &Event::scan().user_id_any_of(["alice", "bob"]).site("home").at_range(5..).explain().unwrap(),
        r#"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id in ["alice", "bob"], site = "home", at in 5..
  buckets      buckets 0, 1 of 0 to 3: the salt is over user_id, site, fixed to several values
  order        by user_id; then at, greatest first; then seq; merged from 2 streams
  requests     2
  bucket 0     [0#bob#home#, 0#bob#home#9223372036854775803)
  bucket 1     [1#alice#home#, 1#alice#home#9223372036854775803)"#,
    );
}

#[test]
fn too_many_ranges() {
    let users: Vec<_> = (0..30_000).map(|user| user.to_string()).collect();
    let scan = Event::scan().user_id_any_of(&users);
    let few = Event::scan().user_id_any_of(&users[..25_000]).explain().unwrap();
    assert!(!few.to_string().contains("warning"), "{few}");
    let many = scan.explain().unwrap();
    let line = many.to_string().lines().find(|line| line.starts_with("  warning")).map(str::to_owned);
    assert_eq!(
        line.unwrap(),
        "  warning      120000 keys and ranges, which is slow over 100000: the values of each `_any_of` multiply, and so do the \
         buckets where a salted field is not fixed; list fewer values, or fix fewer fields and drop the other rows with \
         `filter_key`"
    );
    assert_eq!(serde_json::to_value(&many).unwrap()["many_row_items"], 120_000);
    assert!(serde_json::to_value(&few).unwrap().get("many_row_items").is_none());
}

#[test]
fn lists_of_whole_keys() {
    let scan = OrderedNames::scan().first("a").second_any_of((0..10).map(|_| "b").chain(["c"])).third("");
    assert_is(
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
fn a_salt_after_fields_that_are_fixed() {
    assert_is(
        &Trade::scan().exchange(7).symbol_any_of(["a", "b"]).at_range(..=9).explain().unwrap(),
        r#"scan of Trade
  key          TRADE-<exchange>-<symbol>-<salt 0 to 2>/<at>-<id>
  constraints  exchange = 7, symbol in ["a", "b"], at in ..=9
  buckets      all 3: the salt is over symbol, at; not fixed: at
  order        by symbol; then at, greatest first; then id; merged from 3 streams
  requests     3
  bucket 0     [TRADE-07-a-0/90, TRADE-07-a-00)
               [TRADE-07-b-0/90, TRADE-07-b-00)
  bucket 1     [TRADE-07-a-1/90, TRADE-07-a-10)
               [TRADE-07-b-1/90, TRADE-07-b-10)
  bucket 2     [TRADE-07-a-2/90, TRADE-07-a-20)
               [TRADE-07-b-2/90, TRADE-07-b-20)"#,
    );
}

#[test]
fn a_salt_after_fields_that_are_not_fixed() {
    assert_is(
        &Trade::scan().exchange_any_of([7, 9]).symbol_prefix("a").explain().unwrap(),
        r#"scan of Trade
  key          TRADE-<exchange>-<symbol>-<salt 0 to 2>/<at>-<id>
  constraints  exchange in [7, 9], symbol begins with "a"
  buckets      all 3, in one request: the salt stands after exchange, symbol; not fixed: symbol
  order        as stored, by row key, not by field: the salt stands after exchange, symbol; not fixed: symbol
  requests     1
               [TRADE-07-a, TRADE-07-b)
               [TRADE-09-a, TRADE-09-b)"#,
    );
}

#[test]
fn an_empty_list() {
    assert_is(
        &Event::scan().user_id_any_of([""; 0]).site("home").explain().unwrap(),
        r#"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id in [], site = "home"
  buckets      none: a field has an empty list of values
  reads        nothing: no row key can satisfy the constraints; no request is sent"#,
    );
}

#[test]
fn all_rows() {
    assert_is(
        &Event::scan().explain().unwrap(),
        r##"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  none: every row of the key type
  buckets      all 4: the salt is over user_id, site; not fixed: user_id, site
  order        by user_id; then site; then at, greatest first; then seq; merged from 4 streams
  requests     4
  bucket 0     [0#, 0$)
  bucket 1     [1#, 1$)
  bucket 2     [2#, 2$)
  bucket 3     [3#, 3$)"##,
    );
}

#[test]
fn a_part_of_a_scan() {
    let part = Event::scan().into_plan().unwrap().within(&KeyRange::new("1#m", Some(b"2#".to_vec())));
    assert_is(
        &part.explain(),
        r##"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  none: every row of the key type
  buckets      bucket 1 of 0 to 3: the keys of the other buckets are outside of this part of the scan
  within       [1#m, 2#), the stored keys of this part of a scan
  order        by user_id; then site; then at, greatest first; then seq
  requests     1
               [1#m, 1$)"##,
    );
}

#[test]
fn whole_tables() {
    let text = Pair::scan().explain().unwrap().to_string();
    assert!(text.ends_with("\n               [start of table, end of table)"), "{text}");
}

/// A page resumes after a row in every bucket, so the row is shown without its salt.
#[test]
fn a_plan_after_a_page() {
    let key = Event { user_id: "bob".into(), site: "home".into(), at: 7, seq: 1 };
    let plan = Event::scan().user_id_any_of(["alice", "bob"]).site("home").into_plan().unwrap();
    let token = plan.page_token(&key.encode().unwrap(), false);
    let rest = plan.after(&token, false).unwrap().explain();
    assert_is(
        &rest,
        r#"scan of Event
  key          <salt 0 to 3>#<user_id>#<site>#<at>#<seq>
  constraints  user_id in ["alice", "bob"], site = "home"
  buckets      bucket 0 of 0 to 3: the salt is over user_id, site, fixed to several values
  after        bob#home#9223372036854775800#000001, where the previous page ended, without its salt
  order        by user_id; then at, greatest first; then seq
  requests     1
               [0#bob#home#9223372036854775800#000001\x00, 0#bob#home$)
               hex [3023626f6223686f6d6523393232333337323033363835343737353830302330303030303100, 3023626f6223686f6d6524)"#,
    );
    let data = serde_json::to_value(&rest).unwrap();
    assert_eq!(data["after"]["text"], "bob#home#9223372036854775800#000001");
    assert_eq!(
        data["after"]["key"],
        "626f6223686f6d65233932323333373230333638353437373538303023303030303031"
    );
    // A token of a scan in the other direction ends this one.
    let text =
        plan.after(&plan.page_token(&key.encode().unwrap(), true), true).unwrap().explain().to_string();
    let before = "\n  before       bob#home#9223372036854775800#000001, where the previous page ended, without its salt\n";
    assert!(text.contains(before) && !text.contains("\n  after "), "{text}");
}

#[derive(RowKey)]
struct Pair {
    first: u16,
    second: u16,
}

#[derive(RowKey)]
#[salt(range = 2)]
struct SaltedPair {
    first: u16,
    second: u16,
}

/// The values of a product that exceeds one request.
#[test]
fn requests_one_after_the_other() {
    let many = || 0..400_u16;
    let plain = Pair::scan().first_any_of(many()).second_any_of(many()).explain().unwrap();
    let parts = [
        "\n  requests     4, and more that are not counted here\n",
        "\n  request 1    00000#00000\n",
        "\n  request 2    000",
    ];
    assert_says(plain, &parts);
    let salted = SaltedPair::scan().first_any_of(many()).second_any_of(many()).explain().unwrap();
    let parts = [
        "\n  bucket 0     0#00000#",
        "\n  bucket 1     1#00000#",
        "\n  bucket 0 (2) 0#",
        "\n  bucket 1 (2) 1#",
    ];
    assert_says(salted, &parts);
}

#[test]
fn more_requests_than_are_shown() {
    #[derive(RowKey)]
    #[salt(range = 20)]
    struct Wide {
        id: u64,
    }
    let parts = [
        "point reads of Wide",
        "id in [0, 1, 2, 3, 4, 5, 6, 7 and 192 more]",
        "20 buckets of 0 to 19: the salt is over id, fixed to several values",
        "by id; merged from 20 streams",
        "requests     20\n",
        "and 6 more in this request",
        "and 12 more requests",
    ];
    assert_says(Wide::scan().id_any_of(0..200).explain().unwrap(), &parts);
}

/// As data it has the same parts, by name.
#[test]
fn as_data() {
    let explain = Event::scan().user_id_any_of(["alice", "bob"]).explain().unwrap();
    let data = serde_json::to_value(&explain).unwrap();
    assert_says(&explain, &["key", "buckets", "order"].map(|part| data[part].as_str().unwrap()));
    assert_eq!(data["key_type"], "Event");
    assert_eq!(data["reads"], "scan");
    assert_eq!(data["constraints"], serde_json::json!([["user_id", "in [\"alice\", \"bob\"]"]]));
    assert_eq!(data["limit"], serde_json::Value::Null);
    assert_eq!(data["has_more_requests"], false);
    let plan = Event::scan().user_id_any_of(["alice", "bob"]).into_plan().unwrap();
    assert_eq!(data["request_count"], plan.requests().len());
    let requests: Vec<Request> = serde_json::from_value(data["requests"].clone()).unwrap();
    assert_eq!(requests, plan.requests());
    assert_eq!(data["requests"][0]["ranges"][0]["start"], "3023616c69636523");
    assert_eq!(data["requests"][0]["text"], serde_json::json!(["[0#alice#, 0#alice$)", "[0#bob#, 0#bob$)"]));
    let part = plan.within(&KeyRange::new("1", None)).explain();
    let window = serde_json::to_value(part).unwrap()["window"].clone();
    assert_eq!(window, serde_json::json!({ "start": "31", "end": null, "text": "[1, end of table)" }));
}
