//! The same fields for an encoder with an ordered binary format: unsalted and unchecked.
//!
//! It gets the time already reversed, which it does not itself.

use storekey::{BorrowDecode, Decode, Encode, EscapedStr};

use crate::EventKey;

/// The key for storekey's derive.
#[derive(Decode, Encode)]
pub struct StoreKey {
    user_id: String,
    site: String,
    at: u64,
    seq: u32,
}

/// What storekey decodes without allocating: strings stay escaped.
#[derive(BorrowDecode)]
pub struct LentStoreKey<'a> {
    pub user_id: &'a EscapedStr,
    pub site: &'a EscapedStr,
    pub at: u64,
    pub seq: u32,
}

impl From<&EventKey> for StoreKey {
    fn from(key: &EventKey) -> Self {
        let EventKey { user_id, site, at, seq } = key.clone();
        Self { user_id, site, at: i64::MAX as u64 - at, seq }
    }
}
