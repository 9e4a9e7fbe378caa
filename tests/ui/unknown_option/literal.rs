use keyderive::RowKey;

#[derive(RowKey)]
#[salt(4)]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
