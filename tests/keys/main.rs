//! The laws of row keys and plans: property tests without a table, published bytes, and a model of scans.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod explained;
mod fingerprint;
mod formats;
mod fuzz;
mod key_field;
mod keys;
mod lists;
mod model;
mod order;
mod ordered;
mod pains;
mod parts;
mod plan_data;
mod plans;
mod products;
mod published;
mod refused;
mod round_trip;
mod salts;
mod times;
