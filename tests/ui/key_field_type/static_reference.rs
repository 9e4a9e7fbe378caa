use keyderive::KeyField;

#[derive(KeyField)]
struct Name(&'static str);

fn main() {}
