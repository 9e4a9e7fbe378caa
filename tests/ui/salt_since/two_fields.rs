use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 5))]
#[salt(range = 8, sep = "!", since(seq = 7))]
struct EventKey {
    user_id: String,
    #[pad(10)]
    at: u64,
    #[pad(4)]
    seq: u16,
}

fn main() {}
