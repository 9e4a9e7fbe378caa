use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "secs", unit = "millis"))]
    at: SystemTime,
}

fn main() {}
