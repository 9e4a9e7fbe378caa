use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "binary")]
struct EventKey {
    user_id: String,
}

fn main() {}
