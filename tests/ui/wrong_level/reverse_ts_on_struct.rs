use keyderive::RowKey;

#[derive(RowKey)]
#[reverse_ts]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
