//! Queries of tables on the embedded Bigtable.
#![allow(missing_docs, clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

mod differential;
mod exact;
mod insert;
mod plans;
mod shared;
mod statements;
mod times;
mod types;
