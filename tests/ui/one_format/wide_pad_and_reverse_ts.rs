use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    #[pad(13)]
    at: u64,
    #[reverse_ts]
    #[pad(24)]
    end: u128,
}

fn main() {}
