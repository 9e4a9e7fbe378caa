use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5))]
struct EventKey {
    user_id: String,
    #[row_key(bit_reverse)]
    at: u64,
}

fn main() {}
