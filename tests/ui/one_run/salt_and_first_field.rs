use keyderive::RowKey;

#[derive(RowKey)]
#[salt(rnage = 4, over(user))]
struct EventKey {
    #[reverse_ts]
    at: u64,
    user_id: String,
}

fn main() {}
