use keyderive::Row;
use keyderive::row::Sum;

#[derive(Row)]
struct Event {
    kind: String,
    hits: Sum,
}

fn main() {}
