use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "secs", exact = true))]
    at: SystemTime,
}

fn main() {}
