use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered", delimiter = '-')]
struct EventKey {
    #[row_key(escape)]
    user_id: String,
    #[pad(6)]
    seq: u32,
    #[row_key(bit_reverse)]
    id: u64,
}

fn main() {}
