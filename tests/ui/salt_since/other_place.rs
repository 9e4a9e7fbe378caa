use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4)]
#[salt(range = 8, after = "user_id", since(at = 7))]
struct After {
    user_id: String,
    site: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[row_key(tag = "E")]
#[salt(range = 4, position = "front")]
#[salt(range = 8, since(at = 7))]
struct Position {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
