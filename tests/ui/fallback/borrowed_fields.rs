use keyderive::RowKey;

#[derive(RowKey)]
#[salt(rnage = 4)]
struct EventKey<'a> {
    user_id: &'a str,
    at: u64,
}

fn main() {
    let bytes = EventKey { user_id: "alice", at: 1 }.encode().unwrap();
    let EventKey { user_id, at } = EventKey::decode(&bytes).unwrap();
    println!("{user_id} {at} {}", EventKey::scan().user_id(user_id).at(at).explain().unwrap());
}
