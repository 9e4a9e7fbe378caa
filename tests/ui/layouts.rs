//! Rules that need the formats of types: the compiler evaluates them.

use keyderive::{Row, RowKey};

#[derive(RowKey)]
#[row_key(delimiter = '|')]
struct DelimiterKey {
    user_id: String,
    at: u64,
}

#[derive(RowKey)]
#[row_key(delimiter = '-')]
struct EscapedKey {
    #[row_key(escape)]
    user_id: String,
}

#[derive(RowKey)]
struct LongKey {
    f0: u128,
    f1: u128,
    f2: u128,
    #[pad(4000)]
    name: String,
}

#[derive(RowKey)]
#[row_key(fingerprint = "0123456789abcdef")]
struct ChangedKey {
    user_id: String,
}

#[derive(Row)]
#[row(fingerprint = "0123456789abcdef")]
struct Event {
    kind: String,
}

fn main() {}
