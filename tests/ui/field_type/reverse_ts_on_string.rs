use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    at: String,
}

fn main() {}
