use keyderive::RowKey;

#[derive(RowKey)]
enum EventKey {
    User { user_id: String },
    Device { device: u64 },
}

fn main() {}
