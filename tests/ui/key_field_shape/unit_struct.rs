use keyderive::KeyField;

#[derive(KeyField)]
struct Site;

fn main() {}
