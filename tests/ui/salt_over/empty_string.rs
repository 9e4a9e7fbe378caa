use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "")]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
