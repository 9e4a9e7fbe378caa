use keyderive::RowKey;

#[derive(RowKey)]
#[row_key(delimiter = '-')]
struct EventKey {
    #[row_key(escape)]
    user_id: String,
}

fn main() {}
