//! Readings of sensors move to other keys while programs write them: a salt of 4 buckets becomes one of 16, and the site, a column
//! so far, the first field of the key.
//!
//! ```sh
//! cargo run --example rekey                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example rekey   # on an emulator
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use keyderive::table::rekey::{MigrationProgress, Rekeyed};
use keyderive::{Client, Row, RowKey};

/// The key so far: the readings of a site are spread over the whole table.
#[derive(RowKey, Debug, Clone, PartialEq)]
#[salt(range = 4, over = "sensor")]
struct OldKey {
    sensor: u32,
    at: u64, // seconds
}

/// The key from now on: the readings of a site are together, in 16 buckets.
#[derive(RowKey, Debug, Clone, PartialEq)]
#[salt(range = 16, over = "site,sensor")]
struct NewKey {
    site: String,
    sensor: u32,
    at: u64, // seconds
}

impl From<&NewKey> for OldKey {
    fn from(key: &NewKey) -> Self {
        Self { sensor: key.sensor, at: key.at }
    }
}

#[derive(Row, Debug, Clone, PartialEq)]
struct Reading {
    site: String,
    celsius: f64,
}

/// The key of a stored reading.
fn key_of(old: &OldKey, reading: &Reading) -> NewKey {
    NewKey { site: reading.site.clone(), sensor: old.sensor, at: old.at }
}

type Readings = Rekeyed<OldKey, NewKey, Reading>;

const SENSORS: u32 = 64;
const SECONDS: u64 = 60;
/// When the writers begin.
const LIVE: u64 = 1_000_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    if address == "embedded:" {
        // Nothing here waits for a socket, so the clock may jump over the pauses of a re-keying, which take about 15 s.
        tokio::time::pause();
    }
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    for table in ["rekey-readings", "rekey-readings-by-site"] {
        client
            .delete_table(table)
            .await
            .or_else(|error| if error.is_not_found() { Ok(()) } else { Err(error) })?;
    }

    // What earlier releases of the programs made.
    let old = client.table::<OldKey, Reading>("rekey-readings");
    old.create().await?;
    let stored: Vec<_> =
        (0..SENSORS).flat_map(|sensor| (0..SECONDS).map(move |at| reading(sensor, at))).collect();
    old.put_all(stored.iter().map(|(key, reading)| (OldKey::from(key), reading.clone()))).await?;
    println!("{} readings stored\n", stored.len());
    draw(OldKey::SCHEMA.template(), stored.iter().map(|(key, _)| OldKey::from(key)), 4)?;

    // The next release, in every program: both tables as one.
    let readings: Readings =
        client.rekeyed_by_row("rekey-readings", "rekey-readings-by-site", key_of).await?;
    println!("\ncheck: {}", readings.migration().check().await?);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..3).map(|sensor| tokio::spawn(write(readings.clone(), sensor, Arc::clone(&stop)))).collect();

    // The operator's program. A lease of a second has writes wait for six, and the rest for less.
    let bar = ProgressBar::new(1).with_style(ProgressStyle::with_template("{bar:30} {msg}")?);
    let shown = bar.clone();
    let migration = readings
        .migration()
        .lease(Duration::from_secs(1))
        .on_progress(move |progress| show(&shown, progress));
    migration.run().await?;
    println!("state after `run()`: {}", migration.state().await?);
    migration.finish().await?;
    bar.finish_and_clear();
    println!("state after `finish()`: {}", migration.state().await?);

    // The release after that, in every program: the new table alone.
    tokio::time::sleep(Duration::from_millis(100)).await;
    stop.store(true, Ordering::Relaxed);
    let readings = client.table::<NewKey, Reading>("rekey-readings-by-site");
    let mut lost = 0;
    for writer in writers {
        for (key, celsius) in writer.await? {
            let found = readings.get(&key).await?.map(|reading| reading.celsius);
            lost += u32::from(found != celsius);
        }
    }
    println!("{lost} of the readings that were written or deleted meanwhile are lost");
    let found = readings.get_many(stored.iter().map(|(key, _)| key)).await?;
    let moved =
        stored.iter().zip(&found).filter(|((_, reading), found)| Some(reading) == found.as_ref()).count();
    println!("{moved} of {} stored readings have moved\n", stored.len());
    client.delete_table("rekey-readings").await?;
    draw(NewKey::SCHEMA.template(), stored.iter().map(|(key, _)| key.clone()), 16)?;

    let site = readings.scan(NewKey::scan().site("harbour").sensor(3)).limit(2);
    println!("\n{}", site.explain()?);
    for (key, reading) in site.collect().await? {
        println!("{} {}: {} °C", key.sensor, key.at, reading.celsius);
    }
    Ok(())
}

fn reading(sensor: u32, at: u64) -> (NewKey, Reading) {
    let site = if sensor % 4 == 3 { "harbour" } else { "station" }.to_owned();
    let celsius = f64::from(sensor) + f64::from(u32::try_from(at % 10).unwrap_or(0)) / 10.0;
    (NewKey { site: site.clone(), sensor, at }, Reading { site, celsius })
}

/// Writes a reading after the other, and deletes each seventh again; returns what must be stored.
async fn write(readings: Readings, sensor: u32, stop: Arc<AtomicBool>) -> Vec<(NewKey, Option<f64>)> {
    let mut written = Vec::new();
    for at in LIVE.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (key, reading) = reading(sensor, at);
        // What fails may be written or not, and is written or deleted again until it is known.
        while let Err(error) = readings.put(&key, &reading).await {
            eprintln!("{error}");
        }
        let is_deleted = at % 7 == 0;
        while is_deleted && let Err(error) = readings.delete(&key).await {
            eprintln!("{error}");
        }
        written.push((key, (!is_deleted).then_some(reading.celsius)));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    written
}

fn show(bar: &ProgressBar, progress: &MigrationProgress) {
    bar.set_length(progress.rows.partitions.max(1));
    bar.set_position(progress.rows.partitions_done);
    bar.set_message(progress.to_string());
}

/// Draws how many keys each bucket has, and its first one.
fn draw<K: RowKey>(
    template: impl std::fmt::Display,
    keys: impl Iterator<Item = K>,
    buckets: i32,
) -> Result<(), Box<dyn Error>> {
    let (mut all, mut of_bucket) = (0, BTreeMap::<i32, (usize, Vec<u8>)>::new());
    for key in keys {
        let (bucket, key) = (key.salt_bucket()?.unwrap_or(0), key.encode()?);
        let (count, first) = of_bucket.entry(bucket).or_insert_with(|| (0, key.clone()));
        *count += 1;
        all += 1;
        if key < *first {
            *first = key;
        }
    }
    println!("{template}");
    for bucket in 0..buckets {
        let (count, first) = of_bucket.remove(&bucket).unwrap_or_default();
        let bar = "█".repeat(count * 60 / all);
        let line =
            format!("{bucket:>4} {bar:<24} {:>3} %  {}", count * 100 / all, String::from_utf8_lossy(&first));
        println!("{}", line.trim_end());
    }
    Ok(())
}
