use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[pad(4097)]
    name: String,
}

fn main() {}
