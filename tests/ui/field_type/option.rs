use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    site: Option<String>,
}

fn main() {}
