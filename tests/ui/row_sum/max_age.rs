use keyderive::Row;
use keyderive::row::Sum;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(family = "sums", gc(max_age = "30d"))]
    hits: Sum,
}

fn main() {}
