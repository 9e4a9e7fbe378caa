//! What a client records of its requests: every attempt that is sent, as a tablet sees it.

use std::collections::BTreeMap;
use std::future::Future as _;
use std::task::{Context, Waker};

use futures_util::TryStreamExt as _;
use futures_util::future::join;
use keyderive::__private::connected_by;
use keyderive::Client;
use keyderive::client::{Hedging, RawTable, ReadRows};
use keyderive::heat::{Measure, Recording};
use keyderive::plan::KeyRange;
use keyderive::row::{Mutation, ReadModifyWrite};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Door, Failure, Mock, Rpc};
use tokio::time::{Instant, timeout};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, client, entries, set, table, text};

/// A client that records everything.
fn recording(mock: &Mock) -> Client {
    let builder = Client::builder().connections(2).record_heat(Recording::new().one_in(1));
    connected_by(builder, mock.connector()).unwrap()
}

/// What was recorded of the table `events`.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    reads: u64,
    writes: u64,
    /// Reads and writes of each key.
    keys: BTreeMap<String, u64>,
}

fn counts(client: &Client) -> Counts {
    let heat = client.heat().unwrap();
    assert_eq!(heat.left_out, 0);
    let Some(events) = heat.tables.get("events") else { return Counts::default() };
    let keys = events.heavy_keys.top(100).into_iter().map(|key| (text(&key.key), key.count));
    let total = |measure| events.grid.total(measure);
    Counts { reads: total(Measure::Reads), writes: total(Measure::Writes), keys: keys.collect() }
}

fn of<const N: usize>(reads: u64, writes: u64, keys: [(&str, u64); N]) -> Counts {
    Counts { reads, writes, keys: keys.map(|(key, count)| (key.to_owned(), count)).into() }
}

fn answering() -> Mock {
    Mock::new().by(|request| match request.rpc {
        Rpc::ReadRows => Answer::rows(request.read_rows().rows.unwrap_or_default().row_keys),
        Rpc::SampleRowKeys => Answer::samples([("k", 7)]),
        Rpc::MutateRow => Answer::written(),
        Rpc::MutateRows => Answer::outcomes((0..).zip(request.entries()).map(|(at, _)| (at, Code::Ok))),
        Rpc::CheckAndMutateRow => Answer::matched(true),
        Rpc::ReadModifyWriteRow => Answer::changed(data::Row::default()),
        _ => Answer::new(),
    })
}

#[tokio::test(start_paused = true)]
async fn every_data_request_is_counted_at_its_keys() {
    let client = recording(&answering());
    let events = client.raw_table("events");
    events.read_row("a", None).await.unwrap();
    assert_eq!(counts(&client), of(1, 0, [("a", 1)]));

    let request = ReadRows::new().key("b").key("c").prefix("d").range(KeyRange::new("e", None));
    events.read_rows(request).try_collect::<Vec<_>>().await.unwrap();
    assert_eq!(counts(&client), of(5, 0, [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)]));
    all(&events).await.unwrap();
    assert_eq!(counts(&client).keys[""], 1, "a scan of the whole table is a read at its start");

    let client = recording(&answering());
    let events = client.raw_table("events");
    events.mutate_row("a", set()).await.unwrap();
    events.mutate_rows(entries(["b", "c"])).await.all_written().unwrap();
    events.check_and_mutate_row("d", None, set().to_vec(), Vec::new()).await.unwrap();
    events.read_modify_write_row("e", vec![ReadModifyWrite::increment("f", "q", 1)]).await.unwrap();
    let writer = events.writer();
    for _ in 0..3 {
        writer.write("g", set().to_vec()).await.unwrap();
    }
    writer.close().await.unwrap();
    assert_eq!(counts(&client), of(0, 8, [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("g", 3)]));

    events.sample_row_keys().await.unwrap();
    assert_eq!(counts(&client).reads, 0, "a sample of keys reads no row");
}

#[tokio::test(start_paused = true)]
async fn bytes_are_those_of_rows_that_come_and_of_mutations() {
    let bytes = |client: &Client| client.heat().unwrap().tables["events"].grid.total(Measure::Bytes);
    let client = recording(&answering());
    let events = client.raw_table("events");
    let value = vec![0; 1000];
    events.mutate_row("a", [Mutation::set("f", "q", 1000, value)]).await.unwrap();
    let written = bytes(&client);
    assert!((1000..1050).contains(&written), "{written}");
    events.read_row("a", None).await.unwrap();
    let read = bytes(&client) - written;
    assert!((1..20).contains(&read), "{read}");
    let request = ReadRows::new().key("a").key("b").key("c");
    events.read_rows(request).try_collect::<Vec<_>>().await.unwrap();
    assert_eq!(bytes(&client) - written, 4 * read, "each row of a scan has the same");
}

/// A tablet sees each attempt.
#[tokio::test(start_paused = true)]
async fn retries_are_counted() {
    let failing = |rpc, times| {
        let mock = answering();
        (0..times).fold(mock, |mock, _| mock.on(rpc, Answer::failure(Failure::from(Code::Unavailable))))
    };
    let client = recording(&failing(Rpc::ReadRows, 2));
    client.raw_table("events").read_row("a", None).await.unwrap();
    assert_eq!(counts(&client), of(3, 0, [("a", 3)]));

    let client = recording(&failing(Rpc::MutateRow, 2));
    client.raw_table("events").mutate_row("a", set()).await.unwrap();
    assert_eq!(counts(&client), of(0, 3, [("a", 3)]));

    // One entry of two is sent again.
    let mock = answering().on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok), (1, Code::Unavailable)]));
    let client = recording(&mock);
    client.raw_table("events").mutate_rows(entries(["a", "b"])).await.all_written().unwrap();
    assert_eq!(counts(&client), of(0, 3, [("a", 1), ("b", 2)]));

    // A scan resumes after its last row, and so reads another range.
    let mock = answering()
        .on(Rpc::ReadRows, Answer::rows(["a", "b"]).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["c"]));
    let client = recording(&mock);
    assert_eq!(all(&client.raw_table("events")).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(counts(&client), of(2, 0, [("", 1), ("b\\x00", 1)]));
}

