use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, after = "user_id", after = "site")]
struct EventKey {
    user_id: String,
    site: String,
    at: u64,
}

fn main() {}
