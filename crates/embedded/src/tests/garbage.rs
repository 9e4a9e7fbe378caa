//! Garbage collection, with a manual clock.

use keyderive_proto::admin::gc_rule::{self, Rule};
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{ColumnFamily, GcRule};
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::row_filter::Filter;
use keyderive_proto::data::{
    self, CheckAndMutateRowRequest, ReadModifyWriteRule, ReadRowsRequest, read_modify_write_rule,
};
use keyderive_proto::values::Duration;
use tonic::Code;

use super::raw::{NAME, START, Servers, code, message, set_cell};
use crate::interval::Interval;

const SECOND: i64 = 1_000_000;

fn versions(kept: i32) -> GcRule {
    GcRule { rule: Some(Rule::MaxNumVersions(kept)) }
}

fn age(seconds: i64) -> GcRule {
    GcRule { rule: Some(Rule::MaxAge(Duration { seconds, nanos: 0 })) }
}

fn union(rules: Vec<GcRule>) -> GcRule {
    GcRule { rule: Some(Rule::Union(gc_rule::Union { rules })) }
}

fn intersection(rules: Vec<GcRule>) -> GcRule {
    GcRule { rule: Some(Rule::Intersection(gc_rule::Intersection { rules })) }
}

fn family(rule: GcRule) -> ColumnFamily {
    ColumnFamily { gc_rule: Some(rule), value_type: None }
}

/// Writes cells one second apart. Returns the times, in seconds, of those left two seconds after the last.
async fn left(rule: GcRule, cells: i64) -> Vec<i64> {
    let servers = Servers::with([("f", family(rule))]).await;
    for second in 0..cells {
        servers.clock.set(START + second * SECOND);
        servers.set("a", "f", "q", -1, "v").await.unwrap();
        servers.set("a", "f", "r", -1, "v").await.unwrap();
    }
    servers.clock.set(START + (cells + 1) * SECOND);
    let mut seconds: Vec<i64> =
        servers.timestamps().await.into_iter().map(|micros| (micros - START) / SECOND).collect();
    let other = seconds.split_off(seconds.len() / 2);
    assert_eq!(seconds, other);
    seconds
}

#[tokio::test]
async fn rules_keep_versions_and_ages() {
    assert_eq!(left(versions(2), 4).await, [3, 2]);
    assert_eq!(left(age(3), 4).await, [3, 2]);
    assert_eq!(left(age(1), 4).await, [0; 0]);
    assert_eq!(left(union(vec![versions(3), age(3)]), 4).await, [3, 2]);
    assert_eq!(left(union(vec![versions(1), age(3)]), 4).await, [3]);
    assert_eq!(left(intersection(vec![versions(1), age(3)]), 4).await, [3, 2]);
    assert_eq!(left(intersection(vec![versions(3), age(1)]), 4).await, [3, 2, 1]);
    let nested = union(vec![versions(3), intersection(vec![age(4), versions(1)])]);
    assert_eq!(left(nested, 5).await, [4, 3, 2]);
    for nothing in [GcRule::default(), union(Vec::new()), intersection(Vec::new())] {
        assert_eq!(left(nothing, 3).await, [2, 1, 0]);
    }
}

#[tokio::test]
async fn a_cell_is_kept_to_the_end_of_its_age() {
    let servers = Servers::with([("f", family(age(10)))]).await;
    servers.set("a", "f", "q", -1, "v").await.unwrap();
    servers.clock.set(START + 10 * SECOND);
    assert_eq!(servers.timestamps().await, [START]);
    servers.clock.set(START + 10 * SECOND + 1000);
    assert!(servers.timestamps().await.is_empty());
}

#[tokio::test]
async fn filters_conditions_and_read_modify_writes_do_not_see_garbage() {
    let servers = Servers::with([("f", family(age(10)))]).await;
    servers.set("a", "f", "q", -1, 7_i64.to_be_bytes().to_vec()).await.unwrap();
    servers.clock.set(START + 11 * SECOND);
    let filter = message(Filter::PassAllFilter(true));
    assert!(servers.read(ReadRowsRequest { filter, ..ReadRowsRequest::default() }).await.unwrap().is_empty());
    let request = CheckAndMutateRowRequest {
        table_name: NAME.to_owned(),
        row_key: "a".into(),
        true_mutations: vec![data::Mutation {
            mutation: Some(set_cell("f", "x", -1, "v")),
            ..data::Mutation::default()
        }],
        ..CheckAndMutateRowRequest::default()
    };
    let response = servers.data.check_and_mutate_row(tonic::Request::new(request)).await.unwrap();
    assert!(!response.into_inner().predicate_matched);
    let rule = ReadModifyWriteRule {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        rule: Some(read_modify_write_rule::Rule::IncrementAmount(1)),
    };
    assert_eq!(servers.modify(vec![rule]).await.unwrap(), ["f:q@START+11000000=1"]);
}

