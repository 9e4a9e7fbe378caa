//! Worked examples of keyderive: the files beside this folder. Here is what they read.

use keyderive_tests::{shared, zip};

/// The departures of 1 January 2013, which are always there; see `data/README.md`.
const EXTRACT: &[u8] = include_bytes!("../data/flights.csv");

/// The departures from the airports of New York in 2013 as lines of CSV: all of them where the archive is in the folder
/// `shared` beside the project, else those of 1 January.
#[must_use]
pub fn departures() -> Vec<u8> {
    match shared::read_bytes("data/flights.csv.zip") {
        Some(archive) => zip::first_file(&archive),
        None => EXTRACT.to_vec(),
    }
}
