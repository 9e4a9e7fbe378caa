use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: &'static str,
    at: u64,
}

fn main() {}
