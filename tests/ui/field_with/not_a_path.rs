use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(with = "my place")]
    place: String,
    #[row_key(with)]
    other: String,
}

fn main() {}
