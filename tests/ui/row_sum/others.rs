use keyderive::Row;
use keyderive::row::Sum;

#[derive(Row)]
struct Event {
    #[row(family = "sums")]
    hits: Sum,
    #[row(family = "sums")]
    kind: String,
}

fn main() {}
