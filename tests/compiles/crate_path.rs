//! The runtime is found through another name and through a re-export.
#![deny(warnings)]

mod reexport {
    pub(crate) use bigtable_keys as keys;
}

use reexport::keys::RowKey;

#[derive(RowKey)]
#[row_key(crate = "bigtable_keys")]
struct EventKey {
    user_id: String,
}

#[derive(RowKey)]
#[row_key(crate = "crate::crate_path::reexport::keys")]
struct OrderKey {
    id: u64,
}

pub(crate) fn main() {
    assert!(EventKey { user_id: "alice".into() }.encode().is_ok());
    assert!(OrderKey::scan().id(OrderKey { id: 7 }.id).into_plan().is_ok());
}
