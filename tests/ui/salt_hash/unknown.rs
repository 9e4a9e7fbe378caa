use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, hash = "jaav")]
struct EventKey {
    user_id: String,
    site: String,
    at: u64,
}

fn main() {}
