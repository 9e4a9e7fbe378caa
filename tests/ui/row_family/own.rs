use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(family)]
    cf: Place,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
