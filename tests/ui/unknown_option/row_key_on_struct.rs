use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(delimter = '-')]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
