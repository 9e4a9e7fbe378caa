use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(tag = "EVENT#LOG")]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
