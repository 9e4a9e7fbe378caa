use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[pad(6)]
    #[row_key(escape)]
    user_id: String,
}

fn main() {}
