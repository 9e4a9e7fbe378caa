use keyderive::KeyField;

#[derive(KeyField, Clone, Copy)]
enum Kind {
    Created = 1,
}

fn main() {}
