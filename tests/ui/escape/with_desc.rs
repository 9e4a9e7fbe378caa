use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(escape, desc)]
    user_id: String,
}

fn main() {}
