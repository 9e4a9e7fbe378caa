use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

fn main() {
    let _ = EventKey::scan().user_id_any_of(["alice", "bob"]).user_id("alice");
}
