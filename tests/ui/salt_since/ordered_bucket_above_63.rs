use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 65, since(at = 7))]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
