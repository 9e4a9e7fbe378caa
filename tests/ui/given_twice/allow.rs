use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(allow(hotspot), allow(hotspot))]
struct EventKey {
    #[reverse_ts]
    at: u64,
}

fn main() {}
