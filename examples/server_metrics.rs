//! Metrics of servers, written to a history table and to a table of the latest ones. Reads one host's history, and the
//! latest metrics of all hosts.
//!
//! ```sh
//! cargo run --example server_metrics                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example server_metrics   # on an emulator
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use jiff::{Timestamp, ToSpan as _};
use keyderive::table::put_both;
use keyderive::{Client, Row, RowKey};

/// The host comes first, so that a period of one host is one range, and the hosts' writes are spread.
#[derive(RowKey, Debug)]
struct MetricKey {
    host: String,
    #[row_key(ts(unit = "millis"))]
    at: Timestamp,
}

/// The key has no time, so that each write of a host replaces the one before, and a scan reads the latest metrics of
/// all hosts. The table `METRIC` cannot serve this query in any order: its first rows need not include every host.
#[derive(RowKey, Debug)]
struct CurrentMetricKey {
    host: String,
}

/// A family for each kind of metric, a column for each metric.
#[derive(Row, Debug)]
struct Metric {
    #[row(name = "AT")]
    at: Timestamp,
    #[row(family, name = "CPU")]
    cpu: BTreeMap<String, f64>,
    #[row(family, name = "IO")]
    io: BTreeMap<String, i64>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("{}\n{}\n", MetricKey::SCHEMA, CurrentMetricKey::SCHEMA);

    let history = client.table::<MetricKey, Metric>("METRIC");
    let current = client.table::<CurrentMetricKey, Metric>("CURRENT_METRIC");
    history.create_if_absent().await?;
    current.create_if_absent().await?;
    let begin = Timestamp::from_millisecond(1426535612045)?;
    for n in 0..24 {
        for host in 1..=5 {
            // The fourth server went silent after a minute.
            if host == 4 && n >= 12 {
                continue;
            }
            let (host, metric) =
                (format!("server{host}.aaa.bbb.com"), metric(host, n, begin + (5 * n).seconds()));
            let key = MetricKey { host: host.clone(), at: metric.at };
            put_both((&history, &key, &metric), (&current, &CurrentMetricKey { host }, &metric)).await?;
        }
    }
    println!(
        "{} rows in METRIC, {} in CURRENT_METRIC\n",
        history.count(MetricKey::scan()).await?,
        current.count(CurrentMetricKey::scan()).await?,
    );

    let plan =
        MetricKey::scan().host("server1.aaa.bbb.com").at_range(begin + 60.seconds()..begin + 80.seconds());
    println!("{}", plan.explain()?);
    for (key, metric) in history.scan(plan).collect().await? {
        println!("{} {}: {:?}, {:?}", key.host, key.at, metric.cpu, metric.io);
    }

    let latest = current.scan(CurrentMetricKey::scan()).select((Metric::AT, Metric::CPU.at("CPU1_USR")));
    println!("\n{}", latest.explain()?);
    for (key, (at, usage)) in latest.collect().await? {
        println!("{} {at}: {usage:?}", key.host);
    }

    // The history table tells whether the copy is right.
    let last = history.scan(MetricKey::scan().host("server4.aaa.bbb.com")).reversed().limit(1);
    println!("\n{}", last.explain()?);
    for (key, metric) in last.collect().await? {
        let copy = current.get(&CurrentMetricKey { host: key.host.clone() }).await?;
        let is_same =
            copy.is_some_and(|copy| copy.at == metric.at && copy.cpu == metric.cpu && copy.io == metric.io);
        println!("{} {}: the current row is the same: {is_same}", key.host, key.at);
    }
    Ok(())
}

fn metric(host: i32, n: i32, at: Timestamp) -> Metric {
    let percent = |percent: i32| f64::from(percent) / 100.0;
    Metric {
        at,
        cpu: [("CPU1_USR", percent((host * 17 + n * 5) % 100)), ("CPU1_NICE", percent(host * n % 7))]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        io: [
            ("BLK_READ", 253_453_634 + 4096 * i64::from(n)),
            ("BLK_WRTN", 657_365_234 + 512 * i64::from(n * host)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
    }
}
