use keyderive::RowKey;

#[derive(RowKey)]
#[pad(6)]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
