use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey {
    #[row_key(with = "place")]
    place: String,
}

fn main() {}
