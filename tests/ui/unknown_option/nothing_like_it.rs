use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(frobnicate(4))]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
