//! What writes of values contain: cells at the server's time, and each key once per request; a retry after an unknown
//! outcome sends the same.

use std::collections::BTreeSet;

use keyderive::row::{Condition, Timestamped};
use keyderive::{ErrorKind, Row, Table};
use keyderive_proto::data;
use keyderive_proto::data::mutation::Mutation as Sent;
use keyderive_scripted::{Answer, Failure, Mock, Request, Rpc};
use keyderive_tests::fixtures::{UserKey, assert_error};
use tonic::Code;

use crate::support::client;

#[derive(Row, Clone, Debug, PartialEq)]
struct Order {
    id: i64,
    note: Option<String>,
}

const KEY: UserKey = UserKey { id: 7 };

fn order(id: i64) -> Order {
    Order { id, note: (id % 2 == 0).then(|| format!("note {id}")) }
}

/// A server that writes everything, and whose rows match every condition.
fn server() -> Mock {
    Mock::new().by(|request: &Request| match request.rpc {
        Rpc::MutateRow => Answer::written(),
        Rpc::SampleRowKeys => Answer::samples([("", 0)]),
        Rpc::CheckAndMutateRow => Answer::matched(true),
        Rpc::MutateRows => {
            let entries = 0..request.entries().len() as i64;
            Answer::outcomes(entries.map(|place| (place, Code::Ok)))
        }
        _ => Answer::failure(Failure::new(Code::Unimplemented, "it writes")),
    })
}

fn orders(mock: &Mock) -> Table<UserKey, Order> {
    client(mock).with(|settings| settings.registry = false).table::<UserKey, Order>("orders")
}

/// The mutations of all writes.
fn sent(mock: &Mock) -> Vec<Sent> {
    let mutations = mock.requests().into_iter().flat_map(|request| match request.rpc {
        Rpc::MutateRow => request.decode::<data::MutateRowRequest>().mutations,
        Rpc::MutateRows => {
            let entries = request.decode::<data::MutateRowsRequest>().entries;
            entries.into_iter().flat_map(|entry| entry.mutations).collect()
        }
        Rpc::CheckAndMutateRow => {
            let request = request.decode::<data::CheckAndMutateRowRequest>();
            [request.true_mutations, request.false_mutations].concat()
        }
        _ => Vec::new(),
    });
    mutations.map(|mutation| mutation.mutation.unwrap()).collect()
}

/// The timestamps of all cells that the requests set.
fn times(mock: &Mock) -> Vec<i64> {
    let time = |mutation| match mutation {
        Sent::SetCell(cell) => Some(cell.timestamp_micros),
        _ => None,
    };
    sent(mock).into_iter().filter_map(time).collect()
}

#[tokio::test(start_paused = true)]
async fn every_write_of_a_value_sets_its_cells_at_the_servers_time() {
    let mock = server();
    let orders = orders(&mock);
    let rows = || vec![(KEY, order(1)), (UserKey { id: 8 }, order(2))];
    orders.put(&KEY, &order(1)).await.unwrap();
    orders.merge(&KEY, &order(1)).await.unwrap();
    orders.put_all(rows()).await.unwrap();
    orders.merge_all(rows()).await.unwrap();
    orders.update(&KEY).set(Order::ID, 1).await.unwrap();
    orders.update(&KEY).set(Order::ID, 1).only_if(Condition::row_exists()).await.unwrap();
    orders.put_if(&KEY, &order(1), Condition::row_exists()).await.unwrap();
    orders.put_if_absent(&KEY, &order(1)).await.unwrap();
    orders.load_iter(rows()).await.unwrap().all_written().unwrap();
    orders.load_iter(rows()).new_rows().await.unwrap().all_written().unwrap();
    orders.load_iter(rows()).if_absent().await.unwrap().all_written().unwrap();
    let writer = orders.writer();
    writer.put(&KEY, &order(1)).await.unwrap();
    writer.close().await.unwrap();
    keyderive::table::put_both((&orders, &KEY, &order(1)), (&orders, &KEY, &order(1))).await.unwrap();
    let times = times(&mock);
    assert_eq!(times.len(), 24);
    assert!(times.iter().all(|time| *time == -1), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_row_deletes_nothing() {
    let mock = server();
    let orders = orders(&mock);
    orders.merge(&KEY, &order(1)).await.unwrap();
    orders.put_if_absent(&KEY, &order(1)).await.unwrap();
    assert!(sent(&mock).iter().all(|mutation| matches!(mutation, Sent::SetCell(_))));
    orders.put(&KEY, &order(1)).await.unwrap();
    assert!(matches!(&sent(&mock)[2], Sent::DeleteFromColumn(column) if column.column_qualifier == "note"));
}

/// The second attempt stores one more version of the same value.
#[tokio::test(start_paused = true)]
async fn a_value_is_put_again_after_an_unknown_outcome() {
    let lost = || Answer::failure(Failure::new(Code::Unavailable, "lost"));
    let mock = Mock::new().on(Rpc::MutateRow, lost()).on(Rpc::MutateRow, Answer::written());
    orders(&mock).put(&KEY, &order(1)).await.unwrap();
    assert_eq!(mock.requests_of(Rpc::MutateRow).len(), 2);
    let mock = Mock::new().on(Rpc::MutateRow, lost()).on(Rpc::MutateRow, Answer::written());
    orders(&mock).update(&KEY).set(Order::ID, 1).await.unwrap();
    assert_eq!(mock.requests_of(Rpc::MutateRow).len(), 2);
    let mock = Mock::new()
        .on(Rpc::MutateRows, lost())
        .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Unavailable), (1, Code::Ok)]))
        .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
    orders(&mock).put_all([(KEY, order(1)), (UserKey { id: 8 }, order(2))]).await.unwrap();
    assert_eq!(mock.requests_of(Rpc::MutateRows).len(), 3);
}

