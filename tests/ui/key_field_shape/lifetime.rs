use keyderive::KeyField;

#[derive(KeyField)]
struct Name<'a>(&'a str);

fn main() {}
