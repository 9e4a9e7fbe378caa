use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(desc)]
    user_id: String,
}

fn main() {}
