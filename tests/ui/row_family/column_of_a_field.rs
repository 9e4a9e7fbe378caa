use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(family)]
    place: Place,
    #[row(family = "place")]
    note: String,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
