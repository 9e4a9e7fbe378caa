//! Scans in scope when their client closes, embedded and over a connection: an ended scan does not delay closing, a
//! polled one runs to its end, and an abandoned one is cancelled.

use std::collections::BTreeMap;

use keyderive::client::ReadRows;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::{Client, Error, ErrorKind, RowKey, Scan, Table};
use keyderive_scripted::{Answer, Mock, Rpc};
use keyderive_tests::fixtures::{SaltedKey, UserKey, created};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::support::{SECOND, client, table};

type Event = BTreeMap<String, u64>;

const ROWS: u64 = 6;

/// How long a scan may stay unpolled while its client closes.
const GIVEN_UP_AFTER: std::time::Duration = std::time::Duration::from_secs(10);

fn events(client: &Client) -> Table<SaltedKey, Event> {
    client.table("events")
}

async fn embedded() -> Client {
    let client = Client::embedded();
    let events: Table<SaltedKey, Event> = created(&client, "events").await;
    for id in 0..ROWS {
        events.put(&SaltedKey { id }, &Event::from([("n".to_owned(), id)])).await.unwrap();
    }
    client
}

/// A client of a server with the same keys, over a connection.
async fn remote() -> Client {
    let keys = (0..ROWS).map(|id| SaltedKey { id }.encode().unwrap().into()).collect();
    let rows = keyderive_scripted::Table::new(keys, vec![("n".into(), "v".into())], 1);
    client(&Mock::new().by(move |request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples([]),
        _ if request.read_rows().table_name.ends_with("absent") => Answer::failure(Code::NotFound),
        _ => rows.answer(request),
    }))
}

