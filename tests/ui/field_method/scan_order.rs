use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(method = "by_user")]
    user_id: String,
    at: u64,
}

fn main() {
    let _ = EventKey::scan().at(7);
}
