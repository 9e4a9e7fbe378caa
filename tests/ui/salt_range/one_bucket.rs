use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 1)]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
