use keyderive::KeyField;

#[derive(KeyField)]
struct Place(f64, f64);

fn main() {}
