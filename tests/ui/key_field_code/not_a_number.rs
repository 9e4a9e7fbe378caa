use keyderive::KeyField;

const CREATED: isize = 1;

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = CREATED,
    Deleted = 1 + 1,
    Moved = b'M' as isize,
}

fn main() {}
