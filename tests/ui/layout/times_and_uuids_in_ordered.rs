use std::time::SystemTime;

use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct EventKey {
    user_id: String,
    #[row_key(ts(format = "datetime17", exact))]
    at: SystemTime,
    #[row_key(uuid(simple))]
    id: u128,
}

fn main() {}
