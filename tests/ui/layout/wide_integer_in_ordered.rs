use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct EventKey {
    id: u128,
}

fn main() {}
