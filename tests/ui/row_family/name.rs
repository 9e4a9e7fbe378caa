use keyderive::Row;

#[derive(Row)]
#[row(family = "a b")]
struct Event {
    kind: String,
    #[row(family, name = "keyderive.x")]
    place: Place,
    #[row(family = "")]
    note: String,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
