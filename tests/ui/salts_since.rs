//! Salts since a time, which need the formats of types: the compiler evaluates them.

use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5))]
struct Time {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01"))]
struct Day {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01T00:00:00Z"))]
struct Number {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 16, since(at = 7))]
struct DigitsFirst {
    #[pad(2)]
    kind: u8,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 16, sep = "a", since(at = 7))]
struct Hex {
    id: [u8; 4],
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 16, sep = "-", since(at = 7))]
struct Signed {
    level: i16,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(user_id = 5))]
struct NoTime {
    user_id: String,
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 0))]
struct NothingBefore {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 65, since(at = 7))]
struct OrderedBucket {
    user_id: String,
    at: u64,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, since(at = 7))]
struct OrderedNumber {
    id: u32,
    at: u64,
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, over = "user_id", since(at = 7))]
struct OrderedText {
    user_id: String,
    at: u64,
    note: String,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 1000))]
struct Padded {
    user_id: String,
    #[pad(3)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "1960-01-01T00:00:00Z"))]
struct Early {
    user_id: String,
    at: SystemTime,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 100))]
struct Reversed {
    user_id: String,
    #[reverse_ts(max = 99)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 7))]
struct PaddedText {
    #[pad(6)]
    exchange: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[row_key(tag = "1")]
#[salt(range = 4, position = "front", since(at = 7))]
struct TagFirst {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, over = "user_id", sep = "!", since(at = 7))]
struct TextAfter {
    user_id: String,
    #[pad(10)]
    at: u64,
    #[pad(4)]
    seq: u16,
    note: String,
}

#[derive(RowKey)]
#[salt(range = 4, over = "user_id", since(at = 7))]
struct TextFirst {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01T00:00:00.5Z"))]
struct TooFine {
    user_id: String,
    #[row_key(ts(unit = "secs"))]
    at: SystemTime,
}

fn main() {}
