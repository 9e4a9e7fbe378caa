use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, sep = "-", after = "user_id")]
struct EventKey {
    user_id: String,
    site: String,
}

fn main() {}
