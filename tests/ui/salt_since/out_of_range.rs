use std::time::SystemTime;

use keyderive::RowKey;

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

fn main() {}
