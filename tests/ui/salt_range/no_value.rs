use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range)]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
