//! What is warned about is meant where it is allowed, and then there is nothing to deny.
#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(allow(hotspot, few_buckets))]
#[salt(range = 16, over = "active", after = "at")]
pub struct FlagKey {
    #[reverse_ts]
    pub at: u64,
    pub active: bool,
    pub user_id: String,
}

#[derive(RowKey)]
#[row_key(allow(point_reads))]
pub struct ReadingKey {
    #[row_key(sequential, hash(md5))]
    pub meter: u64,
    pub count: u32,
}

/// As many values as buckets, and a hash in the last place: nothing to warn of.
#[derive(RowKey)]
#[salt(range = 256, over = "kind")]
pub struct KindKey {
    pub kind: u8,
    #[row_key(hash(md5))]
    pub user_id: String,
}

pub(crate) fn main() {
    assert!(FlagKey { at: 7, active: true, user_id: "alice".into() }.encode().is_ok());
    assert!(ReadingKey { meter: 7, count: 7 }.encode().is_ok());
    assert!(KindKey { kind: 7, user_id: "alice".into() }.encode().is_ok());
}
