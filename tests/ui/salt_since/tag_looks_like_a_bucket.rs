use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(tag = "1")]
#[salt(range = 4, position = "front", since(at = 7))]
struct EventKey {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
