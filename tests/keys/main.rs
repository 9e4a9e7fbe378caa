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

use std::fmt::{Debug, Display};

use keyderive::key::OwnedRowKey;

/// Asserts that a key is stored as these bytes, and read again.
#[track_caller]
fn assert_stored<K: OwnedRowKey + PartialEq + Debug>(key: &K, stored: impl AsRef<[u8]>) {
    let bytes = key.encode().unwrap();
    assert_eq!(bytes.escape_ascii().to_string(), stored.as_ref().escape_ascii().to_string());
    assert_eq!(&K::decode(&bytes).unwrap(), key);
}

/// Asserts that a text has these parts.
#[track_caller]
fn assert_says(text: impl Display, parts: &[&str]) {
    let text = text.to_string();
    for part in parts {
        assert!(text.contains(part), "{text}\ndoes not say {part:?}");
    }
}

/// The bytes of hexadecimal digits.
fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
