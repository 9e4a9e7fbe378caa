use keyderive::RowKey;

#[derive(RowKey)]
#[salt(buckets = 4)]
struct EventKey {
    user_id: String,
}

fn main() {}
