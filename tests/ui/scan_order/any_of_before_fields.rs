use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

fn main() {
    let _ = EventKey::scan().site_any_of(["home", "shop"]);
}
