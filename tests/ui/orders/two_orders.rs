use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    #[row_key(desc)]
    at: u64,
    #[row_key(desc, bit_reverse)]
    seq: u32,
}

fn main() {}
