use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "millis"), uuid(simple))]
    at: SystemTime,
}

fn main() {}
