use keyderive::RowKey;

#[derive(RowKey)]
#[row_key]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
