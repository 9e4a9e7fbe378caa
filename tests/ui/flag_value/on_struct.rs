use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(display = false, allow(hotspot = false))]
struct EventKey {
    #[reverse_ts]
    at: u64,
}

fn main() {}
