use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(user_id = 5))]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
