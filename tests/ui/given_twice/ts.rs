use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "secs"))]
    #[row_key(ts(floor))]
    at: SystemTime,
}

fn main() {}
