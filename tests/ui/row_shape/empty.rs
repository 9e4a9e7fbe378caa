use keyderive::Row;

#[derive(Row)]
struct Event {}

#[derive(Row)]
struct Unit;

fn main() {}
