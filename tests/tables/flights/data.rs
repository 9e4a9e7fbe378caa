//! The data: departures from the three airports of New York in 2013.

use keyderive::{Row, RowKey};
use keyderive_tests::file;
use serde::Deserialize;

/// The departures of 1 January 2013, which are part of the repository.
const EXTRACT: &[u8] = include_bytes!("../../../examples/data/flights.csv");

/// On how many days the departures of the extract are repeated: enough for several batches of a load or a copy.
const DAYS: u64 = 5;
/// Names a file of all 336,776 departures of the year; `examples/data/README.md` says where it comes from.
pub(crate) const ALL: &str = "KEYDERIVE_FLIGHTS";

/// A flight's departures lie together, the newest first. A carrier's flights are spread over the buckets, because a
/// few carriers have most of the flights.
#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 16, over = "carrier,flight")]
pub(crate) struct FlightKey {
    pub(crate) carrier: String,
    #[pad(4)]
    pub(crate) flight: u16,
    /// The scheduled hour as `YYYYMMDDHH`, in UTC.
    #[reverse_ts(max = 9999999999)]
    pub(crate) hour: u64,
    pub(crate) origin: String,
}

/// The columns of a departure. Values that were not recorded are absent.
#[derive(Row, Clone, Debug, PartialEq)]
pub(crate) struct Flight {
    dest: String,
    tailnum: Option<String>,
    dep_time: Option<i32>,
    sched_dep_time: i32,
    dep_delay: Option<f64>,
    arr_time: Option<i32>,
    sched_arr_time: i32,
    arr_delay: Option<f64>,
    air_time: Option<f64>,
    distance: i32,
}

#[derive(Deserialize)]
struct Line<'a> {
    dep_time: &'a str,
    sched_dep_time: i32,
    dep_delay: &'a str,
    arr_time: &'a str,
    sched_arr_time: i32,
    arr_delay: &'a str,
    carrier: &'a str,
    flight: u16,
    tailnum: &'a str,
    origin: &'a str,
    dest: &'a str,
    air_time: &'a str,
    distance: i32,
    time_hour: &'a str,
}

impl Line<'_> {
    fn row(&self) -> (FlightKey, Flight) {
        let key = FlightKey {
            carrier: self.carrier.to_owned(),
            flight: self.flight,
            hour: self
                .time_hour
                .bytes()
                .filter(u8::is_ascii_digit)
                .take(10)
                .fold(0, |hour, digit| hour * 10 + u64::from(digit - b'0')),
            origin: self.origin.to_owned(),
        };
        (
            key,
            Flight {
                dest: self.dest.to_owned(),
                tailnum: recorded(self.tailnum),
                dep_time: recorded(self.dep_time),
                sched_dep_time: self.sched_dep_time,
                dep_delay: recorded(self.dep_delay),
                arr_time: recorded(self.arr_time),
                sched_arr_time: self.sched_arr_time,
                arr_delay: recorded(self.arr_delay),
                air_time: recorded(self.air_time),
                distance: self.distance,
            },
        )
    }
}

fn recorded<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Option<T> {
    (!text.is_empty() && text != "NA").then(|| text.parse().unwrap())
}

/// All departures of the year, if there is a file of them; else those of the extract, which are repeated on the next days.
pub(crate) fn read() -> Vec<(FlightKey, Flight)> {
    let Some(year) = file(ALL, "the 336,776 departures of 2013") else {
        let day = rows(EXTRACT);
        let on = |(key, flight): &(FlightKey, Flight), day| {
            (FlightKey { hour: key.hour + 100 * day, ..key.clone() }, flight.clone())
        };
        return (0..DAYS).flat_map(|later| day.iter().map(move |row| on(row, later))).collect();
    };
    let year = rows(&year);
    assert_eq!(year.len(), 336_776);
    year
}

fn rows(text: &[u8]) -> Vec<(FlightKey, Flight)> {
    let mut lines = csv::Reader::from_reader(text);
    let header = lines.headers().unwrap().clone();
    let row = |line: csv::StringRecord| line.deserialize::<Line<'_>>(Some(&header)).unwrap().row();
    lines.records().map(|line| row(line.unwrap())).collect()
}
