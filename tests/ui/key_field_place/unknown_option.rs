use keyderive::KeyField;

#[derive(KeyField)]
#[row_key(crat = "keyderive", tag = "A")]
struct UserId(String);

fn main() {}
