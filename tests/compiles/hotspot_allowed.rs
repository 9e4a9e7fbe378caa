//! Who insists on a key that only grows may have it.
#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(allow(hotspot))]
struct LogKey {
    #[reverse_ts]
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4)]
struct OrderKey {
    #[row_key(sequential)]
    id: u64,
}

pub(crate) fn main() {
    assert!(LogKey { at: 1 }.encode().is_ok() && OrderKey { id: 1 }.encode().is_ok());
}
