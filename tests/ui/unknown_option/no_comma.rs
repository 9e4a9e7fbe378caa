use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4 over = "user_id")]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
