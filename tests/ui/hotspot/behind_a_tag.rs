use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(tag = "EVENT")]
struct EventKey {
    #[reverse_ts]
    at: u64,
    user_id: String,
}

fn main() {}
