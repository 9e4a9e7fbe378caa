use keyderive::KeyField;

struct Site {
    name: String,
}

#[derive(KeyField)]
struct Place(Site);

fn main() {}
