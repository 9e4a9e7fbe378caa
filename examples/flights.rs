//! The departures from New York in 2013, loaded with a progress bar, and queried by carrier, airport and day.
//!
//! ```sh
//! cargo run --example flights                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example flights   # on an emulator
//! ```
//!
//! Loads the departures of 1 January, or those of a file with all 336,776 of the year, which `data/README.md` says where to get:
//! `cargo run --example flights -- flights.csv`.

use std::collections::BTreeMap;
use std::error::Error;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::civil::{Date, date};
use keyderive::table::Progress;
use keyderive::{Client, Row, RowKey, Table};
use serde::Deserialize;

/// Carrier and airport come first, because queries fix them. A few carriers have most departures, so their days are
/// spread over the buckets, each day in one: a query of one day reads one bucket, and one of several days reads all.
#[derive(RowKey, Debug)]
#[salt(range = 8, over = "carrier,origin,date")]
struct DepartureKey {
    carrier: String,
    origin: String,
    date: Date,
    /// The scheduled local time, `HHMM`.
    #[pad(4)]
    time: u16,
    #[pad(4)]
    flight: u16,
}

#[derive(Row, Debug)]
struct Departure {
    dest: String,
    tailnum: Option<String>,
    /// In minutes; absent if the flight was cancelled.
    delay: Option<f64>,
}

/// One line of the file; see `data/README.md`.
#[derive(Deserialize)]
struct Record {
    year: i16,
    month: i8,
    day: i8,
    sched_dep_time: u16,
    #[serde(deserialize_with = "csv::invalid_option")]
    dep_delay: Option<f64>,
    carrier: String,
    flight: u16,
    tailnum: Option<String>,
    origin: String,
    dest: String,
}

impl Record {
    fn row(self) -> Result<(DepartureKey, Departure), jiff::Error> {
        let date = Date::new(self.year, self.month, self.day)?;
        let Self { carrier, origin, sched_dep_time: time, flight, .. } = self;
        let departure = Departure { dest: self.dest, tailnum: self.tailnum, delay: self.dep_delay };
        Ok((DepartureKey { carrier, origin, date, time, flight }, departure))
    }
}

/// The departures of 1 January.
const EXTRACT: &[u8] = include_bytes!("data/flights.csv");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("{}\n", DepartureKey::SCHEMA);

    let table: Table<DepartureKey, Departure> = client.table("flights");
    table.create_if_absent().await?;
    let file = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => EXTRACT.to_vec(),
    };
    let loaded = load(&table, &file).await?;
    eprintln!("{:.0} departures a second", loaded.written as f64 / loaded.elapsed.as_secs_f64());
    println!(
        "{} departures loaded, {} in the table\n",
        loaded.written,
        table.count(DepartureKey::scan()).await?
    );

    let new_year = date(2013, 1, 1);
    let day = table.scan(DepartureKey::scan().carrier("HA").origin("JFK").date(new_year));
    println!("{}", day.explain()?);
    print(&day.collect().await?);

    let last =
        table.scan(DepartureKey::scan().carrier("UA").origin("EWR").date(new_year)).reversed().limit(3);
    println!("\n{}", last.explain()?);
    print(&last.collect().await?);

    let evening =
        DepartureKey::scan().carrier_any_of(["AA", "DL"]).origin("LGA").date(new_year).time_range(1900..);
    println!("\n{}", evening.explain()?);
    print(&table.scan(evening).collect().await?);

    let week = DepartureKey::scan().carrier("B6").origin("JFK").date_range(new_year..date(2013, 1, 8));
    println!("\n{}", week.explain()?);
    let mut delays: BTreeMap<Date, (u32, f64)> = BTreeMap::new();
    let mut rows = table.scan(week).stream();
    while let Some((key, departure)) = rows.next().await.transpose()? {
        let (flights, delay) = delays.entry(key.date).or_default();
        *flights += 1;
        *delay += departure.delay.unwrap_or_default();
    }
    for (date, (flights, delay)) in delays {
        println!("{date}: {flights} departures, {delay} minutes late in all");
    }
    Ok(())
}

/// Loads the lines of a file. Draws the progress bar only on a terminal.
async fn load(table: &Table<DepartureKey, Departure>, file: &[u8]) -> Result<Progress, Box<dyn Error>> {
    let lines = file.iter().filter(|byte| **byte == b'\n').count();
    let bar = ProgressBar::new(lines.saturating_sub(1) as u64);
    bar.set_style(ProgressStyle::with_template("{elapsed} {bar:40} {pos}/{len} rows written, {msg} read")?);
    let rows = csv::Reader::from_reader(file).into_deserialize::<Record>().map(|record| {
        record.map_err(Box::<dyn Error + Send + Sync>::from).and_then(|record| Ok(record.row()?))
    });
    // The load reads rows ahead, here all of them, so that it can write to all tablets at once.
    let load = table.load_iter(rows).on_progress(|progress| {
        bar.set_position(progress.written);
        bar.set_message(progress.read.to_string());
    });
    let loaded = load.await?.all_written()?;
    bar.finish_and_clear();
    Ok(loaded)
}

fn print(rows: &[(DepartureKey, Departure)]) {
    for (DepartureKey { carrier, origin, date, time, flight }, Departure { dest, tailnum, delay }) in rows {
        let tailnum = tailnum.as_deref().unwrap_or("-");
        let delay = delay.map_or("cancelled".to_owned(), |minutes| format!("{minutes:+} min"));
        println!("{date} {time:04} {carrier}{flight} {origin} to {dest}, {tailnum}, {delay}");
    }
}
