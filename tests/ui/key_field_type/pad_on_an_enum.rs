use keyderive::{KeyField, RowKey};

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
}

#[derive(RowKey)]
struct EventKey {
    #[pad(4)]
    kind: Kind,
}

fn main() {}
