use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    at: u64,
    at_range: String,
}

fn main() {}
