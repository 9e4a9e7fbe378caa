use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(time = 5))]
struct EventKey {
    user_id: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
