use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(counter)]
    views: u32,
}

fn main() {}
