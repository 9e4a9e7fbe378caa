//! The laws of row keys and plans: property tests without a table, published bytes, and a model of scans.
//!
//! 1. Decoding accepts exactly what encoding writes, and gives it back.
//! 2. Within a bucket, bytes sort as the fields do in their declared order.
//! 3. A plan reads exactly the rows that satisfy its constraints.
//! 4. A fully fixed key is one row key.
//! 5. The bucket is a function of the bytes, the same on every machine, and within its range.
//! 6. A key has 1 to 4096 bytes.
//! 7. A value that a key cannot hold is an error that names its field.

#![allow(clippy::duplicated_attributes, reason = "key types have several salts")]

mod epochs;
mod explained;
mod filters;
mod fingerprint;
mod key_field;
mod key_types;
mod keys;
mod laws;
mod lists;
mod model;
mod ordered;
mod pains;
mod parts;
mod plan_data;
mod plans;
mod products;
mod published;
mod refused;
mod salts;
mod stored;
mod times;
