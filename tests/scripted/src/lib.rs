//! Bigtables that answer by script, for tests and benchmarks.
//!
//! A [`Server`] answers `ReadRows` and `MutateRows` over TCP, from a thread of its own and as fast as it can. A
//! [`mock::Mock`] answers every RPC of the data service step by step, over TCP or over pipes inside the process, and
//! keeps what it was asked. Both speak the protocol of the runtime, with the limit of concurrent streams that Google's
//! front ends have.

mod codec;
pub mod mock;
mod server;
mod table;

pub use server::{Answers, MAX_CONCURRENT_STREAMS, Script, Server};
pub use table::{Cell, Table, encode_rows};
