use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(delimiter = '|', tag = "inv")]
struct EventKey {
    user_id: String,
}

fn main() {}
