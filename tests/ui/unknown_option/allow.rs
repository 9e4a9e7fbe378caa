use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(allow(hotspots))]
struct EventKey {
    #[reverse_ts]
    at: u64,
    user_id: String,
}

fn main() {}
