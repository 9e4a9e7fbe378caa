use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(family, alias = "site")]
    place: Place,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
