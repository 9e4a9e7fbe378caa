use keyderive::RowKey;

struct Site;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: Site,
}

fn main() {
    let bytes = EventKey { user_id: "alice".into(), site: Site }.encode().unwrap();
    let key: EventKey = EventKey::decode(&bytes).unwrap();
    println!("{} {}", EventKey::scan().user_id(&key.user_id).explain().unwrap(), EventKey::SCHEMA);
}
