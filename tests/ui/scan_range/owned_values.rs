use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    name: Vec<u8>,
    at: u64,
}

fn main() {
    let _ = EventKey::scan().name_range(b"a".to_vec()..b"b".to_vec());
    let _ = EventKey::scan().name(b"a").at_range(&1..&2);
    let _ = EventKey::scan().name(b"a").at_range(1.5..2.0);
    let _ = EventKey::scan().name(b"a").at_range(7);
}
