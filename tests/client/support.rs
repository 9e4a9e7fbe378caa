//! Shared parts: clients of the mock, and its requests in readable form.

use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use keyderive::__private::connected_by;
use keyderive::client::{RawTable, ReadRows, RowStream};
use keyderive::row::Mutation;
use keyderive::{Client, Error};
use keyderive_proto::data;
use keyderive_proto::data::row_range::{EndKey, StartKey};
use keyderive_scripted::{Door, Mock, Request, Rpc};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);

/// The outcome of an operation that finds the door of `mock` shut, which opens after this time.
pub(crate) async fn opened_after<T>(mock: &Mock, pause: Duration, operation: impl Future<Output = T>) -> T {
    mock.set_door(Door::Shut);
    let open = async {
        tokio::time::sleep(pause).await;
        mock.set_door(Door::Open);
    };
    tokio::join!(operation, open).0
}

/// The full name of the table that [`table`] returns.
pub(crate) const TABLE: &str = "projects/keyderive/instances/local/tables/events";

/// A client of `mock` over pipes.
pub(crate) fn client(mock: &Mock) -> Client {
    connected_by(Client::builder(), mock.connector()).unwrap()
}

/// A table of `mock` over pipes.
pub(crate) fn table(mock: &Mock) -> RawTable {
    client(mock).raw_table("events")
}

/// A table of `mock` over sockets.
pub(crate) async fn table_by_socket(mock: &Mock) -> RawTable {
    Client::emulator(mock.listen().await).await.unwrap().raw_table("events")
}

/// The keys of all rows of a table.
pub(crate) async fn all(table: &RawTable) -> Result<Vec<String>, Error> {
    keys(table.read_rows(ReadRows::all())).await
}

/// The keys of rows, or the error.
pub(crate) async fn keys(rows: RowStream) -> Result<Vec<String>, Error> {
    rows.map_ok(|row| text(row.key())).try_collect().await
}

/// The keys of the rows before a failure, and the failure, after which nothing comes.
pub(crate) async fn keys_and_error(mut rows: RowStream) -> (Vec<String>, Error) {
    let mut keys = Vec::new();
    loop {
        match rows.try_next().await {
            Ok(Some(row)) => keys.push(text(row.key())),
            Ok(None) => panic!("it does not fail, after {keys:?}"),
            Err(error) => {
                assert_eq!(rows.try_next().await.unwrap(), None, "it goes on after {error}");
                return (keys, error);
            }
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// An idempotent write.
pub(crate) fn set() -> [Mutation; 1] {
    [Mutation::set("f", "q", 1000, "v")]
}

/// Idempotent writes of these keys.
pub(crate) fn entries<const N: usize>(keys: [&'static str; N]) -> Vec<(Bytes, Vec<Mutation>)> {
    keys.map(|key| (Bytes::from(key), set().to_vec())).into()
}

/// What each `ReadRows` request reads: keys, ranges in interval notation, the limit, the direction.
pub(crate) fn asked(mock: &Mock) -> Vec<String> {
    mock.requests_of(Rpc::ReadRows).iter().map(|request| asked_by(&request.read_rows())).collect()
}

fn asked_by(request: &data::ReadRowsRequest) -> String {
    let rows = request.rows.clone().unwrap_or_default();
    let mut words: Vec<String> = rows.row_keys.iter().map(|key| text(key)).collect();
    words.extend(rows.row_ranges.iter().map(range));
    if request.rows_limit != 0 {
        words.push(format!("limit {}", request.rows_limit));
    }
    if request.reversed {
        words.push("reversed".to_owned());
    }
    words.join(" ")
}

fn range(range: &data::RowRange) -> String {
    let start = match &range.start_key {
        None => "[".to_owned(),
        Some(StartKey::StartKeyClosed(key)) => format!("[{}", text(key)),
        Some(StartKey::StartKeyOpen(key)) => format!("({}", text(key)),
    };
    match &range.end_key {
        None => format!("{start},)"),
        Some(EndKey::EndKeyOpen(key)) => format!("{start},{})", text(key)),
        Some(EndKey::EndKeyClosed(key)) => format!("{start},{}]", text(key)),
    }
}

/// The row keys of each `MutateRows` request.
pub(crate) fn written(mock: &Mock) -> Vec<String> {
    let keys =
        |request: &Request| request.entries().iter().map(|key| text(key)).collect::<Vec<_>>().join(" ");
    mock.requests_of(Rpc::MutateRows).iter().map(keys).collect()
}

/// The time between each request and the one before.
pub(crate) fn gaps(mock: &Mock) -> Vec<Duration> {
    let requests = mock.requests();
    requests.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
}

/// The gRPC code of a failed operation.
pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, Error>) -> tonic::Code {
    tonic::Code::from(outcome.unwrap_err().grpc_code().expect("the error has a code of gRPC"))
}
