use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5))]
#[salt(range = 8, sep = "!!", since(at = 7))]
struct EventKey {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4)]
#[salt(range = 8, sep = "!", since(at = 7))]
struct Delimiter {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
