//! Hotspots, predicted and observed: simulates the load of a workload on a key layout, before the first write, and records what a process
//! reads and writes.
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
//! - The *busiest tablet*, and its share of all writes in its worst minute: a table gets no faster than this tablet.
//! - The same for nodes and salt buckets; how many requests a read needs; how long keys are; how many values each field has, which are the
//!   most frequent, and how closely they follow the time. A first field that follows the time is a hotspot.
//! - Remedies: the same workload on other layouts, with 2 to 64 buckets, with each other field first, with the first one hashed or its bits
//!   reversed, and on [those you give](Simulation::variant). They are simulated, not rules of thumb: a salt over the user helps little if
//!   one user does everything.
//!
//! # What it does not know
//! Google does not publish by which numbers Bigtable splits and moves tablets. [`TabletModel`] has those used here, each with its source or
//! the word "assumed"; the forecast prints them. Compare layouts with each other; only a load test shows what the service does with one.
//! Caches, compactions and replication are not simulated. For a large workload, tablets and remedies are computed from a sample, and the
//! forecast says so.
//!
//! # Grids and pictures
//! A [`Grid`] counts reads, writes and bytes by time and range of keys, in bounded memory. It keeps peaks apart from sums, so nothing looks
//! calmer than it was, and bounds by how much a peak may be too high. [`Picture`] draws grids as heatmaps on one scale. [Reading a
//! heatmap](crate::guide::heat) shows each pattern with its key and its remedy:
//!
//! | picture | key | remedy |
//! |---|---|---|
//! | one bright line that rises, or falls | the key begins with a value that grows, or falls | another field first, or a salt |
//! | a bright horizontal line | one row, or a few, take most of the load | several rows, or a salt over more fields |
//! | bright columns, dark between them | bursts: the whole table is busy at times | no key helps |
//! | one dim colour | the load is spread | not needed |
//!
//! # In a process
//! With [`record_heat`](crate::client::ClientBuilder::record_heat), a client records a sample of what it reads and writes, and
//! [`Client::heat`](crate::Client::heat) returns it. [`Recorder`] counts operations that your program passes to it, from any thread. Their
//! [`Snapshot`]s are serializable, can be merged over processes, and have a [summary](TableHeat::summary) of each table: see [heat of a
//! running service](crate::guide::heat#of-a-running-service).

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
mod text;
mod workload;

pub use self::advice::Variant;
pub use self::grid::{Access, BusiestRange, CellLoad, Grid, GridBuilder, Measure, MergeError};
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
