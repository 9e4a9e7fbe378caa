//! Departures from New York and the weather there, in 2013, under several keys.

use std::env;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use keyderive::dynamic::TableLayout;
use keyderive::key::TableKey;
use keyderive::row::OwnedRow;
use keyderive::{Client, Row, RowKey};

#[derive(Clone, Debug, RowKey)]
#[salt(range = 8, over = "carrier,flight")]
pub(crate) struct Salted {
    carrier: String,
    #[pad(4)]
    flight: u16,
    #[reverse_ts]
    sched: SystemTime,
    origin: String,
}

#[derive(Clone, Debug, RowKey)]
pub(crate) struct Airports {
    origin: String,
    sched: SystemTime,
    carrier: String,
    #[pad(4)]
    flight: u16,
}

#[allow(clippy::duplicated_attributes, reason = "a salt for each epoch")]
#[derive(Clone, Debug, RowKey)]
#[salt(range = 2, over = "carrier", sep = "!", since(sched = "2013-01-01T12:00:00Z"))]
#[salt(range = 8, over = "carrier", sep = "!", since(sched = "2013-07-01T00:00:00Z"))]
pub(crate) struct Epochs {
    carrier: String,
    origin: String,
    #[reverse_ts]
    sched: SystemTime,
    #[pad(4)]
    flight: u16,
}

#[derive(Clone, Debug, RowKey)]
#[salt(range = 4, over = "sched")]
#[row_key(layout = "ordered")]
pub(crate) struct Ordered {
    carrier: String,
    #[row_key(desc)]
    flight: u16,
    origin: String,
    sched: SystemTime,
}

#[derive(Clone, Debug, Row)]
pub(crate) struct Flight {
    dest: String,
    tailnum: Option<String>,
    dep_delay: Option<i64>,
    arr_delay: Option<i64>,
    air_time: Option<i64>,
    distance: i64,
}

#[derive(Clone, Debug, RowKey)]
pub(crate) struct Stations {
    origin: String,
    #[reverse_ts]
    sched: SystemTime,
}

#[derive(Clone, Debug, RowKey)]
#[salt(range = 4)]
pub(crate) struct Hours {
    sched: SystemTime,
    origin: String,
}

#[derive(Clone, Debug, Row)]
pub(crate) struct Weather {
    temp: Option<f64>,
    humid: Option<f64>,
    wind_speed: Option<f64>,
    precip: Option<f64>,
    visib: Option<f64>,
}

/// The tables of a design.
pub(crate) struct Design {
    pub(crate) name: &'static str,
    pub(crate) flights: TableLayout,
    pub(crate) weather: TableLayout,
}

pub(crate) fn designs() -> [Design; 4] {
    let stations = || TableLayout::of::<Stations, Weather>("stations");
    let hours = || TableLayout::of::<Hours, Weather>("hours");
    let design = |name, flights, weather| Design { name, flights, weather };
    [
        design("airports", TableLayout::of::<Airports, Flight>("airports"), stations()),
        design("salted", TableLayout::of::<Salted, Flight>("salted"), hours()),
        design("epochs", TableLayout::of::<Epochs, Flight>("epochs"), stations()),
        design("ordered", TableLayout::of::<Ordered, Flight>("ordered"), hours()),
    ]
}

/// The paths of the departures and of the weather; `root` is the folder `keyderive-datafusion`.
pub(crate) fn files(root: &str) -> [String; 2] {
    let file = |name: &str, extract: &str| {
        let otherwise = Path::new(root).join(extract);
        env::var(name).unwrap_or_else(|_| otherwise.to_str().unwrap().to_owned())
    };
    [
        file("KEYDERIVE_FLIGHTS", "../../examples/data/flights.csv"),
        file("KEYDERIVE_WEATHER", "tests/duckdb/weather.csv"),
    ]
}

