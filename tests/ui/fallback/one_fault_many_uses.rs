use keyderive::RowKey;
use keyderive::plan::Plan;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(0)]
    at: u64,
}

fn main() {
    let key = EventKey { user_id: "alice".into(), at: 1 };
    let bytes = key.encode().unwrap();
    let decoded: EventKey = EventKey::decode(&bytes).unwrap();
    let plan: Plan<EventKey> = EventKey::scan().user_id("alice").at_range(1..2).into_plan().unwrap();
    println!("{} {}", EventKey::scan().explain().unwrap(), EventKey::SCHEMA);
    drop((decoded, plan));
}
