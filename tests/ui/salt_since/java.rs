use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, hash = "java", since(at = 7))]
struct Later {
    user_id: String,
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, hash = "java")]
#[salt(range = 8, since(at = 7))]
struct First {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
