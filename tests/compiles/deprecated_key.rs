//! A deprecated key is reported where it is used, not in what the derive prints.
#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
#[deprecated = "use `EventKey`"]
pub struct OldKey {
    pub user_id: String,
    #[deprecated = "always 0"]
    pub shard: u32,
}

pub(crate) fn main() {}
