use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {
    let _ = EventKey::scan().user_id_any_of([1, 2]);
    let ids: Vec<u64> = Vec::new();
    let _ = EventKey::scan().user_id_any_of(&ids);
    let _ = EventKey::scan().user_id("alice").at_any_of(["now"]);
    let _ = EventKey::scan().user_id_any_of("alice");
}
