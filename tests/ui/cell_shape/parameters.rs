use keyderive::Cell;

#[derive(Cell)]
struct Lent<'a>(&'a str);

#[derive(Cell)]
struct Any<T>(T);

#[derive(Cell)]
struct Sized<const N: usize>([u8; N]);

fn main() {}
