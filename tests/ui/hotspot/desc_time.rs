use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(desc, ts(unit = "millis"))]
    at: SystemTime,
    user_id: String,
}

fn main() {}
