use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 7))]
#[salt(range = 8, sep = "!", since(at = 7))]
struct Same {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01T00:00:00Z"))]
#[salt(range = 8, sep = "!", since(at = "2026-12-01T00:00:00+01:00"))]
struct Earlier {
    user_id: String,
    at: SystemTime,
}

fn main() {}
