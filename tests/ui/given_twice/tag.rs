use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(tag = "EVENT")]
#[row_key(tag = "event")]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
