use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(counter, json)]
    views: i64,
    #[row(counter, alias = "visits")]
    visitors: i64,
    #[row(counter, default)]
    hits: i64,
}

fn main() {}
