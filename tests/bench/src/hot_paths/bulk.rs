//! Bulk writes from typed rows.

use std::sync::Arc;

use keyderive::{Client, Table as Rows};
use tonic::transport::Channel;

use super::data::{FAMILY, Outcome, Reading, cell_written, now_micros, varied};
use super::report::{Comparison, Line, Table};
use super::server::{AcceptWrites, Server, Written};
use super::turns::{self, Path};
use super::{Print, Size, bigtable, raw, write_floor};
use crate::EventKey;
use crate::program::Failure;

/// About 1 MB per request.
const ROWS_A_REQUEST: usize = 5000;

/// How many bytes a load reads ahead.
const LOOK_AHEAD: usize = 64 * 1024 * 1024;

/// Measures them all.
pub(super) fn measure(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    const TITLE: &str = "Bulk writes";
    let rows = varied(size.rows);
    let written = Arc::new(Written::default());
    let server = Server::start(AcceptWrites::new(Arc::clone(&written)));
    let runtime = turns::runtime()?;
    let channel = runtime.block_on(raw::connect(&server.host()))?;
    let client = runtime.block_on(Client::emulator(server.host()))?;
    let table = client.table::<EventKey, Reading>("readings");
    let peer = runtime.block_on(async { bigtable::connect(&server.host()) })?;
    let all = Outcome::Written(rows.len() as u64);
    let ours = |floor| Comparison::default().peer(0, 3.0).floor(floor, 1.3);
    let paths = [
        Path::new("`bigtable_rs`", all, || {
            bigtable::write(peer.clone(), &rows, ROWS_A_REQUEST, now_micros())
        }),
        Path::new("by hand", all, || by_hand(&channel, &rows)),
        Path::new("by hand, read ahead and sorted", all, || sorted_by_hand(&channel, &rows)),
        Path::new("keyderive, `put_all`", all, || put_all(&table, &rows)).beside(ours(1)),
        Path::new("keyderive, `writer`", all, || writer(&table, &rows)).beside(ours(1)),
        Path::new("keyderive, `load`", all, || load(&table, &rows)).beside(ours(2)),
    ];

    let expected = (rows.len() as u64, sum(&rows)?);
    written.check(true);
    for path in paths.iter().filter(|_| size.only.is_none()) {
        path.run(&runtime)?;
        let found = written.take();
        if found != expected {
            return Err(format!("{}: {found:?} rows and cells, and not {expected:?}", path.name).into());
        }
    }
    written.check(false);

    let costs = turns::least(&runtime, TITLE, &paths, size)?;
    print(Table {
        title: TITLE.to_owned(),
        about: format!(
            "{} typed rows with varied keys, in requests of {ROWS_A_REQUEST} rows, about 1 MB; `put_all` fills requests up to 1 \
             MiB. The hand-written paths encode protobuf for this key type and this row type only. The first one, \"by \
             hand\", sends rows \
             in input order; it is the floor of `put_all` and `writer`. The second one reads 64 MiB ahead, as `load` does, \
             sorts the rows of each bucket and spreads requests over the buckets; it is the floor of `load`. `writer` takes \
             one row per call, with a lock, and has several requests in flight; its `batch_entries` are 5000, instead of \
             the default of 100.",
            rows.len()
        ),
        unit: "row",
        units: rows.len() as u64,
        lines: Line::of(&paths, costs),
    });
    Ok(())
}

fn sum(rows: &[(EventKey, Reading)]) -> Result<u64, Failure> {
    let mut sum = 0_u64;
    for (key, row) in rows {
        let key = key.encode()?;
        for (qualifier, value) in row.cells() {
            sum = sum.wrapping_add(cell_written(&key, FAMILY.as_bytes(), qualifier.as_bytes(), &value));
        }
    }
    Ok(sum)
}

async fn by_hand(channel: &Channel, rows: &[(EventKey, Reading)]) -> Result<Outcome, Failure> {
    write_floor::write(channel, rows, ROWS_A_REQUEST, now_micros()).await
}

async fn sorted_by_hand(channel: &Channel, rows: &[(EventKey, Reading)]) -> Result<Outcome, Failure> {
    write_floor::load(channel, rows, LOOK_AHEAD, ROWS_A_REQUEST, now_micros()).await
}

async fn put_all(table: &Rows<EventKey, Reading>, rows: &[(EventKey, Reading)]) -> Result<Outcome, Failure> {
    table.put_all(rows).await?;
    Ok(Outcome::Written(rows.len() as u64))
}

async fn writer(table: &Rows<EventKey, Reading>, rows: &[(EventKey, Reading)]) -> Result<Outcome, Failure> {
    let writer = table.writer_with(|settings| settings.batch_entries = ROWS_A_REQUEST);
    for (key, row) in rows {
        writer.put(key, row).await?;
    }
    Ok(Outcome::Written(writer.close().await?))
}

async fn load(table: &Rows<EventKey, Reading>, rows: &[(EventKey, Reading)]) -> Result<Outcome, Failure> {
    let report = table.load_iter(rows).batch_rows(ROWS_A_REQUEST).look_ahead(LOOK_AHEAD).await?;
    Ok(Outcome::Written(report.all_written()?.written))
}
