use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts(max = i64::MAX)]
    at: u64,
}

fn main() {}
