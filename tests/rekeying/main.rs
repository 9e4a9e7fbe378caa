//! Tables whose keys change while programs read and write them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod calls;
mod drivers;
mod leases;
mod refusals;
#[path = "../tables/servers.rs"]
mod servers;
