use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    into_plan: String,
    at: u64,
}

fn main() {}
