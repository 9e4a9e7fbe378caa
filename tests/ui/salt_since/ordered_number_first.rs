use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(layout = "ordered")]
#[salt(range = 4, since(at = 7))]
struct EventKey {
    id: u32,
    at: u64,
}

fn main() {}
