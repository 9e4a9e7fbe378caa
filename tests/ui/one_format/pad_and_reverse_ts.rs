use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(13)]
    #[reverse_ts]
    at: u64,
}

fn main() {}
