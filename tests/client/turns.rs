//! Reads whose rows have all been received let other tasks run, so that a timeout around them ends them.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use keyderive::client::ReadRows;
use keyderive::{Client, Row, RowKey, Scan, Table};
use keyderive_scripted::{Answer, Mock, Rpc, cell};
use tokio::time::{Instant, advance, timeout};

use crate::support::{MILLISECOND, SECOND, client};

/// How many rows the server has, all in one message.
const ROWS: u32 = 9_000;

/// How many rows a task may read before others have a turn.
const PER_TURN: u32 = 1_024;

#[derive(RowKey, Clone, Copy, Debug)]
#[row_key(layout = "text")]
struct EventKey {
    id: u32,
}

#[derive(Row, Clone, Debug)]
struct Event {
    n: Option<u64>,
}

/// A server of a table with that many rows in one part.
fn server() -> Mock {
    let message = Answer::chunks((0..ROWS).map(|id| cell(key(id)).family("cf").qualifier("n").commit()));
    Mock::new().by(move |request| match request.rpc {
        Rpc::ReadRows => message.clone(),
        _ => Answer::samples([]),
    })
}

fn key(id: u32) -> Bytes {
    EventKey { id }.encode().unwrap().into()
}

fn events(client: &Client) -> Table<EventKey, Event> {
    client.table::<EventKey, Event>("events").unchecked()
}

/// The time that a row takes.
fn tick() {
    // The clock moves when this is polled; what follows only lets other tasks run.
    let _ = advance(MILLISECOND).now_or_never();
}

/// Fails unless a timeout of two seconds ends what takes a millisecond for each row.
async fn ends_in_time(what: &str, run: impl Future) {
    let begun = Instant::now();
    assert!(timeout(2 * SECOND, run).await.is_err(), "{what} ended after {:?}", begun.elapsed());
    let late = begun.elapsed() - 2 * SECOND;
    // tokio's timers fire between two turns, and the stream has one more before the timeout is asked.
    assert!(late <= 2 * PER_TURN * MILLISECOND + Duration::from_millis(20), "{what} was {late:?} late");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_streams_of_received_rows() {
    let mock = server();
    let (client, table) = (client(&mock), events(&client(&mock)));
    let scan = || table.scan(EventKey::scan());
    ends_in_time("a stream of stored rows", async {
        let mut rows = client.raw_table("events").read_rows(ReadRows::all());
        while rows.next().await.transpose().unwrap().is_some() {
            tick();
        }
    })
    .await;
    ends_in_time("a stream of keys", async {
        let mut rows = scan().keys_only().stream();
        while rows.next().await.transpose().unwrap().is_some() {
            tick();
        }
    })
    .await;
    ends_in_time("an export", async {
        let mut rows = table.export(EventKey::scan()).with(Scan::keys_only).stream();
        while rows.next().await.transpose().unwrap().is_some() {
            tick();
        }
    })
    .await;
    ends_in_time("a visit", async {
        let visited = scan().visit::<EventKey, keyderive::Error>(|_, _| {
            tick();
            Ok(())
        });
        visited.await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_ends_scans_that_skip_received_rows() {
    let mock = server();
    let table = events(&client(&mock));
    let none = || {
        table.scan(EventKey::scan()).filter_key(|_| {
            tick();
            false
        })
    };
    ends_in_time("a scan", none().keys_only().collect()).await;
    ends_in_time("an unordered scan", none().unordered().count()).await;
    ends_in_time("an explanation with costs", none().explain_analyze()).await;
    ends_in_time("a visit", none().visit::<EventKey, keyderive::Error>(|_, _| Ok(()))).await;
    let export = table.export(EventKey::scan()).with(|scan| {
        scan.filter_key(|_| {
            tick();
            false
        })
    });
    ends_in_time("an export", async { export.stream().next().await.map(Result::unwrap) }).await;
}
