use keyderive::RowKey;

#[derive(RowKey)]
#[salt(range = 1, over(user, at))]
#[row_key(delimter = '-', tag = "")]
struct EventKey {
    #[pad(0)]
    user_id: String,
    price: f64,
    #[reverse_ts(maximum = 9)]
    at: u64,
    at_range: u64,
}

fn main() {}
