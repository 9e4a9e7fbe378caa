use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    at: u64,
    at_any_of: String,
}

fn main() {}
