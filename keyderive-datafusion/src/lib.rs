//! Tables of keyderive in DataFusion.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod batches;
mod columns;
mod constraints;
mod exec;
mod insert;
mod provider;

pub use provider::BigtableTable;