/// Makes a test of each function, on the embedded Bigtable and over a connection.
macro_rules! on_both {
    ($($test:ident)*) => {
        mod embedded {
            $(#[tokio::test(start_paused = true)] async fn $test() { super::$test(super::embedded().await).await; })*
        }
        mod remote {
            $(#[tokio::test(start_paused = true)] async fn $test() { super::$test(super::remote().await).await; })*
        }
    };
}

on_both! {
    a_scan_that_was_read_to_its_end
    a_scan_that_failed
    a_scan_that_met_a_foreign_row
    a_scan_that_has_had_all_rows_of_its_limit
    raw_streams_that_have_ended
    an_export_that_was_read_to_its_end
    a_page_and_a_visit
    scans_that_nobody_polls_are_given_up
    a_scan_that_is_polled_now_and_then_ends_well
    an_export_that_is_read_slowly_ends_well
    concurrent_closes_wait_equally_long
}

async fn closes_at_once(client: &Client) {
    timeout(SECOND, client.close()).await.unwrap();
}

async fn a_scan_that_was_read_to_its_end(client: Client) {
    let mut rows = events(&client).scan(SaltedKey::scan()).keys_only().stream();
    let mut ids = Vec::new();
    while let Some(key) = rows.next().await {
        ids.push(key.unwrap().id);
    }
    assert!(ids.iter().copied().eq(0..ROWS), "{ids:?}");
    closes_at_once(&client).await;
    assert!(rows.next().await.is_none());
}

async fn a_scan_that_failed(client: Client) {
    let absent = client.table::<SaltedKey, Event>("absent");
    let mut rows = absent.scan(SaltedKey::scan()).keys_only().stream();
    assert!(rows.next().await.unwrap().unwrap_err().is_not_found());
    closes_at_once(&client).await;
    assert!(rows.next().await.is_none());
}

async fn a_scan_that_met_a_foreign_row(client: Client) {
    #[derive(RowKey, Debug)]
    #[salt(range = 4, over = "id")]
    struct Other {
        id: u64,
        name: String,
    }
    let mut rows = client.table::<Other, Event>("events").scan(Other::scan()).keys_only().stream();
    rows.next().await.unwrap().unwrap_err();
    closes_at_once(&client).await;
    assert!(rows.next().await.is_none());
}

async fn a_scan_that_has_had_all_rows_of_its_limit(client: Client) {
    let mut rows = events(&client).scan(SaltedKey::scan()).keys_only().limit(2).stream();
    for id in 0..2 {
        assert_eq!(rows.next().await.unwrap().unwrap(), SaltedKey { id });
    }
    closes_at_once(&client).await;
    assert!(rows.next().await.is_none());
}

async fn raw_streams_that_have_ended(client: Client) {
    let mut failed = client.raw_table("absent").read_rows(ReadRows::all());
    failed.next().await.unwrap().unwrap_err();
    let mut rows = client.raw_table("events").read_rows(ReadRows::all());
    let mut limited = client.raw_table("events").read_rows(ReadRows::all().limit(1));
    limited.next().await.unwrap().unwrap();
    while rows.next().await.transpose().unwrap().is_some() {}
    closes_at_once(&client).await;
    assert!(rows.next().await.is_none() && limited.next().await.is_none() && failed.next().await.is_none());
}

async fn an_export_that_was_read_to_its_end(client: Client) {
    let export = events(&client).export(SaltedKey::scan()).with(Scan::keys_only);
    let mut rows = export.stream();
    let mut count = 0;
    while rows.next().await.transpose().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, ROWS);
    closes_at_once(&client).await;
    assert!(rows.next().await.is_none());
}

async fn a_page_and_a_visit(client: Client) {
    let page = events(&client).scan(SaltedKey::scan()).keys_only().page(2).await.unwrap();
    let visit = events(&client).scan(SaltedKey::scan()).visit::<SaltedKey, Error>(|_, _| Ok(()));
    assert_eq!((page.rows.len() as u64, visit.await.unwrap()), (2, ROWS));
    closes_at_once(&client).await;
    drop(page);
}

async fn scans_that_nobody_polls_are_given_up(client: Client) {
    let events = events(&client);
    let mut new = events.scan(SaltedKey::scan()).keys_only().stream();
    let mut begun = events.scan(SaltedKey::scan()).keys_only().stream();
    begun.next().await.unwrap().unwrap();
    let mut raw = client.raw_table("events").read_rows(ReadRows::all());
    raw.next().await.unwrap().unwrap();
    let mut export = events.export(SaltedKey::scan()).with(Scan::keys_only).stream();
    export.next().await.unwrap().unwrap();

    let began = Instant::now();
    timeout(GIVEN_UP_AFTER + SECOND, client.close()).await.unwrap();
    assert!(began.elapsed() >= GIVEN_UP_AFTER, "{:?}", began.elapsed());

    for error in [
        new.next().await.unwrap().unwrap_err(),
        begun.next().await.unwrap().unwrap_err(),
        raw.next().await.unwrap().unwrap_err(),
        export.next().await.unwrap().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::ClientClosed, "{error}");
        assert!(error.to_string().contains("on table `events` failed: the client is closed"), "{error}");
    }
    assert!(new.next().await.is_none() && begun.next().await.is_none());
    assert!(raw.next().await.is_none() && export.next().await.is_none());
    closes_at_once(&client).await;
}

async fn a_scan_that_is_polled_now_and_then_ends_well(client: Client) {
    let mut rows = events(&client).scan(SaltedKey::scan()).keys_only().stream();
    assert_eq!(rows.next().await.unwrap().unwrap(), SaltedKey { id: 0 });
    let read = async {
        for id in 1..ROWS {
            sleep(GIVEN_UP_AFTER - SECOND).await;
            assert_eq!(rows.next().await.unwrap().unwrap(), SaltedKey { id });
        }
        assert!(rows.next().await.is_none());
        Instant::now()
    };
    let (ended, closed) = tokio::join!(read, async {
        timeout(100 * SECOND, client.close()).await.unwrap();
        Instant::now()
    });
    assert_eq!(closed, ended);
}

