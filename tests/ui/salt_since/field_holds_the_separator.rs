use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 16, sep = "a", since(at = 7))]
struct Hex {
    id: [u8; 4],
    #[pad(10)]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 16, sep = "-", since(at = 7))]
struct Signed {
    level: i16,
    #[pad(10)]
    at: u64,
}

fn main() {}
