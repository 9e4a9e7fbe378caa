//! Weather observations under a salted, time-reversed row key: load, read one, read the newest, read a day.
//!
//! ```sh
//! cargo run --example weather                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example weather   # on an emulator
//! ```

use std::error::Error;

use jiff::{Timestamp, ToSpan as _};
use keyderive::{Client, Row, RowKey};
use serde::Deserialize;

/// The newest observation of an airport comes first. An airport's rows are spread over four buckets, so that no
/// tablet takes all writes of a busy airport.
#[derive(RowKey, Debug, Clone, PartialEq)]
#[salt(range = 4)]
struct ObservationKey {
    airport: String,
    #[reverse_ts]
    at: u64, // milliseconds
}

#[derive(Row, Debug)]
struct Observation {
    temperature: Option<f64>,
    humidity: Option<f64>,
    wind_speed: Option<f64>,
    pressure: Option<f64>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("row key: {}", ObservationKey::SCHEMA.template());

    let weather = client.table::<ObservationKey, Observation>("weather");
    weather.create_if_absent().await?;
    let observations = read_observations()?;
    weather.put_all(&observations).await?;
    println!("{} observations loaded\n", observations.len());

    let noon: Timestamp = "2013-07-04T12:00:00-04:00".parse()?;
    let key = ObservationKey { airport: "JFK".into(), at: millis(noon) };
    println!("{}", ObservationKey::scan().airport("JFK").at(key.at).explain()?);
    match weather.get(&key).await? {
        Some(observation) => print(&key, &observation)?,
        None => println!("no observation"),
    }

    let newest = weather.scan(ObservationKey::scan().airport("LGA")).limit(5);
    println!("\n{}", newest.explain()?);
    let mut rows = newest.stream();
    while let Some(row) = rows.next().await {
        let (key, observation) = row?;
        print(&key, &observation)?;
    }

    let day: Timestamp = "2013-07-04T00:00:00-04:00".parse()?;
    let next_day = day + 24.hours();
    let plan = ObservationKey::scan().airport("EWR").at_range(millis(day)..millis(next_day));
    println!("\n{}", plan.explain()?);
    let rows = weather.scan(plan).collect().await?;
    let warmest = rows.iter().filter_map(|(_, observation)| observation.temperature).fold(f64::MIN, f64::max);
    println!("{} observations at EWR on 4 July, warmest {warmest} °F", rows.len());
    Ok(())
}

fn print(key: &ObservationKey, observation: &Observation) -> Result<(), Box<dyn Error>> {
    let at = Timestamp::from_millisecond(key.at.try_into()?)?;
    let shown = |value: Option<f64>| value.map_or("-".into(), |value| value.to_string());
    println!(
        "{} {at}: {} °F, humidity {} %, wind {} mph",
        key.airport,
        shown(observation.temperature),
        shown(observation.humidity),
        shown(observation.wind_speed),
    );
    Ok(())
}

/// Times before the epoch do not occur in the data.
fn millis(at: Timestamp) -> u64 {
    at.as_millisecond().unsigned_abs()
}

/// One line of the data file; see `data/README.md`.
#[derive(Deserialize)]
struct Record {
    origin: String,
    time_hour: Timestamp,
    #[serde(deserialize_with = "csv::invalid_option")]
    temp: Option<f64>,
    #[serde(deserialize_with = "csv::invalid_option")]
    humid: Option<f64>,
    #[serde(deserialize_with = "csv::invalid_option")]
    wind_speed: Option<f64>,
    #[serde(deserialize_with = "csv::invalid_option")]
    pressure: Option<f64>,
}

fn read_observations() -> Result<Vec<(ObservationKey, Observation)>, Box<dyn Error>> {
    let data = include_bytes!("data/weather.csv");
    let mut observations = Vec::new();
    for record in csv::Reader::from_reader(&data[..]).deserialize() {
        let Record { origin, time_hour, temp, humid, wind_speed, pressure } = record?;
        let key = ObservationKey { airport: origin, at: millis(time_hour) };
        let observation = Observation { temperature: temp, humidity: humid, wind_speed, pressure };
        observations.push((key, observation));
    }
    Ok(observations)
}
