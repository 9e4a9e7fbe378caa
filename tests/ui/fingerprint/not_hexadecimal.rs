use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(fingerprint = "v1")]
struct EventKey {
    user_id: String,
}

fn main() {}
