//! One stream of rows.

use bytes::Bytes;
use keyderive::dynamic::{TableLayout, Value, ValueRef};
use keyderive::{Client, Error};
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_tests::raw_client::RawClient;
use tonic::transport::Channel;

use super::data::{LentReading, Outcome, Reading, SITE, Seen, USER_ID, one_bucket};
use super::report::{Comparison, Line, Table};
use super::server::{Server, Stored};
use super::turns::{self, Path};
use super::{Print, Size, bigtable, floor, raw};
use crate::program::Failure;
use crate::{EventKey, LentKey, hand};

/// Measures them all.
pub(super) fn measure(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    const TITLE: &str = "Scans";
    let rows = size.rows;
    let stored = one_bucket(rows);
    let keys = stored.iter().map(|(key, row)| Ok((Bytes::from(key.encode()?), row)));
    let messages = Stored::new([keys.collect::<Result<Vec<_>, Failure>>()?]);
    let bytes = Outcome::Bytes(messages.bytes());
    let (read, count) = (Outcome::Read(Seen::of(&stored)), Outcome::Counted(rows.into()));
    drop(stored);

    let server = Server::start(messages);
    let runtime = turns::runtime()?;
    let channel = runtime.block_on(raw::connect(&server.host()))?;
    let client = runtime.block_on(Client::emulator(server.host()))?;
    let peer = runtime.block_on(async { bigtable::connect(&server.host()) })?;
    let layout = TableLayout::of::<EventKey, Reading>("readings");
    let none = Comparison::default();
    let paths = [
        Path::new("`bigtable_rs`, owned typed rows", read, || bigtable::scan(peer.clone())),
        Path::new("transport only, nothing parsed", bytes, || transport_only(&channel)),
        Path::new("by hand, borrowed typed rows", read, || by_hand_borrowed(&channel)),
        Path::new("by hand, owned typed rows", read, || by_hand_owned(&channel)),
        Path::new("decoded into generated messages, chunks only counted", count, || generated(&channel)),
        Path::new("keyderive, owned typed rows", read, || owned(&client))
            .beside(none.peer(0, 3.0).floor(3, None).allocations(4.0)),
        Path::new("keyderive, borrowed typed rows", read, || borrowed(&client))
            .beside(none.peer(0, 6.0).floor(2, 1.5).allocations(0.1)),
        Path::new("keyderive, owned rows by data", read, || owned_by_data(&client, &layout)),
        Path::new("keyderive, borrowed rows by data", read, || borrowed_by_data(&client, &layout)),
    ];
    let costs = turns::least(&runtime, TITLE, &paths, size)?;
    print(Table {
        title: TITLE.to_owned(),
        about: "One stream of the rows of one bucket. Keys are the manual's `EventKey`; decoding checks the salt. The peer and \
                keyderive decode keys with the derive, the hand-written paths with code for this key type only. Every path \
                with typed rows decodes all fields of the key and all 3 cells. By data, the layouts of key and row are known at run time."
            .to_owned(),
        unit: "row",
        units: rows.into(),
        lines: Line::of(&paths, costs),
    });
    Ok(())
}

async fn transport_only(channel: &Channel) -> Result<Outcome, Failure> {
    let mut messages = raw::read_rows(channel, &raw::read_request(None)).await?;
    let mut bytes = 0;
    while let Some(message) = messages.message().await? {
        bytes += message.len() as u64;
    }
    Ok(Outcome::Bytes(bytes))
}

async fn by_hand_borrowed(channel: &Channel) -> Result<Outcome, Failure> {
    let mut messages = raw::read_rows(channel, &raw::read_request(None)).await?;
    let mut seen = Seen::default();
    while let Some(message) = messages.message().await? {
        let mut rest = message.as_ref();
        while let Some(row) = floor::next_row(&mut rest)? {
            let key = hand::decode(row.key).map_err(|_| floor::Refused)?;
            seen.row(&key, row.reading);
        }
    }
    Ok(Outcome::Read(seen))
}

