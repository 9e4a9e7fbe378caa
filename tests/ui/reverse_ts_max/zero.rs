use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts(max = 0)]
    at: u64,
}

fn main() {}
