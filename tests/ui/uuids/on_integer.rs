use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[row_key(uuid(v4))]
    id: u64,
}

fn main() {}
