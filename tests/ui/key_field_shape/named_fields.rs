use keyderive::KeyField;

#[derive(KeyField)]
struct Site {
    name: String,
}

fn main() {}
