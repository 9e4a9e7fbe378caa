//! Types that a newtype or an enum of a key cannot have, and keys that cannot have it.

use keyderive::{KeyField, RowKey};

struct Site {
    name: String,
}

#[derive(KeyField)]
struct Place(Site);

#[derive(KeyField, Clone, Copy, Debug)]
enum Kind {
    Created = 1,
}

#[derive(RowKey)]
struct KindKey {
    #[pad(4)]
    kind: Kind,
}

#[derive(KeyField)]
struct UserId(String);

#[derive(RowKey)]
struct UserKey {
    site: String,
    #[reverse_ts]
    user_id: UserId,
}

#[derive(KeyField, Debug)]
enum NotCopy {
    Created = 1,
}

#[derive(KeyField, Clone, Copy)]
enum NotDebug {
    Created = 1,
}

fn main() {}
