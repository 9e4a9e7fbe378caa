//! The engine that moves rows and compares tables: loads, copies, comparisons and the pass of a re-keying are settings of it.
//!
//! A [`Source`] has the rows: a stream, or all rows of a table by partitions, whose [`NewKeys`] name their keys in the other table.
//! The [`Engine`] reads ahead, so that its requests spread over the partitions of the table that it writes, and a [`Sink`] says how a
//! request writes its rows. A [`Tracker`] knows which rows are done without a gap; a checkpoint holds the others. [`compare`] reads
//! two tables and lists how they differ, and [`Examined`] reads what would be moved.

mod additions;
mod check;
mod checkpoint;
mod compare;
mod engine;
mod equality;
mod keys;
mod look_ahead;
mod numbers;
mod progress;
mod report;
mod sink;
mod source;
mod sums;
mod tracker;

pub(super) use self::additions::{Additions, MayBeCounted, Policy};
pub use self::check::Fault;
pub(super) use self::check::{Checked, Examined, list_faults};
pub use self::checkpoint::Checkpoint;
pub(super) use self::checkpoint::{PartsLeft, Versioned};
pub(super) use self::compare::{Comparison, OnDifference, Origin, Origins, compare, compare_with};
pub(super) use self::engine::{Engine, MAX_BATCH_BYTES, Settings};
pub(super) use self::equality::StoredRow;
pub use self::keys::NewKey;
pub(super) use self::keys::{Mapping, NewKeys, ShowKey};
pub(super) use self::look_ahead::BatchLimits;
pub use self::progress::Progress;
pub(super) use self::progress::{OnProgress, Reporter, counted};
pub use self::report::{CellDifference, DifferentKey, RowDifference, TableDiff};
pub(super) use self::sink::{IfAbsent, Outcomes, Paced, Puts, Sink, Watched, write_each};
pub(super) use self::source::{CellCopy, Intake, READ_AT_ONCE, Source, StopSignal, TableRows, first_row};
pub use self::tracker::FailedRow;
pub(super) use self::tracker::{Done, Every, Store, Tracker, TransferError};
