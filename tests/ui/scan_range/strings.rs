use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    device: String,
    at: u64,
}

fn page(from: String, to: String) {
    let _ = EventKey::scan().tenant("acme").device_range(from.clone()..to.clone());
    let _ = EventKey::scan().tenant("acme").device_range(from..);
    let _ = EventKey::scan().tenant("acme").device_range(&to..);
}

fn main() {
    page("a".to_owned(), "b".to_owned());
}
