use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(method = "explain")]
    user_id: String,
    at: u64,
}

fn main() {}