/// The cells of a CSV file without quotation marks, by the names of its columns.
fn records<'a>(text: &'a str, names: &[&str]) -> impl Iterator<Item = Vec<&'a str>> {
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let places: Vec<_> =
        names.iter().map(|name| header.iter().position(|column| column == name).unwrap()).collect();
    lines.map(move |line| {
        let cells: Vec<_> = line.split(',').collect();
        places.iter().map(|place| cells[*place]).collect()
    })
}

fn recorded<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Option<T> {
    (!text.is_empty() && text != "NA").then(|| text.parse().unwrap())
}

/// A time of 2013, in UTC.
fn time(month: u64, day: u64, hour: u64, minute: u64) -> SystemTime {
    let before: u64 = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30][..month as usize - 1].iter().sum();
    let minutes = ((before + day - 1) * 24 + hour) * 60 + minute;
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_356_998_400 + minutes * 60)
}

/// Fills the tables of every design.
pub(crate) async fn fill(client: &Client, flights: &str, weather: &str) {
    let names = [
        "carrier",
        "flight",
        "origin",
        "month",
        "day",
        "sched_dep_time",
        "dest",
        "tailnum",
        "dep_delay",
        "arr_delay",
        "air_time",
        "distance",
    ];
    let (mut salted, mut airports, mut epochs, mut ordered) = (vec![], vec![], vec![], vec![]);
    for cells in records(&fs::read_to_string(flights).unwrap(), &names) {
        let number = |at: usize| cells[at].parse::<u64>().unwrap();
        let (carrier, flight, origin) = (cells[0].to_owned(), number(1) as u16, cells[2].to_owned());
        let sched = time(number(3), number(4), number(5) / 100, number(5) % 100);
        let row = Flight {
            dest: cells[6].to_owned(),
            tailnum: recorded(cells[7]),
            dep_delay: recorded(cells[8]),
            arr_delay: recorded(cells[9]),
            air_time: recorded(cells[10]),
            distance: cells[11].parse().unwrap(),
        };
        let (c, o) = (carrier.clone(), origin.clone());
        salted.push((Salted { carrier: c, flight, sched, origin: o }, row.clone()));
        let (c, o) = (carrier.clone(), origin.clone());
        airports.push((Airports { origin: o, sched, carrier: c, flight }, row.clone()));
        let (c, o) = (carrier.clone(), origin.clone());
        epochs.push((Epochs { carrier: c, origin: o, sched, flight }, row.clone()));
        ordered.push((Ordered { carrier, flight, origin, sched }, row));
    }
    put(client, "salted", salted).await;
    put(client, "airports", airports).await;
    put(client, "epochs", epochs).await;
    put(client, "ordered", ordered).await;

    let names = ["origin", "time_hour", "temp", "humid", "wind_speed", "precip", "visib"];
    let (mut stations, mut hours) = (vec![], vec![]);
    for cells in records(&fs::read_to_string(weather).unwrap(), &names) {
        // 2013-01-01T06:00:00Z, and a few hours of 2014.
        let part = |from: usize, to: usize| cells[1][from..to].parse::<u64>().unwrap();
        let year = Duration::from_secs((part(0, 4) - 2013) * 365 * 86_400);
        let sched = time(part(5, 7), part(8, 10), part(11, 13), 0) + year;
        let row = Weather {
            temp: recorded(cells[2]),
            humid: recorded(cells[3]),
            wind_speed: recorded(cells[4]),
            precip: recorded(cells[5]),
            visib: recorded(cells[6]),
        };
        stations.push((Stations { origin: cells[0].to_owned(), sched }, row.clone()));
        hours.push((Hours { sched, origin: cells[0].to_owned() }, row));
    }
    put(client, "stations", stations).await;
    put(client, "hours", hours).await;
}

async fn put<K: RowKey + TableKey, R: OwnedRow + Sync>(client: &Client, name: &str, rows: Vec<(K, R)>) {
    let table = client.table::<K, R>(name);
    table.create_if_absent().await.unwrap();
    for some in rows.chunks(20_000) {
        table.put_all(some).await.unwrap();
    }
}
