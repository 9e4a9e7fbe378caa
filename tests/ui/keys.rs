//! Misuse that `RowKey` and `KeyField` find: a sample. `keyderive-macros/src/tests/messages` has all of it.

use std::time::SystemTime;

use keyderive::{KeyField, RowKey};

#[derive(RowKey)]
struct TupleKey(String, u64);

#[derive(RowKey)]
struct ConstKey<const N: usize> {
    user_id: String,
}

#[derive(RowKey)]
#[pad(6)]
struct TypesKey {
    static_reference: &'static str,
    price: f64,
    site: Option<String>,
    seq: usize,
}

#[derive(RowKey)]
#[row_key(delimter = '-', tag = "")]
struct FormatsKey {
    user_id: String,
    #[pad(13)]
    #[reverse_ts]
    at: u64,
    #[reverse_ts(max = 0)]
    until: u64,
    #[row_key(ts(unit = "milis"))]
    since: SystemTime,
    at_range: String,
}

#[derive(RowKey)]
#[row_key(delimiter = '§')]
struct SequentialKey {
    #[row_key(sequential)]
    order_id: u64,
    user_id: String,
}

#[derive(RowKey)]
#[salt(over(user_id))]
struct RangelessKey {
    user_id: String,
    at: u64,
}

// The compiler of a stable Rust marks the sign alone.
#[derive(RowKey)]
#[salt(range = -4)]
struct NegativeKey {
    user_id: String,
}

#[derive(RowKey)]
#[salt(range = 4 over = "user_id")]
struct CommaKey {
    user_id: String,
}

#[derive(RowKey)]
#[salt(range = 4, over(user_id, iste))]
struct MisspelledKey {
    user_id: String,
    site: String,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 7))]
#[salt(range = 8, sep = "!", since(at = 7))]
struct SameBoundKey {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01T00:00:00Z"))]
#[salt(range = 8, sep = "!", since(at = "2026-12-01T00:00:00+01:00"))]
struct EarlierBoundKey {
    user_id: String,
    at: SystemTime,
}

#[derive(KeyField)]
struct Site {
    name: String,
}

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
    Changed,
    Deleted = 20,
    Restored,
}

fn main() {}
