use keyderive::Row;

#[derive(Row)]
struct Event {
    schema: String,
}

fn main() {}
