use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(name = "")]
    kind: String,
    #[row(alias = "")]
    note: String,
}

fn main() {}
