//! Energy meters: a row for each meter and day, a column for each quarter of an hour, and a nightly rollup of one day
//! into its own table.
//!
//! ```sh
//! cargo run --example energy_meters                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example energy_meters   # on an emulator
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use jiff::civil::{Date, date};
use keyderive::{Client, RowKey, Table};

/// The meter comes first. With the date first, all meters would write to the end of the table each day; that does not
/// compile.
#[derive(RowKey, Debug, Clone)]
struct SensorKey {
    #[pad(10)]
    meter: u64,
    date: Date,
}

/// The readings of a day by time of day, `HHMM`: the columns `METER:0000` to `METER:2345`.
type Readings = BTreeMap<String, f64>;

const METERS: u64 = 100;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("{}\n", SensorKey::SCHEMA);

    let sensors: Table<SensorKey, Readings> = client.table("SENSOR").family("METER");
    // Four tablets at first, each with a quarter of the meters.
    let first_of = |part: u64| SensorKey { meter: meter(part * METERS / 4), date: date(2015, 1, 1) };
    let declared = sensors.create().split_at(&first_of(1)).split_at(&first_of(2)).split_at(&first_of(3));
    declared.if_absent().await?;
    let days = [date(2015, 2, 28), date(2015, 3, 1), date(2015, 3, 2)];
    let rows = days.into_iter().flat_map(|date| (0..METERS).map(move |n| day(n, date)));
    let loaded = sensors.load_iter(rows).await?.all_written()?;
    println!("{} rows of 96 readings in SENSOR\n", loaded.written);

    // A reading is a cell, added to the row of its day when it arrives.
    let key = SensorKey { meter: 987_654, date: date(2015, 3, 1) };
    for (time, value) in [("0000", 12.34), ("0015", 13.45), ("2330", 27.89), ("2345", 28.90)] {
        sensors.update(&key).set(sensors.column(time), value).await?;
    }
    println!("{}", SensorKey::scan().meter(key.meter).date(key.date).explain()?);
    println!("{:?}\n", sensors.get(&key).await?);

    let plan = SensorKey::scan().meter(meter(7)).date_range(date(2015, 3, 1)..date(2015, 4, 1));
    println!("{}", plan.explain()?);
    for (key, readings) in sensors.scan(plan).collect().await? {
        println!("{:010} {}: {:.2} kWh", key.meter, key.date, total(&readings));
    }

    let night = date(2015, 3, 1);
    let nightly = roll_up(&sensors, &client, night).await?;
    let scan = nightly.scan(SensorKey::scan());
    println!("\n{}", scan.explain()?);
    let (mut meters, mut sum) = (0, 0.0);
    let mut rows = scan.stream();
    while let Some((_, readings)) = rows.next().await.transpose()? {
        meters += 1;
        sum += total(&readings);
    }
    println!("{night}: {sum:.2} kWh of {meters} meters in {}", nightly.name());
    Ok(())
}

/// Copies one day of all meters to its own table, `SENSOR_YYYYMMDD`. It reads the whole table, in parallel parts; so
/// the date need not come first in the key.
async fn roll_up(
    sensors: &Table<SensorKey, Readings>,
    client: &Client,
    day: Date,
) -> Result<Table<SensorKey, Readings>, Box<dyn Error>> {
    let nightly: Table<SensorKey, Readings> =
        client.table(&format!("SENSOR_{}", day.strftime("%Y%m%d"))).family("METER");
    nightly.create_if_absent().await?;
    println!(
        "\n{}",
        sensors.scan(SensorKey::scan()).unordered().filter_key(move |key| key.date == day).explain()?
    );
    let of_the_day = sensors
        .export(SensorKey::scan())
        .parallel(4)
        .with(move |part| part.filter_key(move |key| key.date == day));
    let copied = nightly.load(of_the_day.stream()).await?.all_written()?;
    println!("{} rows copied to {}", copied.written, nightly.name());
    Ok(nightly)
}

fn total(readings: &Readings) -> f64 {
    readings.values().sum()
}

/// Ids spread over all ten digits.
fn meter(n: u64) -> u64 {
    97_000_003 * (n + 1)
}

/// A meter's readings of a day, in hundredths of a kilowatt-hour.
fn day(n: u64, date: Date) -> (SensorKey, Readings) {
    let reading = |quarter: u64| (quarter * (n + 3) + date.day().unsigned_abs() as u64 * 5) % 40;
    let readings = (0..96).map(|quarter| {
        (format!("{:02}{:02}", quarter / 4, quarter % 4 * 15), reading(quarter) as f64 / 100.0)
    });
    (SensorKey { meter: meter(n), date }, readings.collect())
}
