use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey<T> {
    user_id: T,
    at: u64,
}

fn main() {}
