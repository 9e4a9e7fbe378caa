use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "secs", format = "datetime17"))]
    at: SystemTime,
}

fn main() {}