/// The server fails the first entry of each request, so the client retries it.
#[tokio::test(start_paused = true)]
async fn no_request_has_a_key_twice() {
    let ids = [1, 2, 3, 3, 5, 4, 1, 6, 2, 2, 9, 8, 7, 9];
    let expected = ["1 2 3", "3 5 4 1 6 2", "2 9 8 7", "9"];
    for merges in [false, true] {
        let mock = Mock::new().by(|request: &Request| {
            let places = 0..request.entries().len() as i64;
            let busy = |place| if place == 0 && places.end > 1 { Code::Unavailable } else { Code::Ok };
            Answer::outcomes(places.clone().map(|place| (place, busy(place))))
        });
        let orders = orders(&mock);
        let rows = ids.iter().zip(0..).map(|(id, value)| (UserKey { id: *id }, order(value)));
        let rows: Vec<_> = rows.collect();
        match merges {
            false => orders.put_all(&rows).await.unwrap(),
            true => orders.merge_all(&rows).await.unwrap(),
        }
        let keys = |request: &Request| {
            let id = |key: &bytes::Bytes| UserKey::decode(key).unwrap().id.to_string();
            request.entries().iter().map(id).collect::<Vec<_>>().join(" ")
        };
        let requests: Vec<_> = mock.requests().iter().map(keys).collect();
        let whole: Vec<_> = requests.iter().filter(|keys| expected.contains(&keys.as_str())).collect();
        assert_eq!(whole, expected, "{requests:?}");
        for keys in &requests {
            let distinct: BTreeSet<_> = keys.split(' ').collect();
            assert_eq!(distinct.len(), keys.split(' ').count(), "{requests:?}");
        }
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Page {
    text: Option<Timestamped<String>>,
    views: i64,
}

/// In 2096: later than any clock that runs a test.
const LATE: i64 = 4_000_000_000_000_000;

/// Two writers that have read the same version: the second one loses, because the first writes a newer version.
#[tokio::test(start_paused = true)]
async fn a_compared_version_is_superseded() {
    let mock = server();
    let pages = client(&mock).table::<UserKey, Page>("pages");
    let page = |at| Page { text: Some(Timestamped::new(at, "text".into())), views: 7 };
    let text = || Page::TEXT.version(LATE);
    let views = || Page::VIEWS.version(LATE);
    for at in [1_000, LATE, LATE + 5_000] {
        pages.put_if(&KEY, &page(at), text()).await.unwrap();
    }
    pages.put_if(&KEY, &page(1_000), views()).await.unwrap();
    pages.put_if(&KEY, &page(1_000), text().not()).await.unwrap();
    pages.update(&KEY).set(Page::VIEWS, 8).set(Page::VIEWS, 9).only_if(views()).await.unwrap();
    let next = LATE + 1_000;
    let expected =
        [[next, -1], [next, -1], [LATE + 5_000, -1], [1_000, next], [1_000, -1], [next, next]].concat();
    assert_eq!(times(&mock), expected);
}

/// If it were sent, every writer that has read the version would pass the condition.
#[tokio::test(start_paused = true)]
async fn a_write_that_keeps_the_compared_version_is_refused() {
    let mock = server();
    let pages = client(&mock).table::<UserKey, Page>("pages");
    let version = || Page::TEXT.version(LATE);
    let error = pages.update(&KEY).set(Page::VIEWS, 8).only_if(version()).await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidRow, &["leaves the version as it is"]);
    assert!(mock.requests_of(Rpc::CheckAndMutateRow).is_empty());
    // A deletion changes the version too.
    pages.update(&KEY).clear(Page::TEXT).only_if(version()).await.unwrap();
    pages.delete_if(&KEY, version()).await.unwrap();
    assert_eq!(mock.requests_of(Rpc::CheckAndMutateRow).len(), 2);
}
