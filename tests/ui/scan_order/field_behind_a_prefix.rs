use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    site: String,
    n: u64,
}

fn main() {
    let _ = EventKey::scan().tenant("x").site_prefix("a").n(3);
}
