//! Limits of sizes, numbers and names.

use futures_util::TryStreamExt as _;
use keyderive_proto::admin::bigtable_table_admin_server::BigtableTableAdmin as _;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{ColumnFamily, CreateTableRequest};
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::row_filter::{self, Filter};
use keyderive_proto::data::{self, MutateRowsRequest, ReadModifyWriteRule, ReadRowsRequest, RowFilter};
use tonic::{Code, Request, Status};

use super::raw::{INSTANCE, NAME, Servers, message, set_cell};
use super::*;

fn rejected(outcome: Result<impl std::fmt::Debug, Status>, what: &str) {
    let status = outcome.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    assert!(status.message().contains(what), "{status}");
}

#[tokio::test]
async fn a_key_has_4096_bytes() {
    let servers = Servers::new().await;
    servers.set(&"k".repeat(4096), "f", "q", 0, "v").await.unwrap();
    for (key, what) in
        [(&*"k".repeat(4097), "has 4097 bytes, and the limit is 4096"), ("", "a row key is empty")]
    {
        rejected(servers.set(key, "f", "q", 0, "v").await, what);
        let rule = ReadModifyWriteRule {
            family_name: "f".to_owned(),
            column_qualifier: "q".into(),
            rule: Some(Rule::IncrementAmount(1)),
        };
        rejected(servers.modify_row(key, vec![rule]).await, what);
    }
}

#[tokio::test]
async fn a_qualifier_has_16_kib() {
    let servers = Servers::new().await;
    let long = "q".repeat(16 << 10);
    servers.set("a", "f", &long, 0, "v").await.unwrap();
    let what = "a qualifier in the column family `f` has 16385 bytes, and the limit is 16384";
    let longer = format!("{long}q");
    rejected(servers.set("a", "f", &longer, 0, "v").await, what);
    let rule = ReadModifyWriteRule {
        family_name: "f".to_owned(),
        column_qualifier: longer.into(),
        rule: Some(Rule::IncrementAmount(1)),
    };
    rejected(servers.modify(vec![rule]).await, what);
}

#[tokio::test]
async fn a_value_has_100_mib() {
    let servers = Servers::new().await;
    let value = Bytes::from(vec![0; (100 << 20) + 1]);
    servers.set("a", "f", "q", 0, value.slice(1..)).await.unwrap();
    let what = "a value of the column b\"q\" in the column family `f` has 104857601 bytes, and the limit is 104857600";
    rejected(servers.set("a", "f", "q", 0, value).await, what);
    let rule = ReadModifyWriteRule {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        rule: Some(Rule::AppendValue("x".into())),
    };
    rejected(servers.modify(vec![rule]).await, what);
}

#[tokio::test]
async fn a_request_has_100_000_mutations() {
    let servers = Servers::new().await;
    let entry = |key: &'static str, mutations: usize| Entry {
        row_key: key.into(),
        mutations: vec![
            data::Mutation {
                mutation: Some(set_cell("f", "q", 0, "v")),
                ..data::Mutation::default()
            };
            mutations
        ],
        idempotency: None,
    };
    let send = async |entries| {
        let request = MutateRowsRequest { table_name: NAME.to_owned(), entries, ..Default::default() };
        servers.data.mutate_rows(Request::new(request)).await.map(|_| ())
    };
    send(vec![entry("a", 50_000), entry("b", 50_000)]).await.unwrap();
    rejected(send(vec![entry("a", 50_000), entry("b", 50_001)]).await, "has 100001 mutations");
    rejected(send(Vec::new()).await, "the request has no entries");
}

#[tokio::test]
async fn a_timestamp_is_in_milliseconds() {
    let servers = Servers::new().await;
    for wrong in [1, 999, 1001, -2, -1000, i64::MIN, i64::MAX] {
        let what = format!(
            "the timestamp {wrong} is invalid: it counts microseconds since the epoch, and must be a whole number"
        );
        rejected(servers.set("a", "f", "q", wrong, "v").await, &what);
    }
    servers.set("a", "f", "q", i64::MAX - i64::MAX % 1000, "v").await.unwrap();
}

