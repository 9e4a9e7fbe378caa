use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    seq: usize,
}

fn main() {}
