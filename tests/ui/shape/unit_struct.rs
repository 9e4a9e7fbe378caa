use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey;

fn main() {}
