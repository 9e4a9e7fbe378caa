use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(name = "kind")]
    sort: String,
    #[row(family)]
    place: Place,
    #[row(family, name = "place")]
    site: Place,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
