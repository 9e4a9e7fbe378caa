//! Data for keyderive's examples. The examples are the files in the parent folder.

use keyderive_tests::{shared, zip};

/// The departures of 1 January 2013, included in the repository; see `data/README.md`.
const EXTRACT: &[u8] = include_bytes!("../data/flights.csv");

/// The departures from the airports of New York in 2013 as lines of CSV: all of them if the archive exists in the
/// folder `shared` next to the project, else those of 1 January.
#[must_use]
pub fn departures() -> Vec<u8> {
    match shared::read_bytes("data/flights.csv.zip") {
        Some(archive) => zip::first_file(&archive),
        None => EXTRACT.to_vec(),
    }
}
