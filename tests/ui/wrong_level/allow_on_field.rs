use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(sequential, allow(hotspot))]
    id: u64,
}

fn main() {}