#[tokio::test]
async fn names_must_be_valid() {
    let servers = Servers::new().await;
    let create_table = async |id: &str, parent: &str| {
        let request = CreateTableRequest {
            parent: parent.to_owned(),
            table_id: id.to_owned(),
            ..CreateTableRequest::default()
        };
        servers.admin.create_table(Request::new(request)).await
    };
    let create_family =
        async |id: &str| servers.modify_families([(id, Mod::Create(ColumnFamily::default()))]).await;
    let (longest_id, longest_name) = ("t".repeat(50), "f".repeat(64));
    for right in ["_", "0", "a-b_c.D9", &longest_id] {
        create_table(right, INSTANCE).await.unwrap();
    }
    for right in ["_", "0", "a-b_c.D9", &longest_name] {
        create_family(right).await.unwrap();
    }
    let (too_long, too_long_name) = ("t".repeat(51), "f".repeat(65));
    for wrong in ["", "-a", ".a", "a b", "a/b", "ü", "a:b"] {
        rejected(create_table(wrong, INSTANCE).await, &format!("`{wrong}` is not a valid table name"));
        rejected(create_family(wrong).await, &format!("`{wrong}` is not a valid column family name"));
    }
    rejected(create_table(&too_long, INSTANCE).await, "is not a valid table name: a name has 1 to 50");
    rejected(create_family(&too_long_name).await, "is not a valid column family name: a name has 1 to 64");
    for none in ["", "projects/p", "projects/p/instances/i/", "projects//instances/i"] {
        rejected(create_table("t", none).await, &format!("`{none}` is not the name of an instance"));
    }
}

#[tokio::test]
async fn a_filter_has_20_kib_and_20_levels() {
    let servers = Servers::new().await;
    let read = async |filter| servers.read(ReadRowsRequest { filter, ..ReadRowsRequest::default() }).await;
    let regex = |bytes: usize| message(Filter::ValueRegexFilter(vec![b'v'; bytes].into()));
    read(regex(20_000)).await.unwrap();
    rejected(read(regex(20_480)).await, "and the limit is 20480");
    let nested = |depth: usize| {
        let mut filter = RowFilter { filter: Some(Filter::PassAllFilter(true)) };
        for _ in 1..depth {
            let pass = RowFilter { filter: Some(Filter::PassAllFilter(true)) };
            let chain = row_filter::Chain { filters: vec![filter, pass] };
            filter = RowFilter { filter: Some(Filter::Chain(chain)) };
        }
        Some(filter)
    };
    read(nested(20)).await.unwrap();
    rejected(read(nested(21)).await, "filters are nested more than 20 deep");
    rejected(read(nested(1000)).await, "filters are nested more than 20 deep");
}

#[tokio::test]
async fn a_row_that_is_too_large_is_refused_alone() {
    let servers = Servers::with_max_row_bytes(1000).await;
    let entry = |key: &'static str, qualifier: &str, bytes: usize| Entry {
        row_key: key.into(),
        mutations: vec![data::Mutation {
            mutation: Some(set_cell("f", qualifier, 0, vec![b'v'; bytes])),
            ..data::Mutation::default()
        }],
        idempotency: None,
    };
    servers.set("large", "f", "q", 0, "known").await.unwrap();
    // More entries than a step applies precede it, and as many for one row follow.
    let mut entries: Vec<_> = (0..300).map(|_| entry("before", "q", 1)).collect();
    entries.push(entry("large", "r", 1000));
    entries.push(entry("zlast", "q", 1));
    entries.extend((0..300).map(|number| entry("zz", &format!("{number}"), 10)));
    let request = MutateRowsRequest { table_name: NAME.to_owned(), entries, ..Default::default() };
    let responses = servers.data.mutate_rows(Request::new(request)).await.unwrap().into_inner();
    let responses: Vec<_> = responses.try_collect().await.unwrap();
    let statuses: Vec<_> = responses
        .into_iter()
        .flat_map(|response| response.entries)
        .map(|entry| entry.status.unwrap())
        .collect();
    assert!(statuses[..300].iter().chain([&statuses[301]]).all(|status| status.code == 0));
    assert_eq!(statuses[300].code, i32::from(Code::FailedPrecondition));
    let expected = format!(
        "row b\"large\" of table `{NAME}` would have 1039 bytes, and the limit is 1000; it is unchanged"
    );
    assert!(statuses[300].message.starts_with(&expected), "{}", statuses[300].message);
    assert!(statuses[302..].iter().all(|status| status.message.starts_with("row b\"zz\" ")));
    assert_eq!(servers.cells().await, ["f:q@0=v", "f:q@0=known", "f:q@0=v"]);

    let status = servers.set("large", "f", "r", 0, vec![b'v'; 1000]).await.unwrap_err();
    assert!(status.message().starts_with(&expected), "{status}");
    let rule = ReadModifyWriteRule {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        rule: Some(Rule::AppendValue(vec![b'v'; 1000].into())),
    };
    let status = servers.modify(vec![rule]).await.unwrap_err();
    assert!(status.message().starts_with("row b\"a\" of table"), "{status}");
    servers.set("large", "f", "r", 0, vec![b'v'; 900]).await.unwrap();
    assert_eq!(servers.cells().await.len(), 4);
}
