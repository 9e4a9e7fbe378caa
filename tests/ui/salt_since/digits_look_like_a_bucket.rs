use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 16, since(at = 7))]
struct EventKey {
    #[pad(2)]
    kind: u8,
    #[pad(10)]
    at: u64,
}

fn main() {}
