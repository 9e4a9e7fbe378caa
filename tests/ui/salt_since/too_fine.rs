use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = "2026-12-01T00:00:00.5Z"))]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "secs"))]
    at: SystemTime,
}

fn main() {}
