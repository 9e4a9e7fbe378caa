use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    f0: u128,
    f1: u128,
    f2: u128,
    #[pad(4000)]
    name: String,
}

fn main() {}
