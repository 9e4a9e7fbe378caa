use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[pad(4000)]
    user_id: String,
    #[pad(100)]
    site: String,
}

fn main() {}
