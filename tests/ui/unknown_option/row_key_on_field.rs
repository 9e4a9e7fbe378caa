use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(sequental)]
    at: u64,
}

fn main() {}
