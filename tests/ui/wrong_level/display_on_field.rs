use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(name = "a", display)]
struct EventKey {
    #[row_key(display)]
    user_id: String,
    #[row_key(name = "a", name = "b")]
    at: u64,
}

fn main() {}
