use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(family, counter)]
    place: Place,
    #[row(family, default)]
    site: Place,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
