use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(bit_reverse)]
    id: u64,
}

fn main() {
    let _ = EventKey::scan().id_range(1..7);
}
