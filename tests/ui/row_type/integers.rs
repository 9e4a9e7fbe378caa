use keyderive::Row;

#[derive(Row)]
struct Event {
    width: usize,
    balance: Option<u128>,
}

fn main() {}
