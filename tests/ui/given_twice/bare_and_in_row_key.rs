use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4)]
#[row_key(salt(range = 8))]
struct EventKey {
    #[pad(8)]
    #[row_key(pad(6))]
    id: u32,
}

fn main() {}
