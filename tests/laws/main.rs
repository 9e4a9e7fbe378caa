//! The laws of row keys and plans, as property tests that need no table.

mod fingerprint;
mod fuzz;
mod keys;
mod order;
mod plans;
mod published;
mod refused;
mod round_trip;
