use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[salt(range = 4)]
    user_id: String,
    at: u64,
}

fn main() {}
