//! Queries of tables on the embedded Bigtable.
#![allow(missing_docs, clippy::unwrap_used)]

mod differential;
mod insert;
mod plans;
mod shared;
mod types;
