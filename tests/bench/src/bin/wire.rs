//! Processor time a row of scans over a connection, beside a floor that receives the same generated messages by raw
//! tonic, and only counts the chunks that commit a row.
//!
//! `cargo run --release -p keyderive-bench --bin wire`. A scripted server on another core sends answers that are made
//! beforehand: 1,000,000 rows of 3 small cells, 999 chunks in a message. What counts is the processor time of the
//! client's thread, user and system, by `getrusage`; all variants run several times in turn, and the least time counts.

use std::time::Duration;

use bytes::Bytes;
use keyderive::{Client, RowKey};
use keyderive_bench::meter::processor_time;
use keyderive_scripted::data::bigtable_client::BigtableClient;
use keyderive_scripted::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_scripted::data::{ReadRowsRequest, RowRange, RowSet};
use keyderive_scripted::{Answers, Cell, Script, Server, encode_rows};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::Deserialize;
use tonic::transport::{Channel, Endpoint};

const ROWS: u32 = 1_000_000;
const RUNS: usize = 5;
/// 3 cells a row make 999 chunks.
const ROWS_A_MESSAGE: usize = 333;
/// The variants with what each may cost, in times of the floor.
const VARIANTS: [(&str, Option<u32>); 3] =
    [("floor: raw tonic, chunks counted", None), ("cells undecoded", Some(2)), ("rows by serde", Some(3))];

type Failure = Box<dyn std::error::Error>;

#[derive(RowKey)]
struct ReadingKey {
    id: u32,
}

#[derive(Deserialize)]
struct Reading {
    celsius: f64,
    humidity: i64,
    station: String,
}

/// The same messages for every request.
struct Prepared(Vec<Bytes>);

impl Script for Prepared {
    fn answer(&self, _: ReadRowsRequest) -> Answers {
        Box::new(self.0.clone().into_iter())
    }
}

fn prepared() -> Result<Prepared, Failure> {
    let cells: [Cell; 3] = [
        ("celsius".into(), Bytes::copy_from_slice(&21.5_f64.to_be_bytes())),
        ("humidity".into(), Bytes::copy_from_slice(&40_i64.to_be_bytes())),
        ("station".into(), "S-0042".into()),
    ];
    let keys =
        (0..ROWS).map(|id| ReadingKey { id }.encode().map(Bytes::from)).collect::<Result<Vec<_>, _>>()?;
    let messages = keys.chunks(ROWS_A_MESSAGE).map(|keys| encode_rows(keys.iter().cloned(), &cells));
    Ok(Prepared(messages.collect()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    pin_to(0)?;
    let server = Server::start_in(prepared()?, || pin_to(1).expect("the machine has a second core"));
    let client = Client::emulator(server.host()).await?;
    let channel = connect(&server.host()).await?;
    let mut least = [Duration::MAX; VARIANTS.len()];
    for run in 0..=RUNS {
        let times = [
            timed(floor(channel.clone())).await?,
            timed(undecoded(&client)).await?,
            timed(by_serde(&client)).await?,
        ];
        // The first run connects and warms up.
        if run > 0 {
            least = std::array::from_fn(|variant| least[variant].min(times[variant]));
        }
    }
    println!("| client | processor time a row | of the floor | at most |");
    println!("|---|---|---|---|");
    for ((name, most), time) in VARIANTS.iter().zip(least) {
        println!(
            "| {name} | {:.3} µs | {:.2} x | {} |",
            time.as_secs_f64() * 1e6 / f64::from(ROWS),
            time.as_secs_f64() / least[0].as_secs_f64(),
            most.map_or(String::new(), |most| format!("{most} x")),
        );
    }
    Ok(())
}

/// The processor time of this thread while it runs; fails unless it has read all rows.
async fn timed(run: impl Future<Output = Result<u32, Failure>>) -> Result<Duration, Failure> {
    let before = processor_time()?;
    let rows = run.await?;
    let time = processor_time()? - before;
    if rows == ROWS { Ok(time) } else { Err(format!("{rows} rows were read").into()) }
}

fn pin_to(core: usize) -> nix::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &cores)
}

/// A connection with the windows of the client's own.
async fn connect(host: &str) -> Result<Channel, Failure> {
    let endpoint = Endpoint::from_shared(format!("http://{host}"))?
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size((1 << 31) - 1)
        .tcp_nodelay(true);
    Ok(endpoint.connect().await?)
}

async fn floor(channel: Channel) -> Result<u32, Failure> {
    let rows = RowSet { row_ranges: vec![RowRange::default()], ..RowSet::default() };
    let request = ReadRowsRequest { rows: Some(rows), ..ReadRowsRequest::default() };
    let mut client = BigtableClient::new(channel).max_decoding_message_size(usize::MAX);
    let mut messages = client.read_rows(request).await?.into_inner();
    let mut rows = 0;
    while let Some(message) = messages.message().await? {
        for chunk in &message.decoded()?.chunks {
            rows += u32::from(chunk.row_status == Some(RowStatus::CommitRow(true)));
        }
    }
    Ok(rows)
}

async fn undecoded(client: &Client) -> Result<u32, Failure> {
    let mut stream = client.table::<ReadingKey, ()>("readings").scan(ReadingKey::scan()).stream();
    let mut rows = 0;
    while let Some(row) = stream.next().await {
        let (key, ()) = row?;
        rows += u32::from(key.id == rows);
    }
    Ok(rows)
}

async fn by_serde(client: &Client) -> Result<u32, Failure> {
    let mut stream = client.table::<ReadingKey, Reading>("readings").scan(ReadingKey::scan()).stream();
    let mut rows = 0;
    while let Some(row) = stream.next().await {
        let (key, Reading { celsius, humidity, station }) = row?;
        let whole = celsius == 21.5 && humidity == 40 && station == "S-0042";
        rows += u32::from(whole && key.id == rows);
    }
    Ok(rows)
}
