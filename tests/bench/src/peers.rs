//! The same fields for encoders with ordered binary formats: unsalted and unchecked.
//!
//! Both get the time already reversed, which neither does itself.

use std::borrow::Cow;

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

/// The key for foundationdb-tuple, which packs tuples.
pub type TupleKey = (String, String, u64, u32);

/// What foundationdb-tuple decodes: strings without a zero byte are borrowed.
pub type LentTupleKey<'a> = (Cow<'a, str>, Cow<'a, str>, u64, u32);

/// The key as a tuple.
#[must_use]
pub fn tuple_key(key: &EventKey) -> TupleKey {
    let EventKey { user_id, site, at, seq } = key.clone();
    (user_id, site, i64::MAX as u64 - at, seq)
}
