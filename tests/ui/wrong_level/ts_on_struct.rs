use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(ts(unit = "millis"))]
struct EventKey {
    user_id: String,
    at: SystemTime,
}

fn main() {}
