use keyderive::Row;

#[derive(Row)]
struct Event<T> {
    kind: String,
    #[row(family)]
    place: T,
}

fn main() {}
