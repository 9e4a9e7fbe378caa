use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(ts(unit = "millis"))]
    id: u64,
}

fn main() {}
