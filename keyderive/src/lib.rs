//! Typed row keys for Google Cloud Bigtable.

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "embedded")]
mod embedded;
pub mod plan;
#[cfg(feature = "client")]
pub mod row;
#[cfg(feature = "client")]
mod wire;

#[cfg(feature = "client")]
pub use client::{Client, Error, Target};
