use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(fingerprint = "0123456789abcdef")]
struct EventKey {
    user_id: String,
}

fn main() {}
