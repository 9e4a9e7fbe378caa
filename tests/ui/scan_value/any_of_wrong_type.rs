use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: String,
}

fn main() {
    let _ = EventKey::scan().user_id_any_of([1, 2]);
}
