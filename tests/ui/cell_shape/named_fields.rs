use keyderive::Cell;

#[derive(Cell)]
struct Place {
    city: String,
}

#[derive(Cell)]
struct Pair(String, String);

#[derive(Cell)]
union Bits {
    bits: u64,
}

#[derive(Cell)]
enum Never {}

fn main() {
    // A use of the type is no second error.
    let _ = Place { city: String::new() }.to_stored();
}
