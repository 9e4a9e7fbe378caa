use keyderive::KeyField;

#[derive(KeyField)]
union Bits {
    whole: u64,
    halves: [u32; 2],
}

fn main() {}
