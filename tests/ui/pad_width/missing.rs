use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad]
    seq: u32,
}

fn main() {}
