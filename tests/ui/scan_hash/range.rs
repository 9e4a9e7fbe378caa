use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(sequential, hash(md5))]
    number: u64,
}

fn main() {
    let _ = EventKey::scan().user_id("alice").number_range(..7);
}
