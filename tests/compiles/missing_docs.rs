//! A documented key needs no docs but its own.
#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, unused_qualifications)]

use keyderive::RowKey;

/// The key of an event.
#[derive(RowKey, Debug)]
#[salt(range = 4, over = "user_id")]
pub struct EventKey {
    /// Who.
    pub user_id: String,
    /// When.
    #[reverse_ts]
    pub at: u64,
}

/// A module with a key of its own.
pub mod orders {
    /// The key of an order.
    #[derive(keyderive::RowKey, Debug)]
    pub struct OrderKey {
        /// Which.
        pub id: u64,
    }
}

pub(crate) fn main() {
    let _ = (EventKey::scan(), orders::OrderKey::scan().id(7));
}
