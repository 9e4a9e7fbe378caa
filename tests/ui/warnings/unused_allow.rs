#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(allow(hotspot, few_buckets, point_reads))]
#[salt(range = 4, over = "user_id")]
pub struct EventKey {
    pub user_id: String,
    #[reverse_ts]
    pub at: u64,
}

fn main() {}
