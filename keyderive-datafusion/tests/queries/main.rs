//! Queries of tables on the embedded Bigtable.
#![allow(missing_docs)]

mod differential;
mod insert;
mod plans;
mod shared;
mod types;
