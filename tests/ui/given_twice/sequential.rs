use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(sequential, sequential)]
    seq: u64,
}

fn main() {}
