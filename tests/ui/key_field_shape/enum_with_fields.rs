use keyderive::KeyField;

#[derive(KeyField)]
enum Kind {
    Created,
    Moved(String),
    Renamed { to: String },
}

fn main() {}
