use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 7))]
#[salt(range = 8, sep = "!")]
struct EventKey {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
