use keyderive::Row;

#[derive(Row)]
struct Event(String);

fn main() {}
