use keyderive::Row;

struct Place;

#[derive(Row)]
struct Event {
    place: Place,
    note: Option<Place>,
    #[row(json)]
    other: Place,
}

fn main() {}
