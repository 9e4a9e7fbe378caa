use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
}

impl Event {
    const KIND: &'static str = "kind";
}

fn main() {}
