//! Queries of tables on the embedded Bigtable.
#![allow(missing_docs, clippy::print_stderr, clippy::unwrap_used)]

#[cfg(feature = "codec")]
mod codec;
mod differential;
#[cfg(feature = "codec")]
mod distributed;
mod insert;
mod plans;
mod shared;
mod statements;
mod types;
#[cfg(feature = "codec")]
mod workers;
