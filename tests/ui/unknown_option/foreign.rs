use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(foreign(pads))]
struct EventKey {
    id: u32,
}

#[derive(RowKey)]
#[row_key(foreign)]
struct OrderKey {
    id: u32,
}

fn main() {}
