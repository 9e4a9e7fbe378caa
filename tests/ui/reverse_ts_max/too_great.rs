use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts(max = 18446744073709551616)]
    at: u64,
}

fn main() {}
