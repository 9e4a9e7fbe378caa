use keyderive::RowKey;

#[derive(RowKey)]
union EventKey {
    user_id: u64,
    device: u32,
}

fn main() {}
