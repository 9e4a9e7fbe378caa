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

fn main() {}
