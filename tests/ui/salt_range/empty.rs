use keyderive::RowKey;

#[derive(RowKey)]
#[salt]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
