#![deny(warnings)]

use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 16, over = "active")]
pub struct UserKey {
    pub active: bool,
    pub user_id: String,
}

#[derive(RowKey)]
#[salt(range = 4)]
pub struct FlagKey {
    pub active: bool,
}

fn main() {}
