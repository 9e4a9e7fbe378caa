use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id")]
#[row_key(crate = "missing_crate")]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {
    let _ = EventKey::scan().user_id("alice");
}
