use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    #[reverse_ts]
    at: u64,
}

fn main() {}
