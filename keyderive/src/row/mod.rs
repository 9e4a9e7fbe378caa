//! Rows: serde values to cells and back, mutations, filters.

mod cell;
mod de;
mod error;
mod filter;
mod mutation;
mod ser;
#[cfg(test)]
mod tests;
mod value;

pub use cell::{Cell, Row};
pub(crate) use de::from_row;
pub use error::RowError;
pub(crate) use filter::RowFilter;
pub(crate) use mutation::Mutation;
pub(crate) use ser::to_mutations;
