use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    amount: i64,
}

fn main() {
    let _ = Event::KIND.equals("buy") && Event::AMOUNT.at_least(7);
}
