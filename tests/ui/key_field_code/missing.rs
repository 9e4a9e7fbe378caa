use keyderive::KeyField;

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
    Changed,
    Deleted = 20,
    Restored,
}

fn main() {}
