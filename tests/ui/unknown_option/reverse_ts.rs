use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts(maximum = 9999999999999)]
    at: u64,
}

fn main() {}
