//! A Bigtable over TCP that answers `ReadRows` by script, for tests and benchmarks.
//!
//! It speaks the generated protocol of the runtime over a real connection, with the limit of concurrent streams that
//! Google's front ends have.

mod codec;
mod server;
mod table;

// The protocol of the runtime, which keeps it to itself.
#[path = "../../../keyderive/src/wire/mod.rs"]
#[allow(unused_imports)]
mod wire;

pub use server::{Answers, MAX_CONCURRENT_STREAMS, Script, Server};
pub use table::{Cell, Table, encode_rows};

/// The messages of the data service, and its generated client.
pub mod data {
    pub use crate::wire::data::*;
}
