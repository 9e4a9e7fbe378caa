use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(family)]
    place: Place,
}

#[derive(Row)]
struct Place {
    city: String,
    #[row(family)]
    inner: Inner,
}

#[derive(Row)]
struct Inner {
    floor: i32,
}

fn main() {}
