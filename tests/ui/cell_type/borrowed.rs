use keyderive::Cell;

#[derive(Cell)]
struct Name(&'static str);

fn main() {}
