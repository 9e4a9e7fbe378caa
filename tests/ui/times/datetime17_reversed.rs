use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    #[row_key(ts(format = "datetime17"))]
    at: SystemTime,
}

fn main() {}
