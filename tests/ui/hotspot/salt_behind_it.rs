use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, after = "id")]
struct EventKey {
    #[row_key(sequential)]
    id: u64,
    user_id: String,
}

fn main() {}
