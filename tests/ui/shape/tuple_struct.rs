use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey(String, u64);

fn main() {}
