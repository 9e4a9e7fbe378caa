use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, over = "user_id", since(at = 7))]
struct EventKey {
    user_id: String,
    at: u64,
    note: String,
}

fn main() {}
