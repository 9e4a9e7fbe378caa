use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, sep = "!", after = "at", since(at = 7))]
struct At {
    user_id: String,
    #[pad(10)]
    at: u64,
    #[pad(4)]
    seq: u16,
}

#[derive(RowKey)]
#[salt(range = 4, sep = "!", after = "seq", since(at = 7))]
struct Behind {
    user_id: String,
    #[pad(10)]
    at: u64,
    #[pad(4)]
    seq: u16,
    line: u16,
}

fn main() {}
