use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(0)]
    seq: u32,
}

fn main() {}
