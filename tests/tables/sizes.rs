//! The sizes of the parts of a table, and its hot tablets.

use std::time::{Duration, UNIX_EPOCH};

use keyderive::__private::connected_by;
use keyderive::{Client, ErrorKind, RowKey, Table};
use keyderive_proto::admin::{
    Cluster, HotTablet, ListClustersRequest, ListClustersResponse, ListHotTabletsRequest,
    ListHotTabletsResponse,
};
use keyderive_proto::values::Timestamp;
use keyderive_scripted::{Answer, Mock, Request, Rpc};
use keyderive_tests::fixtures::created;
use tonic::Code;

use crate::servers::on_every_bigtable;

type Row = std::collections::BTreeMap<String, String>;

#[derive(RowKey, Clone, Debug, PartialEq)]
struct UserKey {
    name: String,
    at: u32,
}

on_every_bigtable! {
    the_parts_cover_the_table_and_hold_its_bytes
    a_server_without_hot_tablets_says_so
}

fn key(name: &str) -> UserKey {
    UserKey { name: name.into(), at: 7 }
}

async fn the_parts_cover_the_table_and_hold_its_bytes(client: Client) {
    let users: Table<UserKey, Row> = client.table("users");
    assert!(users.sizes().await.unwrap_err().is_not_found());
    users.create().split_at(&key("m")).await.unwrap();
    assert_eq!(users.sizes().await.unwrap().bytes(), 0);
    let text = "x".repeat(1000);
    for name in ["alice", "bob", "zoe"] {
        users.put(&key(name), &[("text".to_owned(), text.clone())].into()).await.unwrap();
    }
    let sizes = users.sizes().await.unwrap();
    let (first, last) = (&sizes.parts[0], sizes.parts.last().unwrap());
    assert!(first.range.start().is_empty() && last.range.end().is_none(), "{sizes}");
    let follows = sizes.parts.windows(2).all(|two| two[0].range.end() == Some(two[1].range.start()));
    assert!(follows, "{sizes}");
    // The emulator says as much, or leaves the rest open.
    if last.bytes.is_some() {
        assert!((3000..6000).contains(&sizes.bytes()), "{sizes}");
    }
}

/// The emulator has no tablets.
#[tokio::test]
async fn a_part_has_the_keys_at_its_ends_and_the_bytes_between() {
    let users: Table<UserKey, Row> = Client::embedded().table("users");
    users.create().split_at(&key("m")).split_before(UserKey::scan().name("z")).await.unwrap();
    for name in ["alice", "bob", "zoe"] {
        users.put(&key(name), &[("text".to_owned(), "x".repeat(1000))].into()).await.unwrap();
    }
    let sizes = users.sizes().await.unwrap();
    let ends: Vec<_> = sizes.parts.iter().map(|part| (part.start.clone(), part.end.clone())).collect();
    // `z#` is no key of the type.
    assert_eq!(ends, [(None, Some(key("m"))), (Some(key("m")), None), (None, None)]);
    let bytes: Vec<_> = sizes.parts.iter().map(|part| part.bytes.unwrap()).collect();
    assert!((2000..2200).contains(&bytes[0]) && bytes[1] == 0 && (1000..1100).contains(&bytes[2]), "{sizes}");
    assert_eq!(sizes.bytes(), bytes.iter().sum::<u64>());
    let text = sizes.to_string();
    assert!(text.contains("\n[m#0000000007, z#): about 0 bytes\n[z#, end of table): about "), "{text}");
}

