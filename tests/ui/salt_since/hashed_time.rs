use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id", sep = "!", since(at = 5))]
struct EventKey {
    user_id: String,
    #[row_key(hash(md5))]
    at: u64,
}

fn main() {}