/// The export reads one partition after the other, and has started one of three.
async fn an_export_that_is_read_slowly_ends_well(client: Client) {
    let parts = (0..3).map(|third| SaltedKey::scan().id_range(third * 2..third * 2 + 2).into_plan().unwrap());
    let export = events(&client).export_parts(parts).parallel(1).with(Scan::keys_only);
    let mut rows = export.stream();
    rows.next().await.unwrap().unwrap();
    let read = async {
        let mut count = 1;
        loop {
            sleep(GIVEN_UP_AFTER / 2).await;
            match rows.next().await.transpose().unwrap() {
                Some(_) => count += 1,
                None => return count,
            }
        }
    };
    let (count, closed) = tokio::join!(read, timeout(60 * SECOND, client.close()));
    assert_eq!(count, ROWS);
    closed.unwrap();
}

/// A later `close` does not shorten the wait of an earlier one.
async fn concurrent_closes_wait_equally_long(client: Client) {
    let mut rows = events(&client).scan(SaltedKey::scan()).keys_only().stream();
    rows.next().await.unwrap().unwrap();
    let read = async {
        sleep(SECOND).await;
        rows.next().await.unwrap().unwrap();
        sleep(GIVEN_UP_AFTER).await;
        rows.next().await.unwrap().unwrap();
        drop(rows);
    };
    let other = async {
        sleep(GIVEN_UP_AFTER - SECOND).await;
        client.close().await;
    };
    tokio::join!(read, timeout(100 * SECOND, client.close()), other).1.unwrap();
}

/// Waiting for a slow server does not count as abandoning the scan.
#[tokio::test(start_paused = true)]
async fn a_scan_that_waits_for_a_slow_server_is_waited_for() {
    let mock = Mock::new().by(|_| Answer::rows(["a"]).wait(100 * SECOND).and_rows(["b"]));
    let (table, client) = (table(&mock), client(&mock));
    let raw = client.raw_table("events");
    drop(table);
    let read = tokio::spawn(async move {
        let mut rows = raw.read_rows(ReadRows::all());
        let mut count = 0;
        while rows.next().await.transpose().unwrap().is_some() {
            count += 1;
        }
        (count, Instant::now())
    });
    sleep(SECOND).await;
    client.close().await;
    assert_eq!(read.await.unwrap(), (2, Instant::now()));
}

/// Its first poll was pending, since the table is not known yet, and nobody polls it again.
#[tokio::test(start_paused = true)]
async fn a_scan_that_waits_for_the_check_of_its_table_is_given_up() {
    let silent = Faults::seeded(0).delay(Method::GetTable, 1.0, 100 * SECOND);
    let client = Bigtable::in_memory().with_faults(silent).client();
    let mut rows = client.table::<UserKey, Event>("events").scan(UserKey::scan()).stream();
    assert!(timeout(SECOND / 10, rows.next()).await.is_err());
    let began = Instant::now();
    timeout(GIVEN_UP_AFTER + SECOND, client.close()).await.unwrap();
    assert!(began.elapsed() >= GIVEN_UP_AFTER, "{:?}", began.elapsed());
    assert_eq!(rows.next().await.unwrap().unwrap_err().kind(), ErrorKind::ClientClosed);
}

/// The last poll of the stream was pending, and nobody polls it again.
#[tokio::test(start_paused = true)]
async fn a_scan_whose_reader_went_away_is_given_up() {
    let client = client(&Mock::new().by(|_| Answer::new().stall()));
    let mut rows = client.table::<UserKey, Event>("events").scan(UserKey::scan()).stream();
    let mut raw = client.raw_table("events").read_rows(ReadRows::all());
    assert!(timeout(SECOND, rows.next()).await.is_err() && timeout(SECOND, raw.next()).await.is_err());
    timeout(GIVEN_UP_AFTER + SECOND, client.close()).await.unwrap();
    assert_eq!(rows.next().await.unwrap().unwrap_err().kind(), ErrorKind::ClientClosed);
    assert_eq!(raw.next().await.unwrap().unwrap_err().kind(), ErrorKind::ClientClosed);
}
