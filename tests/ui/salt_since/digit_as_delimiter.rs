use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(delimiter = '5')]
#[salt(range = 4)]
#[salt(range = 16, since(at = 7))]
struct EventKey {
    id: u32,
    #[pad(10)]
    at: u64,
}

fn main() {}
