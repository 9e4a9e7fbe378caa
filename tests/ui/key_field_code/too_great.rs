use keyderive::KeyField;

#[derive(KeyField, Clone, Copy, Debug)]
#[repr(u128)]
enum Kind {
    Created = 18446744073709551616,
}

fn main() {}
