use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    sites: Vec<String>,
}

fn main() {}
