use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(salt(rnage = 4))]
struct EventKey {
    #[row_key(pad = 6)]
    user_id: String,
    #[row_key(reverse_ts(9999999999999))]
    at: u64,
}

fn main() {}
