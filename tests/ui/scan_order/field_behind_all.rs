use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

fn main() {
    let _ = EventKey::scan().user_id("alice").site("home").at(7).at_range(1..2);
}
