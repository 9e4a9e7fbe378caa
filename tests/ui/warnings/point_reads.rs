#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
pub struct ReadingKey {
    #[row_key(sequential, hash(md5))]
    pub meter: u64,
    pub count: u32,
}

fn main() {}