/// The number of stored cells, including garbage.
fn kept(servers: &Servers) -> usize {
    let rows = servers.store.page(NAME, &Interval::all(), false, usize::MAX).unwrap();
    rows.rows.iter().map(|(_, cells)| cells.len()).sum()
}

#[tokio::test]
async fn a_write_compacts_its_row() {
    let servers = Servers::with([("f", family(versions(1)))]).await;
    for number in 0..10 {
        servers.set("a", "f", "q", number * 1000, "v").await.unwrap();
    }
    assert_eq!(kept(&servers), 1);
}

#[tokio::test]
async fn writes_sweep_the_whole_table() {
    let servers = Servers::with([("f", family(age(10)))]).await;
    for number in 0..100 {
        servers.set(&format!("{number:03}"), "f", "q", -1, "v").await.unwrap();
    }
    servers.clock.set(START + 11 * SECOND);
    assert_eq!(kept(&servers), 100);
    assert!(servers.timestamps().await.is_empty());
    for _ in 0..60 {
        servers.set("x", "f", "q", -1, "v").await.unwrap();
    }
    assert_eq!(kept(&servers), 1);
}

#[tokio::test]
async fn a_new_rule_sweeps_at_once() {
    let servers = Servers::new().await;
    for number in 0..1000 {
        servers.set(&format!("{:03}", number % 200), "f", "q", number * 1000, "v").await.unwrap();
    }
    assert_eq!(kept(&servers), 1000);
    servers.modify_families([("f", Mod::Update(family(versions(2))))]).await.unwrap();
    assert_eq!(kept(&servers), 400);
    servers.modify_families([("f", Mod::Drop(true))]).await.unwrap();
    assert_eq!(kept(&servers), 0);
}

#[tokio::test]
async fn while_collection_is_paused_only_dropped_families_go() {
    let families = [("f", family(versions(1))), ("g", family(age(10)))];
    let servers = Servers::with(families).await;
    servers.store.pause_garbage_collection();
    for number in 0..100 {
        let key = format!("{:02}", number % 20);
        servers.set(&key, "f", "q", number * 1000, "v").await.unwrap();
        servers.set(&key, "g", "q", number * 1000, "v").await.unwrap();
    }
    servers.clock.set(START + 11 * SECOND);
    assert_eq!((kept(&servers), servers.timestamps().await.len()), (200, 200));
    servers.modify_families([("f", Mod::Update(family(versions(2))))]).await.unwrap();
    assert_eq!(kept(&servers), 200);
    servers.modify_families([("g", Mod::Drop(true))]).await.unwrap();
    assert_eq!((kept(&servers), servers.timestamps().await.len()), (100, 100));
    servers.store.collect_garbage().unwrap();
    assert_eq!((kept(&servers), servers.timestamps().await.len()), (40, 40));
}

#[tokio::test]
async fn an_invalid_rule_is_refused() {
    let servers = Servers::new().await;
    let create = async |rule| servers.modify_families([("g", Mod::Create(family(rule)))]).await;
    let max_age = |nanos| GcRule { rule: Some(Rule::MaxAge(Duration { seconds: 0, nanos })) };
    for wrong in [
        versions(0),
        versions(-1),
        age(0),
        age(-1),
        max_age(999_999),
        union(vec![versions(1), intersection(vec![age(0)])]),
        union(vec![versions(1); 300]),
    ] {
        let status = create(wrong).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().starts_with("the garbage collection rule of the column family `g`"),
            "{status}"
        );
    }
    assert_eq!(code(create(max_age(1_000_000)).await), Code::Ok);
    let update = family(versions(0));
    assert_eq!(code(servers.modify_families([("g", Mod::Update(update))]).await), Code::InvalidArgument);
}
