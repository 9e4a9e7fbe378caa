use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    amount: u64,
    note: Option<String>,
}

fn main() {
    let _ = Event::KIND.eq("login");
    let _ = Event::AMOUNT.gt(5);
    let _ = Event::KIND.not_equals("login");
    let _ = Event::NOTE.is_none();
    let _ = Event::AMOUNT.in_range(3..5);
    let _ = Event::KIND.contains("in");
}
