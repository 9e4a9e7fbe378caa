use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    device: String,
    at: u64,
}

fn events(device: Option<&str>) {
    let _ = match device {
        Some(device) => EventKey::scan().tenant("acme").device(device),
        None => EventKey::scan().tenant("acme"),
    };
    let _ = if device.is_some() { EventKey::scan().tenant("acme") } else { EventKey::scan() };
    let mut scan = EventKey::scan().tenant("acme");
    if let Some(device) = device {
        scan = scan.device(device);
    }
}

fn main() {
    events(None);
}
