use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(over(user_id))]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
