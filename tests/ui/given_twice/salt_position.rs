use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, position = "front", position = "front")]
struct EventKey {
    user_id: String,
    site: String,
    at: u64,
}

fn main() {}
