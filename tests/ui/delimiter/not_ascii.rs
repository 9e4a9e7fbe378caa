use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(delimiter = '§')]
struct EventKey {
    user_id: String,
    at: u64,
}

fn main() {}
