use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site", hash = "java")]
struct EventKey {
    user_id: String,
    site: String,
    at: u64,
}

fn main() {}
