use keyderive::KeyField;

#[derive(KeyField)]
#[row_key(crate = "crate::missing")]
struct UserId(String);

#[derive(KeyField, Clone, Copy, Debug)]
#[row_key(crate = "missing_crate")]
enum Kind {
    Created = 1,
}

fn main() {}
