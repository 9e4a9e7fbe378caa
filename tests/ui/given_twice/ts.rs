use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "secs"))]
    #[row_key(ts(exact))]
    at: SystemTime,
}

fn main() {}
