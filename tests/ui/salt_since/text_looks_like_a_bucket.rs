use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id", since(at = 7))]
struct EventKey {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
