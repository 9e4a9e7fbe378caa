//! A key that is only written or never used warns of nothing that the derive has printed.
#![deny(warnings, dead_code, unused)]

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    at: u64,
}

mod private {
    #[derive(keyderive::RowKey)]
    pub(super) struct OrderKey {
        pub(super) id: u64,
    }
}

pub(crate) fn main() {
    let event = EventKey { user_id: "alice".into(), at: 1 };
    let order = private::OrderKey { id: 7 };
    assert!(event.encode().is_ok() && order.encode().is_ok());
}
