use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(crate = "my crate")]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
