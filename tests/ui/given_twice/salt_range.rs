use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, range = 8)]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
