use keyderive::Cell;

#[derive(Cell)]
enum Kind {
    #[row(name = "a")]
    A,
    #[row(name = "a")]
    B,
    #[row(name = "A")]
    C,
}

fn main() {}
