//! Queries of tables on the embedded Bigtable.
#![allow(missing_docs, clippy::print_stderr, clippy::unwrap_used)]

mod differential;
mod insert;
mod plans;
mod shared;
mod statements;
mod types;
