//! The command `keyderive`.

fn main() {}
