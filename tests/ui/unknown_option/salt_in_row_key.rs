use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(salt(range = 4))]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
