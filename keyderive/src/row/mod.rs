//! Rows: serde values to cells and back, mutations, filters.

mod cell;
mod filter;
mod mutation;

pub use cell::{Cell, Row};
pub(crate) use filter::RowFilter;
pub(crate) use mutation::Mutation;
