//! Keys of other modules and crates, with fields of the same names.

extern crate keyderive;

use other_keys::events::{EventKey, ReadingKey};

mod visits {
    #[derive(keyderive::RowKey)]
    pub struct VisitKey {
        pub user_id: String,
        pub place: String,
    }
}

mod orders {
    #[derive(keyderive::RowKey)]
    pub struct OrderKey {
        pub user_id: String,
        pub shop: String,
        pub place: String,
        pub amount: u32,
    }
}

fn main() {
    let _ = EventKey::scan().site("home");
    let _ = EventKey::scan().user("alice").site_range("a".."b").at(7);
    let _ = ReadingKey::scan().meter(7).explain();
    let _ = visits::VisitKey::scan().place("home");
    let _ = orders::OrderKey::scan().user_id("alice").amount(7);
}
