use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: &'static str,
}

fn main() {}