async fn scripted(samples: &[(&'static str, i64)]) -> (Vec<Option<u64>>, u64) {
    let mock = Mock::new().on(Rpc::SampleRowKeys, Answer::samples(samples.iter().copied()));
    let client = connected_by(Client::builder(), mock.connector()).unwrap();
    let sizes = client.table::<UserKey, Row>("users").unchecked().sizes().await.unwrap();
    assert!(sizes.parts[0].range.start().is_empty() && sizes.parts.last().unwrap().range.end().is_none());
    (sizes.parts.iter().map(|part| part.bytes).collect(), sizes.bytes())
}

#[tokio::test]
async fn what_a_server_does_not_say_is_no_size() {
    assert_eq!(scripted(&[]).await, (vec![None], 0));
    assert_eq!(scripted(&[("", 9)]).await, (vec![Some(9)], 9));
    // The rows after the last key are of unknown size.
    assert_eq!(scripted(&[("a", 3), ("b", 7)]).await, (vec![Some(3), Some(4), None], 7));
    // Offsets that fall.
    assert_eq!(scripted(&[("a", 9), ("b", 7), ("", 8)]).await, (vec![Some(9), None, Some(1)], 10));
    assert_eq!(
        scripted(&[("a", -1), ("", i64::MAX)]).await,
        (vec![None, Some(i64::MAX as u64)], i64::MAX as u64)
    );
}

async fn a_server_without_hot_tablets_says_so(client: Client) {
    let users: Table<UserKey, Row> = created(&client, "users").await;
    let error = users.hot_tablets().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unimplemented, "{error}");
    assert!(error.to_string().contains("list no hot tablets, only the service does"), "{error}");
}

const INSTANCE: &str = "projects/keyderive/instances/local";

/// A tablet of the table in the cluster, which took so much of a node.
fn hot(cluster: &str, table: &str, start: &str, percent: f32) -> HotTablet {
    let time = |seconds| Some(Timestamp { seconds, nanos: 0 });
    HotTablet {
        name: format!("{INSTANCE}/clusters/{cluster}/hotTablets/7"),
        table_name: format!("{INSTANCE}/tables/{table}"),
        start_time: time(1000),
        end_time: time(1060),
        start_key: start.to_owned().into(),
        end_key: "zoe#0000000007".into(),
        node_cpu_usage_percent: percent,
    }
}

/// Clusters on two pages, and two pages of hot tablets in each cluster.
fn service(request: &Request) -> Answer {
    let next_page = |token: &str| if token.is_empty() { "more".to_owned() } else { String::new() };
    match request.rpc {
        Rpc::ListClusters => {
            let ListClustersRequest { parent, page_token } = request.decode();
            assert_eq!(parent, INSTANCE);
            let id = if page_token.is_empty() { "eu" } else { "us" };
            Answer::new().send(&ListClustersResponse {
                clusters: vec![Cluster { name: format!("{INSTANCE}/clusters/{id}") }],
                failed_locations: vec![format!("projects/keyderive/locations/{id}-x")],
                next_page_token: next_page(&page_token),
            })
        }
        Rpc::ListHotTablets => {
            let ListHotTabletsRequest { parent, page_token, .. } = request.decode();
            let cluster = parent.strip_prefix(&format!("{INSTANCE}/clusters/")).unwrap();
            let of_page = match (cluster, page_token.as_str()) {
                ("eu", "") => {
                    vec![hot("eu", "users", "alice#0000000007", 20.0), hot("eu", "other", "", 99.0)]
                }
                ("eu", _) => vec![hot("eu", "users", "m#", 5.0)],
                (_, "") => vec![hot("us", "users", "", 80.5)],
                _ => Vec::new(),
            };
            Answer::new().send(&ListHotTabletsResponse {
                hot_tablets: of_page,
                next_page_token: next_page(&page_token),
            })
        }
        _ => Answer::failure(Code::Internal),
    }
}

fn users(mock: &Mock) -> Table<UserKey, Row> {
    connected_by(Client::builder(), mock.connector()).unwrap().table("users")
}

#[tokio::test]
async fn hot_tablets_of_all_clusters_come_the_hottest_first() {
    let mock = Mock::new().admin_by(service);
    let hot = users(&mock).hot_tablets().await.unwrap();
    let seen: Vec<_> = hot.tablets.iter().map(|tablet| (&*tablet.cluster, tablet.node_cpu_percent)).collect();
    assert_eq!(seen, [("us", 80.5), ("eu", 20.0), ("eu", 5.0)]);
    let starts: Vec<_> = hot.tablets.iter().map(|tablet| tablet.start.clone()).collect();
    assert_eq!(starts, [None, Some(key("alice")), None]);
    assert_eq!(hot.unreachable, ["projects/keyderive/locations/eu-x", "projects/keyderive/locations/us-x"]);
    let second = &hot.tablets[1];
    assert_eq!((&second.end, &*second.start_bytes), (&Some(key("zoe")), &b"alice#0000000007"[..]));
    assert_eq!(second.from, Some(UNIX_EPOCH + Duration::from_secs(1000)));
    assert_eq!(second.until, Some(UNIX_EPOCH + Duration::from_secs(1060)));
    assert_eq!(second.to_string(), "[alice#0000000007, zoe#0000000007]: 20 % of a node in the cluster `eu`");
    let routed = mock.requests_of(Rpc::ListHotTablets);
    let cluster = "parent=projects%2Fkeyderive%2Finstances%2Flocal%2Fclusters%2Feu";
    assert_eq!((routed.len(), routed[0].header("x-goog-request-params")), (4, Some(cluster)));
}

#[tokio::test]
async fn hot_tablets_without_end_are_an_error() {
    let mock = Mock::new().admin_by(|request| match request.rpc {
        Rpc::ListHotTablets => {
            let token = format!("{}1", request.decode::<ListHotTabletsRequest>().page_token);
            let hot_tablets = vec![hot("eu", "users", "", 1.0)];
            Answer::new().send(&ListHotTabletsResponse { hot_tablets, next_page_token: token })
        }
        _ => service(request),
    });
    let error = users(&mock).hot_tablets().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{error}");
    assert!(error.to_string().ends_with("the list of hot tablets has more than 1000 pages"), "{error}");
}

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_an_error() {
    let mock = Mock::new().admin_by(|request| match request.rpc {
        Rpc::ListHotTablets if request.decode::<ListHotTabletsRequest>().parent.ends_with("us") => {
            Answer::failure(Code::PermissionDenied)
        }
        _ => service(request),
    });
    assert!(users(&mock).hot_tablets().await.unwrap_err().is_permission_denied());
}
