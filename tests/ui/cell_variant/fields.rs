use keyderive::Cell;

#[derive(Cell)]
enum Move {
    Stayed,
    Moved(String),
    Left { to: String },
}

fn main() {
    let _ = Move::Stayed.to_stored();
}
