//! Paths that lead nowhere: the compiler stops after them.

use keyderive::embedded::Bigtable;
use keyderive::{KeyField, RowKey};

#[derive(RowKey)]
#[salt(range = 4, over = "user_id")]
#[row_key(crate = "missing_crate")]
struct EventKey {
    user_id: String,
    at: u64,
}

#[derive(KeyField)]
#[row_key(crate = "crate::missing")]
struct UserId(String);

#[derive(KeyField, Clone, Copy, Debug)]
#[row_key(crate = "missing_crate")]
enum Kind {
    Created = 1,
}

#[derive(RowKey)]
struct PlaceKey {
    #[row_key(with = "place")]
    place: String,
}

fn main() {
    let _ = EventKey::scan().user_id("alice");
    let _ = Bigtable::in_memory();
}
