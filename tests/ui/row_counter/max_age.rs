use keyderive::Row;

#[derive(Row)]
#[row(gc(max_age = "30d"))]
struct Event {
    #[row(counter)]
    views: i64,
}

fn main() {}
