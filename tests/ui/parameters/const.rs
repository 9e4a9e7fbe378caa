use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey<const N: usize> {
    user_id: String,
    at: u64,
}

fn main() {}
