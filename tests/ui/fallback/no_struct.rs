use keyderive::RowKey;

#[derive(RowKey)]
enum EventKey {
    User { user_id: String },
}

fn main() {
    let key = EventKey::User { user_id: "alice".into() };
    println!("{:?} {:?}", key.encode(), EventKey::scan().explain());
}
