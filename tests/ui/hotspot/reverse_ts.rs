use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[reverse_ts]
    at: u64,
    user_id: String,
}

fn main() {}
