//! Hotspots, foreseen and seen.

mod advice;
mod grid;
mod picture;
mod recorder;
mod report;
mod simulate;
mod sketch;
mod tablets;
#[cfg(test)]
mod tests;
mod workload;

pub use self::advice::Change;
pub use self::grid::{Access, BusiestRange, Grid, GridBuilder, Load, Measure, MergeError};
pub use self::picture::Picture;
pub use self::recorder::{Recorder, Snapshot, TableHeat};
pub use self::report::{Busiest, FieldFigures, Forecast, KeyLengths, ReadFigures, Remedy, TopValue};
pub use self::simulate::{Simulation, SimulationError, simulate, simulate_layout};
pub use self::sketch::{HeavyKey, HeavyKeys};
pub use self::tablets::{Constant, Shares, TabletModel};
pub use self::workload::{Draw, Draws, Workload};
