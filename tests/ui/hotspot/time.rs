use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    at: SystemTime,
    user_id: String,
}

fn main() {}
