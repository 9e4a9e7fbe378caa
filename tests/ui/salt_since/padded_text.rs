use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", since(at = 7))]
struct EventKey {
    #[pad(6)]
    exchange: String,
    #[pad(10)]
    at: u64,
}

fn main() {}
