use keyderive::KeyField;

#[derive(KeyField)]
enum Kind {}

fn main() {}
