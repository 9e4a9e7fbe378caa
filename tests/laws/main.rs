//! The laws of row keys and plans, as property tests that need no table.

mod explained;
mod fingerprint;
mod formats;
mod fuzz;
mod key_field;
mod keys;
mod lists;
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
