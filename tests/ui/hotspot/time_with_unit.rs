use std::time::SystemTime as Clock;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(ts(unit = "millis"))]
    at: Clock,
    user_id: String,
}

fn main() {}
