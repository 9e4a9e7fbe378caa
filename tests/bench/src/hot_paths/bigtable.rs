//! The peer: `bigtable_rs`, used through its public API as documented, against the scripted server as an emulator.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::pin::Pin;

use bigtable_rs::bigtable::{BigTable, BigTableConnection, RowCell};
use bigtable_rs::google::bigtable::v2::mutate_rows_request::Entry;
use bigtable_rs::google::bigtable::v2::mutation::{Mutation as Change, SetCell};
use bigtable_rs::google::bigtable::v2::row_range::StartKey;
use bigtable_rs::google::bigtable::v2::{
    MutateRowRequest, MutateRowsRequest, Mutation, ReadRowsRequest, RowRange, RowSet,
};
use futures_util::{Stream, StreamExt as _};
use keyderive::key::OwnedRowKey;

use super::data::{FAMILY, Outcome, Reading, Salted, Seen};
use crate::EventKey;
use crate::program::Failure;

type Row = (Vec<u8>, Vec<RowCell>);
type Rows = Pin<Box<dyn Stream<Item = Result<Row, bigtable_rs::bigtable::Error>>>>;

pub(super) fn connect(host: &str) -> Result<BigTable, Failure> {
    let connection = BigTableConnection::new_with_emulator(host, "keyderive", "local", false, 1, None)?;
    Ok(connection.client())
}

async fn read(mut client: BigTable, start: Option<String>) -> Result<Rows, Failure> {
    let start_key = start.map(|start| StartKey::StartKeyClosed(start.into_bytes()));
    let request = ReadRowsRequest {
        table_name: client.get_full_table_name("readings"),
        rows: Some(RowSet { row_keys: Vec::new(), row_ranges: vec![RowRange { start_key, end_key: None }] }),
        ..ReadRowsRequest::default()
    };
    Ok(Box::pin(client.stream_rows(request).await?))
}

/// Decodes the cells of a row as the typed row, reusing the received string.
fn reading(cells: Vec<RowCell>) -> Result<Reading, Failure> {
    let mut reading = Reading { celsius: 0.0, humidity: 0, station: String::new() };
    for cell in cells {
        match cell.qualifier.as_slice() {
            b"celsius" => reading.celsius = f64::from_be_bytes(cell.value.as_slice().try_into()?),
            b"humidity" => reading.humidity = i64::from_be_bytes(cell.value.as_slice().try_into()?),
            b"station" => reading.station = String::from_utf8(cell.value)?,
            _ => {}
        }
    }
    Ok(reading)
}

/// Reads one row, and counts it.
pub(super) async fn get(client: BigTable, key: &EventKey) -> Result<u64, Failure> {
    get_many(client, std::slice::from_ref(key)).await
}

/// Reads the rows of these keys, and counts them.
pub(super) async fn get_many(mut client: BigTable, keys: &[EventKey]) -> Result<u64, Failure> {
    let row_keys = keys.iter().map(EventKey::encode).collect::<Result<Vec<_>, _>>()?;
    let request = ReadRowsRequest {
        table_name: client.get_full_table_name("readings"),
        rows_limit: i64::try_from(row_keys.len())?,
        rows: Some(RowSet { row_keys, row_ranges: Vec::new() }),
        ..ReadRowsRequest::default()
    };
    let mut rows = 0;
    for (_, cells) in client.read_rows(request).await? {
        reading(cells)?;
        rows += 1;
    }
    Ok(rows)
}

/// Writes one row, and counts it.
pub(super) async fn put(mut client: BigTable, key: &[u8], row: &Reading) -> Result<u64, Failure> {
    let request = MutateRowRequest {
        table_name: client.get_full_table_name("readings"),
        row_key: key.to_vec(),
        mutations: mutations(row, -1),
        ..MutateRowRequest::default()
    };
    client.mutate_row(request).await?;
    Ok(1)
}

