use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(13)]
    #[row_key(ts(unit = "millis"))]
    at: SystemTime,
}

fn main() {}
