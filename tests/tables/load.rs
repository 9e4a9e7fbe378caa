//! Bulk loads, exports, and records in two tables.

mod both;
mod duplicates;
mod ends;
mod export;
mod failures;
mod forms;
mod kill;
mod spread;
mod sums;

use keyderive::__private::connected_by;
use keyderive::{Client, Row, RowKey, Table};
use keyderive_proto::data::MutateRowsRequest;
use keyderive_scripted::{Answer, Mock, Request, Rpc};
use tonic::Code;

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 16)]
struct ReadingKey {
    id: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Reading {
    value: u64,
    text: String,
    at_odd: Option<u64>,
}

type Readings = Table<ReadingKey, Reading>;

/// The row of this key.
fn reading(id: u32) -> (ReadingKey, Reading) {
    let value = u64::from(id) * 7;
    (ReadingKey { id }, Reading { value, text: format!("{value:x}"), at_odd: (id % 2 == 1).then_some(value) })
}

fn readings(client: &Client) -> Readings {
    client.table("readings")
}

/// A new embedded Bigtable with an empty table, and its client.
async fn empty() -> (Client, Readings) {
    let client = Client::embedded();
    let table = readings(&client);
    table.create_if_absent().await.unwrap();
    (client, table)
}

/// The ids of all rows; fails unless each row is the one of its key.
async fn ids(table: &Readings) -> Vec<u32> {
    let rows = table.scan(ReadingKey::scan()).collect().await.unwrap();
    for (key, row) in &rows {
        assert_eq!(*row, reading(key.id).1);
    }
    rows.into_iter().map(|(key, _)| key.id).collect()
}

/// A client of `mock` over pipes, so that a paused clock runs.
fn client_of(mock: &Mock) -> Client {
    connected_by(Client::builder(), mock.connector()).unwrap()
}

/// A server whose table is split at these keys. Each written row gets the code that `outcome` returns.
fn written_by(splits: Vec<&'static str>, outcome: impl Fn(&[u8]) -> Code + Send + Sync + 'static) -> Mock {
    Mock::new().by(move |request: &Request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples(splits.iter().map(|split| (*split, 0)).chain([("", 0)])),
        _ => {
            let entries = request.decode::<MutateRowsRequest>().entries;
            let outcomes = entries.iter().enumerate();
            Answer::outcomes(outcomes.map(|(place, entry)| (place as i64, outcome(&entry.row_key))))
        }
    })
}
