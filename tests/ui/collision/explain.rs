use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    explain: String,
}

fn main() {}
