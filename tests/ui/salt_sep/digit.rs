use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "-0")]
struct EventKey {
    user_id: String,
    site: String,
    at: u64,
}

fn main() {}
