use keyderive::Cell;

#[derive(Cell)]
enum Kind {
    Login,
    Moved { to: String },
}

fn main() {}
