use keyderive::{KeyField, RowKey};

#[derive(KeyField)]
struct UserId(String);

#[derive(RowKey)]
struct EventKey {
    site: String,
    #[reverse_ts]
    user_id: UserId,
}

fn main() {}
