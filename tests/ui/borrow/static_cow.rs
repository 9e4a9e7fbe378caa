use std::borrow::Cow;

use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: Cow<'static, str>,
    at: u64,
}

fn main() {}
