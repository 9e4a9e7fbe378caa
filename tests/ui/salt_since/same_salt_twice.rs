use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id")]
#[salt(range = 4, over(user_id), since(at = 7))]
struct First {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5))]
#[salt(range = 4, sep = "!", over = "user_id,at", since(at = 7))]
struct Later {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
