//! Hotspots, foreseen and seen: what a workload does to a key layout, before the first write, and what a process reads and writes.
//!
//! ```
//! use keyderive::RowKey;
//! use keyderive::heat::{self, Workload};
//!
//! #[derive(RowKey)]
//! #[salt(range = 8, over = "user")]
//! struct EventKey {
//!     user: String,
//!     at: u64,
//! }
//!
//! // A thousand users, of whom the first is a thousand times as busy as the last; or the events of a file.
//! let events = Workload::zipf(1_000, 1.0).events(20_000).into_iter().map(|draw| {
//!     (draw.time, EventKey { user: format!("u-{:04}", draw.item), at: draw.time as u64 }, 200)
//! });
//! let forecast = heat::simulate(events).read("a user's events", 0.1, ["user"]).run()?;
//!
//! println!("{forecast}"); // a line, and a table
//! println!("{}", forecast.picture().of_table(true).terminal(80, 20));
//! assert!(forecast.tablets.peak < 0.3);
//! assert_eq!(forecast.reads[0].requests, 1.0); // all events of a user are in one bucket
//! # Ok::<(), keyderive::heat::SimulationError>(())
//! ```
//!
//! In a test, [`Simulation::assert_busiest_tablet_below`] fails with the line, the table and a small picture.
//!
//! # What it says
//! - The *busiest tablet*, and its share of all writes of its worst minute: a table does not get faster than this tablet.
//! - The same of nodes and salt buckets; how many requests a read needs; how long keys are; how many values each field has, which are the most
//!   frequent, and how much they follow the time. A first field that follows it is a hotspot.
//! - Remedies: the same workload on other layouts, with 2 to 64 buckets, with each other field first, with the first one hashed or its bits
//!   reversed, and on [those you give](Simulation::variant). They are computed, not recited: a salt helps little where one user does everything.
//!
//! # What it does not know
//! How Bigtable splits and moves tablets is not published in numbers. [`TabletModel`] has the ones that are taken, each with its source or the
//! word "assumed"; they are printed with the result. Compare layouts with each other; what the service does with one, a load test shows.
//! Caches, compactions and replication are not simulated. Of a large workload, tablets and remedies are computed of a sample, and the forecast
//! says so.
//!
//! # Grids and pictures
//! A [`Grid`] has reads, writes and bytes by time and range of keys, in bounded memory: peaks are kept apart from sums, so nothing looks calmer
//! than it was, and it says by how much a peak may be too high. [`Picture`] draws grids on one scale. [Read the picture](crate::guide::heat)
//! shows each pattern with its key and its remedy:
//!
//! | picture | key | remedy |
//! |---|---|---|
//! | one bright line that goes up, or down | the key begins with a value that grows, or falls | another field first, or a salt |
//! | a bright horizontal line | one row, or a few, take much | several rows, or a salt over more fields |
//! | bright columns, dark between them | bursts: all of the table is busy at one time | none by the key |
//! | one dim colour | the load is spread | not needed |
//!
//! # In a process
//! With [`record_heat`](crate::client::ClientBuilder::record_heat), a client records a sample of what it reads and writes, and
//! [`Client::heat`](crate::Client::heat) returns it. [`Recorder`] counts operations that your program passes to it, from any thread. Their [`Snapshot`]s are data, merge over
//! processes, and have a [summary](TableHeat::summary) of each table. [Of a running service](crate::guide::heat#of-a-running-service) shows it.

mod advice;
mod grid;
mod picture;
mod recorder;
mod report;
#[cfg(feature = "client")]
mod sampling;
mod simulate;
mod sketch;
mod summary;
mod tablets;
#[cfg(test)]
mod tests;
mod workload;

pub use self::advice::Change;
pub use self::grid::{Access, BusiestRange, Grid, GridBuilder, Load, Measure, MergeError};
pub use self::picture::Picture;
pub use self::recorder::{Recorder, Snapshot, TableHeat};
pub use self::report::{Busiest, FieldFigures, Forecast, KeyLengths, ReadFigures, Remedy, TopValue};
#[cfg(feature = "client")]
pub use self::sampling::Recording;
#[cfg(feature = "client")]
pub(crate) use self::sampling::{SampledRecorder, Sampler};
pub use self::simulate::{Simulation, SimulationError, simulate, simulate_layout};
pub use self::sketch::{HeavyKey, HeavyKeys};
pub use self::summary::{BusiestPlace, HeatSummary};
pub use self::tablets::{Constant, Shares, TabletModel};
pub use self::workload::{Draw, Draws, Workload};
