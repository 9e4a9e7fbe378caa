//! Reads and writes of one row, one or many at a time.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join_all;
use keyderive::Client;
use keyderive::heat::Recording;
use keyderive_proto::data::mutation::{Mutation as Change, SetCell};
use keyderive_proto::data::{MutateRowRequest, Mutation, ReadRowsRequest, RowSet};
use keyderive_scripted::{Answer, Request, Rpc};
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, LocalRecorderGuard, Metadata, Recorder, SharedString, Unit,
};
use metrics_util::registry::{AtomicStorage, Registry};
use prost::Message as _;
use tracing::Dispatch;
use tracing::dispatcher::{DefaultGuard, set_default};

use super::data::{FAMILY, Outcome, Reading, SITE, USER_ID, one_bucket};
use super::report::{Comparison, Line, Memory, Table};
use super::server::{Script, Server, Stored};
use super::turns::{self, Path};
use super::{Print, Size, bigtable, raw};
use crate::EventKey;
use crate::program::Failure;

/// How many operations are in flight at a time, by table.
const IN_FLIGHT: [u32; 3] = [1, 64, 1024];

/// How many are in flight where recording is measured.
const RECORDED: u32 = 64;

/// A run makes at most as many operations.
const OPERATIONS: u32 = 20_000;
/// A run that measures recording makes this part of them, and there are as many times as many runs.
const RUN_PART: u32 = 20;

/// How many rows are read at a time by their keys.
const KEYS: u32 = 100;

const BY_HAND: &str = "a tonic call, its bytes made beforehand";
const RECORDED_TOO: &str = "the same, with its metrics and spans recorded";

/// Answers each read with the same row, and each write with success.
struct Answers {
    row: Stored,
}

impl Script for Answers {
    fn answer(&self, request: &Request) -> Answer {
        match request.rpc {
            Rpc::ReadRows => self.row.answer(request),
            _ => Answer::written(),
        }
    }
}

/// Measures them all.
pub(super) fn measure(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    let stored = one_bucket(1);
    let [(key, row)] = stored.as_slice() else { return Err("there is one row".into()) };
    let encoded = Bytes::from(key.encode()?);
    let server = Server::start(Answers { row: Stored::new([vec![(encoded.clone(), row)]]) });
    let runtime = turns::runtime()?;
    let channel = runtime.block_on(raw::connect(&server.host()))?;
    let client = runtime.block_on(Client::emulator(server.host()))?;
    let table = client.table::<EventKey, Reading>("readings");
    let peer = runtime.block_on(async { bigtable::connect(&server.host()) })?;
    let (read, write) = (read_request(&encoded), write_request(&encoded, row));

    let operations = size.rows.min(OPERATIONS);
    let all = Outcome::Counted(operations.into());
    let (table, channel, peer, encoded) = (&table, &channel, &peer, &encoded);
    let (read, write, listener) = (&read, &write, &Listener::new());
    for in_flight in IN_FLIGHT {
        let get = async || Ok(u64::from(table.get(key).await?.is_some()));
        let put = async || Ok(table.put(key, row).await.map(|()| 1)?);
        let (get, put) = (&get, &put);
        let gets = [
            Path::new(BY_HAND, all, move || {
                counted(operations, in_flight, async || raw::read_row(channel, read.clone()).await)
            }),
            Path::new("`bigtable_rs`", all, move || {
                counted(operations, in_flight, async || bigtable::get(peer.clone(), key).await)
            }),
            Path::new("keyderive, `get`", all, move || counted(operations, in_flight, get)),
            Path::new(RECORDED_TOO, all, move || async move {
                let _listening = listener.listen();
                counted(operations, in_flight, get).await
            }),
        ];
        let puts = [
            Path::new(BY_HAND, all, move || {
                counted(operations, in_flight, async || raw::mutate_row(channel, write.clone()).await)
            }),
            Path::new("`bigtable_rs`", all, move || {
                counted(operations, in_flight, async || bigtable::put(peer.clone(), encoded, row).await)
            }),
            Path::new("keyderive, `put`", all, move || counted(operations, in_flight, put)),
            Path::new(RECORDED_TOO, all, move || async move {
                let _listening = listener.listen();
                counted(operations, in_flight, put).await
            }),
        ];
        for (what, paths) in [("Reads", gets), ("Writes", puts)] {
            let title = format!("{what} of one row, {in_flight} in flight");
            let costs = turns::least(&runtime, &title, &paths, size)?;
            print(compared(title, operations, in_flight, &paths, costs));
        }
    }
    print(many(operations / KEYS, size)?);
    Ok(())
}

