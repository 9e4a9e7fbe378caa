use keyderive::RowKey;

#[derive(RowKey)]
#[salt(over(user_id))]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
