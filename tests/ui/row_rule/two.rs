use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(family = "h", gc(never))]
    kind: String,
    #[row(family = "h", gc(max_versions = 1))]
    note: String,
}

fn main() {}
