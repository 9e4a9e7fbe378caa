use keyderive::Row;

#[derive(Row)]
#[row(ttl = "30d", gc(max_age = "7d"))]
struct Event {
    #[row(ttl = "7d")]
    kind: String,
}

fn main() {}
