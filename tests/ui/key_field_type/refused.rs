use keyderive::KeyField;

#[derive(KeyField)]
struct Count(usize);

#[derive(KeyField)]
struct Parent(Option<u64>);

fn main() {}
