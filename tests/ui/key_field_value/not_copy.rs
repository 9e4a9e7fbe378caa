use keyderive::KeyField;

#[derive(KeyField, Debug)]
enum Kind {
    Created = 1,
}

fn main() {}
