use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "milis"))]
    at: SystemTime,
}

fn main() {}
