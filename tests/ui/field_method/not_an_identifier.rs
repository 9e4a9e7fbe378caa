use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(method = "by user")]
    user_id: String,
    #[row_key(method = "fn")]
    at: u64,
}

fn main() {}
