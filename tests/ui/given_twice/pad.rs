use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(6)]
    #[pad(8)]
    seq: u32,
}

fn main() {}