async fn by_hand_owned(channel: &Channel) -> Result<Outcome, Failure> {
    let mut messages = raw::read_rows(channel, &raw::read_request(None)).await?;
    let mut seen = Seen::default();
    while let Some(message) = messages.message().await? {
        let mut rest = message.as_ref();
        while let Some(row) = floor::next_row(&mut rest)? {
            let key = hand::decode(row.key).map_err(|_| floor::Refused)?;
            let (key, row) = (key.to_owned(), row.reading.to_owned());
            seen.row(&key.lend(), row.lend());
        }
    }
    Ok(Outcome::Read(seen))
}

async fn generated(channel: &Channel) -> Result<Outcome, Failure> {
    let mut client = RawClient::new(channel.clone());
    let mut messages = client.read_rows(raw::read_request(None)).await?.into_inner();
    let mut rows = 0;
    while let Some(message) = messages.message().await? {
        for chunk in &message.decoded()?.chunks {
            rows += u64::from(chunk.row_status == Some(RowStatus::CommitRow(true)));
        }
    }
    Ok(Outcome::Counted(rows))
}

async fn owned(client: &Client) -> Result<Outcome, Failure> {
    let table = client.table::<EventKey, Reading>("readings");
    let mut rows = table.scan(EventKey::scan().user_id(USER_ID).site(SITE)).stream();
    let mut seen = Seen::default();
    while let Some(row) = rows.next().await {
        let (key, row) = row?;
        seen.row(&key.lend(), row.lend());
    }
    Ok(Outcome::Read(seen))
}

async fn borrowed(client: &Client) -> Result<Outcome, Failure> {
    let table = client.table::<EventKey, Reading>("readings");
    let mut seen = Seen::default();
    let plan = EventKey::scan().user_id(USER_ID).site(SITE);
    table
        .scan(plan)
        .visit::<LentKey<'_>, Error>(|key, row| {
            seen.row(&key, row.read::<LentReading<'_>>()?);
            Ok(())
        })
        .await?;
    Ok(Outcome::Read(seen))
}

async fn owned_by_data(client: &Client, layout: &TableLayout) -> Result<Outcome, Failure> {
    let table = client.dynamic_table(layout);
    let plan = layout.key().scan().fix("user_id", USER_ID)?.fix("site", SITE)?;
    let mut rows = table.scan(plan).stream();
    let mut seen = Seen::default();
    while let Some(row) = rows.next().await {
        let (key, row) = row?;
        let fields = key.iter().map(|(_, value)| Some(value.as_ref()));
        let columns = row.columns().map(|column| column.value().newest().map(Value::as_ref));
        see(&mut seen, fields, columns)?;
    }
    Ok(Outcome::Read(seen))
}

async fn borrowed_by_data(client: &Client, layout: &TableLayout) -> Result<Outcome, Failure> {
    let table = client.dynamic_table(layout);
    let plan = layout.key().scan().fix("user_id", USER_ID)?.fix("site", SITE)?;
    let mut seen = Seen::default();
    table
        .scan(plan)
        .visit(|row| see(&mut seen, row.key_fields().map(Some), (0..3).map(|at| row.newest(at))))
        .await?;
    Ok(Outcome::Read(seen))
}

/// Notes the fields and columns of a row by data.
fn see<'r>(
    seen: &mut Seen,
    mut fields: impl Iterator<Item = Option<ValueRef<'r>>>,
    mut columns: impl Iterator<Item = Option<ValueRef<'r>>>,
) -> Result<(), Failure> {
    let mut read = || -> Option<(LentKey<'r>, LentReading<'r>)> {
        let (user_id, site) = (text(fields.next()??)?, text(fields.next()??)?);
        let (at, seq) = (integer(fields.next()??)?, integer(fields.next()??)?);
        let ValueRef::F64(celsius) = columns.next()?? else { return None };
        let (humidity, station) = (integer(columns.next()??)?, text(columns.next()??)?);
        Some((LentKey { user_id, site, at, seq }, LentReading { celsius, humidity, station }))
    };
    let (key, row) = read().ok_or("a value is not of its type")?;
    seen.row(&key, row);
    Ok(())
}

fn text(value: ValueRef<'_>) -> Option<&str> {
    match value {
        ValueRef::Text(text) => Some(text),
        _ => None,
    }
}

fn integer<T: TryFrom<i128>>(value: ValueRef<'_>) -> Option<T> {
    match value {
        ValueRef::Integer(number) => number.try_into().ok(),
        _ => None,
    }
}
