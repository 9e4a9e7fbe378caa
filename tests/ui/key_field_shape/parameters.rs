use keyderive::KeyField;

#[derive(KeyField)]
struct Id<T, const N: usize>([T; N]);

fn main() {}
