use keyderive::Cell;

#[derive(Cell)]
#[row(code)]
enum Level {
    Low = 1,
    #[row(name = "mid")]
    Middle,
    High = 9223372036854775808,
}

fn main() {}
