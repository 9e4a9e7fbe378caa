//! A day of departures: loaded with a progress bar, interrupted, resumed, and exported.
//!
//! ```sh
//! cargo run --example load                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example load   # on an emulator
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use indicatif::{ProgressBar, ProgressStyle};
use keyderive::table::load::Checkpoint;
use keyderive::{Client, Row, RowKey, Table};
use serde::Deserialize;

/// A flight's departures are adjacent; a carrier's flights are spread over the buckets, because a few carriers have
/// most flights.
#[derive(RowKey, Debug)]
#[salt(range = 16, over = "carrier,flight")]
struct DepartureKey {
    carrier: String,
    #[pad(4)]
    flight: u16,
    date: String,
    origin: String,
}

#[derive(Row, Debug)]
struct Departure {
    dest: String,
    tailnum: Option<String>,
    /// In minutes; absent if the flight was cancelled.
    delay: Option<f64>,
}

/// One line of the data file; see `data/README.md`.
#[derive(Deserialize)]
struct Record {
    year: u16,
    month: u8,
    day: u8,
    #[serde(deserialize_with = "csv::invalid_option")]
    dep_delay: Option<f64>,
    carrier: String,
    flight: u16,
    tailnum: Option<String>,
    origin: String,
    dest: String,
}

impl From<Record> for (DepartureKey, Departure) {
    fn from(record: Record) -> Self {
        let Record { year, month, day, dep_delay, carrier, flight, tailnum, origin, dest } = record;
        let date = format!("{year}-{month:02}-{day:02}");
        (DepartureKey { carrier, flight, date, origin }, Departure { dest, tailnum, delay: dep_delay })
    }
}

/// The lines of the file as they are read; a load ends at the first invalid line.
fn lines(data: &[u8]) -> impl Iterator<Item = Result<(DepartureKey, Departure), csv::Error>> + Send {
    csv::Reader::from_reader(data).into_deserialize::<Record>().map(|record| record.map(Into::into))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("row key: {}", DepartureKey::SCHEMA.template());
    let departures: Table<DepartureKey, Departure> = client.table("load-departures");
    departures.create_if_absent().await?;

    // A file that was truncated in the middle of a line.
    let data = include_bytes!("data/flights.csv");
    let ended = match load(&departures, &data[..40_000], None).await {
        Ok(_) => return Err("the load of the truncated file succeeded".into()),
        Err(ended) => ended,
    };
    println!("{ended}");

    // The checkpoint implements serde's traits: one process may store it for another.
    let rest = load(&departures, data, Some(ended.checkpoint().clone())).await?.all_written()?;
    println!("resumed: {} rows written", rest.written);

    let mut carriers: BTreeMap<String, u32> = BTreeMap::new();
    let mut rows = departures.export(DepartureKey::scan()).parallel(4).stream();
    while let Some(row) = rows.next().await {
        let (key, _) = row?;
        *carriers.entry(key.carrier).or_default() += 1;
    }
    println!("{} departures exported: {carriers:?}", carriers.values().sum::<u32>());
    Ok(())
}

async fn load(
    departures: &Table<DepartureKey, Departure>,
    data: &[u8],
    from: Option<Checkpoint>,
) -> Result<keyderive::table::load::LoadReport, keyderive::table::load::LoadError> {
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {pos} rows done, {per_sec}, {msg}") {
        bar.set_style(style);
    }
    let load = departures.load_iter(lines(data)).resume(from).on_progress(|progress| {
        // Not those that are read: the load reads ahead.
        bar.set_position(progress.left_out + progress.written + progress.failed);
        bar.set_message(format!("{} read, {} failed", progress.read, progress.failed));
    });
    let ended = load.await;
    bar.finish();
    ended
}
