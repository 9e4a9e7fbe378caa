//! The laws of row keys and plans, as property tests that need no table.

mod fingerprint;
mod formats;
mod fuzz;
mod key_field;
mod keys;
mod order;
mod ordered;
mod plans;
mod published;
mod refused;
mod round_trip;
mod salts;
mod times;
