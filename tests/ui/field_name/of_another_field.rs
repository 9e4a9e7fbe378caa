use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user: String,
    #[row_key(name = "user")]
    user_id: String,
    at: u64,
}

fn main() {}
