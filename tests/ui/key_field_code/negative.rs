use keyderive::KeyField;

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
    Deleted = -1,
}

fn main() {}