/// Reads the table by one stream.
pub(super) async fn scan(client: BigTable) -> Result<Outcome, Failure> {
    let mut seen = Seen::default();
    scan_rows(client, |key: EventKey, row| seen.row(&key.lend(), row.lend())).await?;
    Ok(Outcome::Read(seen))
}

/// Reads the table by one stream, and calls `each` with its typed rows.
pub(super) async fn scan_rows<K: OwnedRowKey>(
    client: BigTable,
    mut each: impl FnMut(K, Reading),
) -> Result<(), Failure> {
    let mut rows = read(client, None).await?;
    while let Some(row) = rows.next().await {
        let (key, cells) = row?;
        each(K::decode(&key)?, reading(cells)?);
    }
    Ok(())
}

/// The next row of a bucket. A head is greater the earlier its key comes in the order of all buckets, which is that
/// of the bytes after the salt.
struct Head {
    row: Row,
    salt_len: usize,
    bucket: usize,
}

impl Head {
    fn logical_key(&self) -> &[u8] {
        self.row.0.get(self.salt_len..).unwrap_or_default()
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.logical_key() == other.logical_key()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.logical_key().cmp(self.logical_key())
    }
}

/// Merges the buckets, each read over a connection of its own: on a shared connection, the buckets that wait for
/// their turn fill its window, and the merge hangs.
pub(super) async fn merge<K: Salted>(clients: Vec<BigTable>) -> Result<Outcome, Failure> {
    let mut buckets = Vec::new();
    let mut heads = BinaryHeap::new();
    for (bucket, client) in clients.into_iter().enumerate() {
        let width = K::SALT_LEN - 1;
        let mut rows = read(client, Some(format!("{bucket:0width$}#"))).await?;
        if let Some(row) = rows.next().await {
            heads.push(Head { row: row?, salt_len: K::SALT_LEN, bucket });
        }
        buckets.push(rows);
    }
    let mut seen = Seen::default();
    while let Some(mut head) = heads.peek_mut() {
        let row = match buckets[head.bucket].next().await {
            Some(row) => std::mem::replace(&mut head.row, row?),
            None => PeekMut::pop(head).row,
        };
        let (key, row) = (K::decode(&row.0)?, reading(row.1)?);
        seen.row(&key.lend(), row.lend());
    }
    Ok(Outcome::Read(seen))
}

/// Writes the rows, `rows_a_request` with each request.
pub(super) async fn write<K: OwnedRowKey>(
    mut client: BigTable,
    rows: &[(K, Reading)],
    rows_a_request: usize,
    micros: i64,
) -> Result<Outcome, Failure> {
    let mut written = 0;
    for rows in rows.chunks(rows_a_request) {
        let entries = rows.iter().map(|(key, row)| entry(key, row, micros)).collect::<Result<_, _>>()?;
        let request = MutateRowsRequest {
            table_name: client.get_full_table_name("readings"),
            entries,
            ..MutateRowsRequest::default()
        };
        let mut answers = client.mutate_rows(request).await?;
        while let Some(answer) = answers.message().await? {
            for entry in answer.entries {
                match entry.status {
                    Some(status) if status.code != 0 => return Err(status.message.into()),
                    _ => written += 1,
                }
            }
        }
    }
    Ok(Outcome::Written(written))
}

fn entry<K: OwnedRowKey>(key: &K, row: &Reading, timestamp_micros: i64) -> Result<Entry, Failure> {
    Ok(Entry { row_key: key.encode()?, mutations: mutations(row, timestamp_micros), ..Entry::default() })
}

fn mutations(row: &Reading, timestamp_micros: i64) -> Vec<Mutation> {
    let set = |qualifier: &str, value: Vec<u8>| Mutation {
        mutation: Some(Change::SetCell(SetCell {
            family_name: FAMILY.to_owned(),
            column_qualifier: qualifier.as_bytes().to_vec(),
            timestamp_micros,
            value,
        })),
    };
    vec![
        set("celsius", row.celsius.to_be_bytes().to_vec()),
        set("humidity", row.humidity.to_be_bytes().to_vec()),
        set("station", row.station.as_bytes().to_vec()),
    ]
}
