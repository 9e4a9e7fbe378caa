use keyderive::RowKey;

#[derive(RowKey)]
struct EventKey<'a> {
    user_id: &'a str,
    #[row_key(with = "place")]
    place: std::borrow::Cow<'a, str>,
}

fn main() {}
