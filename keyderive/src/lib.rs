//! Typed row keys for Google Cloud Bigtable.

pub mod plan;
#[cfg(feature = "client")]
pub mod row;
