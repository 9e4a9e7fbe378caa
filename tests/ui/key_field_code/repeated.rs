use keyderive::KeyField;

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
    Changed = 0x1,
}

fn main() {}
