//! The data: hourly observations at three airports in 2013.

use std::str::FromStr;

use keyderive::Row;
use keyderive_tests::file;
use serde::Deserialize;

/// The observations of the first week of July 2013, which are part of the repository.
const EXTRACT: &[u8] = include_bytes!("../../../examples/data/weather.csv");
/// Names a file of all 26,115 observations of the year; `examples/data/README.md` says where it comes from.
const ALL: &str = "KEYDERIVE_WEATHER";

/// A line of the file; `NA` where nothing was observed.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    pub(super) origin: &'a str,
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) hour: u8,
    temp: &'a str,
    dewp: &'a str,
    humid: &'a str,
    wind_dir: &'a str,
    wind_speed: &'a str,
    wind_gust: &'a str,
    precip: &'a str,
    pressure: &'a str,
    visib: &'a str,
    time_hour: &'a str,
}

/// The columns of a line.
#[derive(Row, Clone, Debug, PartialEq)]
pub(super) struct Weather {
    year: u16,
    temp: Option<f64>,
    dewp: Option<f64>,
    humid: Option<f64>,
    wind_dir: Option<u16>,
    wind_speed: Option<f64>,
    wind_gust: Option<f64>,
    precip: Option<f64>,
    pressure: Option<f64>,
    visib: Option<f64>,
    time_hour: String,
}

impl Line<'_> {
    pub(super) fn weather(&self) -> Weather {
        Weather {
            year: self.year,
            temp: observed(self.temp),
            dewp: observed(self.dewp),
            humid: observed(self.humid),
            wind_dir: observed(self.wind_dir),
            wind_speed: observed(self.wind_speed),
            wind_gust: observed(self.wind_gust),
            precip: observed(self.precip),
            pressure: observed(self.pressure),
            visib: observed(self.visib),
            time_hour: self.time_hour.to_owned(),
        }
    }

    /// The time in milliseconds since the epoch. The local hour is ambiguous when summer time ends; this time is not.
    pub(super) fn at(&self) -> u64 {
        /// 2013-01-01T00:00:00Z, and the days before each of its months.
        const NEW_YEAR_SECS: u64 = 1_356_998_400;
        const DAYS_BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let part = |from, to| self.time_hour[from..to].parse::<u64>().unwrap();
        assert_eq!(part(0, 4), 2013);
        let days = DAYS_BEFORE[usize::try_from(part(5, 7)).unwrap() - 1] + part(8, 10) - 1;
        (NEW_YEAR_SECS + (days * 24 + part(11, 13)) * 3600) * 1000
    }
}

fn observed<T: FromStr<Err: std::fmt::Debug>>(text: &str) -> Option<T> {
    (text != "NA").then(|| text.parse().unwrap())
}

/// Applies `of` to each line of the year, if there is a file of it; else to those of the extract.
pub(super) fn read<T>(of: impl Fn(&Line<'_>) -> T) -> Vec<T> {
    let year = file(ALL, "the 26,115 observations of 2013");
    let mut lines = csv::Reader::from_reader(year.as_deref().unwrap_or(EXTRACT));
    let header = lines.headers().unwrap().clone();
    lines.records().map(|line| of(&line.unwrap().deserialize(Some(&header)).unwrap())).collect()
}
