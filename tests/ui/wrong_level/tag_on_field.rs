use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(tag = "EVENT")]
    user_id: String,
    at: u64,
}

fn main() {}