/// Measures what recording costs, by many short runs, since it is less than what the machine's other load changes.
pub(super) fn measure_recording(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    let stored = one_bucket(1);
    let [(key, row)] = stored.as_slice() else { return Err("there is one row".into()) };
    let encoded = Bytes::from(key.encode()?);
    let server = Server::start(Answers { row: Stored::new([vec![(encoded, row)]]) });
    let runtime = turns::runtime()?;
    let client = runtime.block_on(Client::emulator(server.host()))?;
    let table = &client.table::<EventKey, Reading>("readings");
    let operations = (size.rows.min(OPERATIONS) / RUN_PART).max(1);
    let size = Size { runs: size.runs * RUN_PART as usize, ..size };
    let done = Outcome::Counted(operations.into());
    let recording = |recording| Client::builder().record_heat(recording).emulator(server.host());
    let sampling = runtime.block_on(recording(Recording::new()))?.table::<EventKey, Reading>("readings");
    let all = runtime.block_on(recording(Recording::new().one_in(1)))?;
    let all = all.table::<EventKey, Reading>("readings");
    let clients = [
        ("without a recording", table),
        ("about 1000 operations a second recorded", &sampling),
        ("all recorded", &all),
    ];
    let gets = clients.map(|(name, table)| {
        Path::new(name, done, move || {
            counted(operations, RECORDED, async || Ok(u64::from(table.get(key).await?.is_some())))
        })
    });
    let puts = clients.map(|(name, table)| {
        Path::new(name, done, move || {
            counted(operations, RECORDED, async || Ok(table.put(key, row).await.map(|()| 1)?))
        })
    });
    for (what, mut paths) in [("Reads", gets), ("Writes", puts)] {
        let none = Comparison::default();
        (paths[1].beside, paths[2].beside) = (none.floor(0, 1.02), none.floor(0, None));
        let title = format!("{what} of one row, with what the client does recorded, {RECORDED} in flight");
        let timed = turns::timed(&runtime, &title, &paths, size)?;
        print(recorded(title, operations, &paths, timed));
    }
    Ok(())
}