#[tokio::test(start_paused = true)]
async fn calls_that_fail_or_are_dropped_are_counted_once_they_are_sent() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::failure(Failure::from(Code::InvalidArgument)))
        .by(|_| Answer::new().stall());
    let client = recording(&mock);
    let events = client.raw_table("events");
    events.mutate_row("failed", set()).await.unwrap_err();
    assert_eq!(counts(&client), of(0, 1, [("failed", 1)]));

    timeout(SECOND, events.mutate_row("dropped", set())).await.unwrap_err();
    timeout(SECOND, events.read_row("dropped", None)).await.unwrap_err();
    timeout(SECOND, events.mutate_rows(entries(["dropped"]))).await.unwrap_err();
    timeout(SECOND, all(&events)).await.unwrap_err();
    assert_eq!(counts(&client), of(2, 3, [("failed", 1), ("dropped", 3), ("", 1)]));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_sent_is_not_counted() {
    let mock = answering();
    let client = recording(&mock);
    let events = client.raw_table("events");
    drop(events.mutate_row("k", set()));
    drop(events.read_rows(ReadRows::all()));
    events.mutate_row("", set()).await.unwrap_err();
    events.mutate_row("k".repeat(5000), set()).await.unwrap_err();
    assert_eq!(counts(&client), Counts::default());

    let past = client.with_deadline(Instant::now().into_std());
    past.raw_table("events").mutate_row("k", set()).await.unwrap_err();
    assert_eq!(counts(&client), Counts::default());

    // It waits for a connection that is never made.
    mock.drop_connections();
    let stuck = answering();
    stuck.set_door(Door::Stuck);
    let client = recording(&stuck);
    let events = client.raw_table("events");
    timeout(SECOND, events.mutate_row("k", set())).await.unwrap_err();
    timeout(SECOND, all(&events)).await.unwrap_err();
    assert_eq!(counts(&client), Counts::default());

    client.close().await;
    events.mutate_row("k", set()).await.unwrap_err();
    assert_eq!(counts(&client), Counts::default());
}

#[tokio::test(start_paused = true)]
async fn a_hedge_is_a_read_of_its_own() {
    let mock = Mock::new().by(|request| match request.header("bigtable-attempt") {
        _ if request.rpc == Rpc::MutateRow => Answer::written(),
        Some("0") => Answer::new().stall(),
        _ => Answer::rows(["a"]),
    });
    let client = recording(&mock).with(|settings| settings.hedging = Hedging::After(100 * MILLISECOND));
    let events = client.raw_table("events");
    // Both connections are open.
    let (one, other) = join(events.mutate_row("k", set()), events.mutate_row("k", set())).await;
    one.and(other).unwrap();
    events.read_row("a", None).await.unwrap();
    assert_eq!(mock.requests_of(Rpc::ReadRows).len(), 2);
    assert_eq!(counts(&client), of(2, 2, [("a", 2), ("k", 2)]));
}

/// Two clients that are merged are as one that did the work of both.
#[tokio::test(start_paused = true)]
async fn snapshots_of_two_clients_are_one() {
    async fn write(events: &RawTable, from: u64) {
        for number in (from..2000).step_by(2) {
            events.mutate_row(format!("{:04}", number * 7 % 1000), set()).await.unwrap();
        }
    }
    let [one, other, both] = [(); 3].map(|()| recording(&answering().unrecorded()));
    write(&one.raw_table("events"), 0).await;
    write(&other.raw_table("events"), 1).await;
    write(&both.raw_table("events"), 0).await;
    write(&both.raw_table("events"), 1).await;
    let merged = one.heat().unwrap().merge(&other.heat().unwrap()).unwrap();
    let json = serde_json::to_string(&merged).unwrap();
    let merged: keyderive::heat::Snapshot = serde_json::from_str(&json).unwrap();
    let (merged, both) = (&merged.tables["events"], &both.heat().unwrap().tables["events"]);
    assert_eq!(merged.recorded, 2000);
    for measure in Measure::ALL {
        assert_eq!(merged.grid.total(measure), both.grid.total(measure), "{measure:?}");
    }
    // Both see the same keys, and so find some of the same boundaries.
    assert!(merged.grid.rows() > 4, "{}", merged.grid.rows());
}

#[tokio::test(start_paused = true)]
async fn without_it_nothing_is_recorded() {
    let mock = answering();
    table(&mock).mutate_row("k", set()).await.unwrap();
    assert!(client(&mock).heat().is_none());
}

/// The future of a call that was polled once, and has sent nothing, since it is not its turn.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_polled_once_is_counted_if_it_is_sent() {
    let client = recording(&answering());
    let events = client.raw_table("events");
    events.mutate_row("a", set()).await.unwrap();
    {
        let mut call = Box::pin(events.mutate_row("b", set()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(counts(&client), of(0, 2, [("a", 1), ("b", 1)]));
}
