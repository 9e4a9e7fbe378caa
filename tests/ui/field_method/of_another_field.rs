use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(method = "user_id_range")]
    at: u64,
}

fn main() {}