/// What recording costs.
fn recorded(
    title: String,
    operations: u32,
    paths: &[Path<'_>; 3],
    timed: Vec<(turns::Cost, Vec<Duration>)>,
) -> Table {
    let (costs, times): (Vec<_>, Vec<_>) = timed.into_iter().unzip();
    // Runs beside each other had about the same machine.
    let beside_the_first = |times: &Vec<Duration>, other: &Vec<Duration>| {
        let mut ratios: Vec<_> =
            times.iter().zip(other).map(|(one, other)| one.as_secs_f64() / other.as_secs_f64()).collect();
        ratios.sort_by(f64::total_cmp);
        let [quarter, half, three] =
            [1, 2, 3].map(|part| ratios.get(ratios.len() * part / 4).copied().unwrap_or(f64::NAN));
        format!("{half:.3}, and half of them between {quarter:.3} and {three:.3}")
    };
    let ratios: Vec<_> = times.iter().skip(1).map(|one| beside_the_first(one, &times[0])).collect();
    Table {
        title,
        about: format!(
            "{operations} operations on a row of 3 small cells, {RECORDED} at a time on one thread. The floor is the same client without a \
             recording. The least of {} runs counts. Of runs in turn, the time divided by that of the run before without a recording is in \
             the median {}; with all recorded it is {}.",
            times[0].len(),
            ratios[0],
            ratios[1]
        ),
        unit: "operation",
        units: operations.into(),
        lines: Line::of(paths, costs),
    }
}

/// Reads of many rows by their keys, beside scans of the same rows.
fn many(reads: u32, size: Size<'_>) -> Result<Table, Failure> {
    let title = format!("Reads of {KEYS} rows by their keys");
    let stored = one_bucket(KEYS);
    let rows = stored.iter().map(|(key, row)| Ok((Bytes::from(key.encode()?), row)));
    let server = Server::start(Stored::new([rows.collect::<Result<Vec<_>, Failure>>()?]));
    let runtime = turns::runtime()?;
    let client = runtime.block_on(Client::emulator(server.host()))?;
    let peer = runtime.block_on(async { bigtable::connect(&server.host()) })?;
    let table = client.table::<EventKey, Reading>("readings");
    let keys: Vec<_> = stored.into_iter().map(|(key, _)| key).collect();
    let (table, keys, peer) = (&table, &keys, &peer);
    let found = Outcome::Counted((reads * KEYS).into());
    let paths = [
        Path::new("`bigtable_rs`", found, move || {
            counted(reads, 1, async || bigtable::get_many(peer.clone(), keys).await)
        }),
        Path::new("keyderive, a scan", found, move || {
            counted(reads, 1, async || {
                let mut rows = table.scan(EventKey::scan().user_id(USER_ID).site(SITE)).stream();
                let mut count = 0;
                while let Some(row) = rows.next().await {
                    row?;
                    count += 1;
                }
                Ok(count)
            })
        }),
        Path::new("keyderive, `get_many`", found, move || async move {
            let get_many = async || Ok(table.get_many(keys).await?.iter().flatten().count() as u64);
            counted(reads, 1, get_many).await
        })
        .beside(Comparison::default().peer(0, 1.0).floor(1, 1.25)),
    ];
    let costs = turns::least(&runtime, &title, &paths, size)?;
    Ok(Table {
        title,
        about: format!(
            "{reads} reads, one at a time, of rows of 3 small cells. The floor is a scan of the same rows, all of one range."
        ),
        unit: "row",
        units: (reads * KEYS).into(),
        lines: Line::of(&paths, costs),
    })
}

/// Calls `operation` so many times, `in_flight` at a time, and adds up what it returns.
async fn counted(
    operations: u32,
    in_flight: u32,
    operation: impl AsyncFn() -> Result<u64, Failure>,
) -> Result<Outcome, Failure> {
    let worker = async |number: u32| {
        let mut count = 0;
        for _ in (number..operations).step_by(in_flight as usize) {
            count += operation().await?;
        }
        Ok::<_, Failure>(count)
    };
    let counts = try_join_all((0..in_flight).map(worker)).await?;
    Ok(Outcome::Counted(counts.iter().sum()))
}

fn compared(
    title: String,
    operations: u32,
    in_flight: u32,
    paths: &[Path<'_>; 4],
    costs: Vec<turns::Cost>,
) -> Table {
    // With few operations, what they share weighs more.
    let is_loaded = in_flight >= 64;
    let none = Comparison::default();
    let ours = none.peer(1, 1.0).floor(0, 1.25).allocations(48.0);
    let beside = [none, none, if is_loaded { ours.memory(12.0) } else { ours }, none.floor(2, 1.1)];
    let lines = paths.iter().zip(costs).zip(beside).map(|((path, cost), beside)| {
        let held = cost.allocations.peak as f64 / 1e3 / f64::from(in_flight);
        Line { memory: is_loaded.then_some(Memory::InFlight(held)), ..Line::new(path.name, cost, beside) }
    });
    Table {
        title,
        about: format!(
            "{operations} operations on a row of 3 small cells, {in_flight} at a time on one thread. The floor is a call of tonic \
             whose request was encoded beforehand, and whose answer is not decoded; that of the last line is the line above it.{}",
            match is_loaded {
                true =>
                    " Memory is the most that the client's thread allocated and held at a time, divided by the operations in flight.",
                false => "",
            }
        ),
        unit: "operation",
        units: operations.into(),
        lines: lines.collect(),
    }
}

/// What a service listens with: a recorder of metrics, and a subscriber of spans.
struct Listener {
    recorder: Recorded,
    subscriber: Dispatch,
}

impl Listener {
    fn new() -> Self {
        let recorder = Recorded(Registry::new(AtomicStorage));
        Self { recorder, subscriber: Dispatch::new(tracing_subscriber::registry()) }
    }

    /// Listens on this thread until both are dropped.
    fn listen(&self) -> (LocalRecorderGuard<'_>, DefaultGuard) {
        (metrics::set_default_local_recorder(&self.recorder), set_default(&self.subscriber))
    }
}

/// Records as the exporters do.
struct Recorded(Registry<Key, AtomicStorage>);

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.0.get_or_create_counter(key, |counter| Counter::from_arc(counter.clone()))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.0.get_or_create_gauge(key, |gauge| Gauge::from_arc(gauge.clone()))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.0.get_or_create_histogram(key, |histogram| Histogram::from_arc(histogram.clone()))
    }
}

fn read_request(key: &Bytes) -> Bytes {
    let rows = RowSet { row_keys: vec![key.clone()], ..RowSet::default() };
    let request = ReadRowsRequest {
        table_name: raw::TABLE.to_owned(),
        rows: Some(rows),
        rows_limit: 1,
        ..ReadRowsRequest::default()
    };
    request.encode_to_vec().into()
}

fn write_request(key: &Bytes, row: &Reading) -> Bytes {
    let set = |(qualifier, value): (&str, Bytes)| Mutation {
        mutation: Some(Change::SetCell(SetCell {
            family_name: FAMILY.to_owned(),
            column_qualifier: Bytes::copy_from_slice(qualifier.as_bytes()),
            timestamp_micros: -1,
            value,
        })),
        ..Mutation::default()
    };
    let request = MutateRowRequest {
        table_name: raw::TABLE.to_owned(),
        row_key: key.clone(),
        mutations: row.cells().map(set).into(),
        ..MutateRowRequest::default()
    };
    request.encode_to_vec().into()
}
