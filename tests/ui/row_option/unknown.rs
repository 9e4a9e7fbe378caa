use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(nmae = "k")]
    kind: String,
    #[row(sum)]
    hits: i64,
    #[row(code)]
    level: i64,
}

fn main() {}
