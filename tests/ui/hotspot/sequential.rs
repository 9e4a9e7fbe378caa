use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(sequential)]
    order_id: u64,
    user_id: String,
}

fn main() {}
