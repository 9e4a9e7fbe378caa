use keyderive::Row;

#[derive(Row)]
struct Event {
    #[allow(non_snake_case)]
    aB: String,
    ab: String,
}

fn main() {}
